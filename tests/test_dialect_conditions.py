"""Only the package `dialects` knows dialects by their names: everything else asks the dialect object."""

import ast
from pathlib import Path

import pytest

import plimsoll
from plimsoll.dialects import dialects

SOURCE = Path(plimsoll.__file__).parent
NAMES = frozenset(dialect.name for dialect in dialects())
CONSTANTS = frozenset(name.upper() for name in NAMES)
CLASSES = frozenset(type(dialect).__name__ for dialect in dialects())
# Other things that are called like a dialect: how a model caches, and who serves it.
OTHER_SUBJECTS = frozenset({"style", "route", "provider"})
# About the providers that requests are sent to, whatever dialect they speak.
OTHER_MODULES = frozenset({"caching/policy.py"})


def subject(node: ast.expr) -> str:
    """The last word of what a comparison is about."""
    return getattr(node, "attr", getattr(node, "id", ""))


def names_a_dialect(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value in NAMES
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(names_a_dialect, node.elts))
    return isinstance(node, ast.Name | ast.Attribute) and subject(node) in CONSTANTS


def is_condition(node: ast.AST) -> bool:
    """Whether a node decides by the name, the object or the class of a dialect."""
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            return any(map(names_a_dialect, sides)) and OTHER_SUBJECTS.isdisjoint(map(subject, sides))
        case ast.MatchValue():
            return names_a_dialect(node.value)
        case ast.Dict():
            return sum(key is not None and names_a_dialect(key) for key in node.keys) > 1
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
            return any(isinstance(one, ast.Name) and one.id in CLASSES for one in ast.walk(kind))
    return False


def conditions_in(text: str) -> list[int]:
    return [getattr(node, "lineno", 0) for node in ast.walk(ast.parse(text)) if is_condition(node)]


def test_no_module_outside_of_dialects_names_a_dialect_in_a_condition():
    found = [
        f"{place}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        if (place := path.relative_to(SOURCE).as_posix()).split("/")[0] != "dialects"
        and place not in OTHER_MODULES
        for line in conditions_in(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "if dialect == 'anthropic': pass",
        "x = 1 if 'openai' != endpoint.dialect else 2",
        "if name in ('openai', 'other'): pass",
        "if name not in {'anthropic'}: pass",
        "if dialect is ANTHROPIC: pass",
        "if dialect is not dialects.OPENAI: pass",
        "if isinstance(dialect, OpenAiDialect): pass",
        "match dialect:\n    case 'openai': pass",
        "match dialect:\n    case 'a' | 'anthropic': pass",
        "path = {'openai': 1, 'anthropic': 2}[dialect]",
    ],
)
def test_every_kind_of_condition_is_found(text):
    assert conditions_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "if card.cache.style == 'anthropic': pass",
        "if policy.route == 'openai': pass",
        "endpoint = Endpoint('ollama', address, 'openai')",
        "extra = {'openai': extras}",
        "if inquiry.dialect is not target.dialect: pass",
    ],
)
def test_what_is_no_condition_on_a_dialect_is_not_found(text):
    assert not conditions_in(text)
