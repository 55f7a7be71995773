"""A conversation of the drop-in endpoint owns its state: nobody else assigns to it."""

import ast
from dataclasses import fields
from pathlib import Path

import plimsoll.gateway.dropin
from plimsoll.gateway.dropin.client_conversation import ClientConversation

FOLDER = Path(plimsoll.gateway.dropin.__file__).parent
STATE = {field.name for field in fields(ClientConversation)}
OWNER = "client_conversation.py"


def changed(target: ast.expr) -> list[ast.Attribute]:
    """The attributes that an assignment to this changes."""
    match target:
        case ast.Tuple() | ast.List():
            return [place for one in target.elts for place in changed(one)]
        case ast.Subscript() | ast.Starred():
            return changed(target.value)
        case ast.Attribute():
            return [target]
    return []


def assigned(tree: ast.AST) -> set[tuple[str, int]]:
    """The attributes of conversations that are assigned to, and where."""
    return {
        (place.attr, place.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete)
        for target in (getattr(node, "targets", None) or [node.target])
        for place in changed(target)
        if place.attr in STATE and "conversation" in ast.unparse(place.value)
    }


def test_only_the_conversation_assigns_to_its_state():
    found = {
        f"{path.name}:{line} {name}"
        for path in FOLDER.parent.rglob("*.py")
        if path.name != OWNER
        for name, line in assigned(ast.parse(path.read_text("utf-8")))
    }
    assert found == set()


def test_an_assignment_from_outside_would_be_found():
    text = """
conversation.journal, out.conversation.parent = None, None
conversation.tools += 1
conversation.log[0] = {}
"""
    assert {name for name, _ in assigned(ast.parse(text))} == {"journal", "parent", "tools", "log"}
