"""Converts nodes and messages to complete text, in pages.

    [m:12 assistant]                     message 12 of the log
    I look at the tests.
    [calls terminal call_7]
    {"command": "pytest -x"}             arguments as the model wrote them

Other messages appear as JSON. The pages concatenate to the whole text.
"""

from dataclasses import dataclass

from plimsoll.archive import Node, StoredMessage
from plimsoll.archive.encoding import to_json
from plimsoll.context.lcm.node_store import NodeStore
from plimsoll.context.lcm.render import full
from plimsoll.context.lcm.tree import Tree, run_of
from plimsoll.errors import UserError
from plimsoll.messages import Message, answered_id, arguments_text, call_name, tool_calls
from plimsoll.models import estimate_tokens

_PLAIN_FIELDS = {"role", "content", "tool_calls", "tool_call_id", "name"}
_SMALLEST_PAGE = 64  # characters


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    """A page of text and the offset of the next one; None after the last."""

    text: str
    offset: int
    next: int | None
    characters: int


def text_of_message(stored: StoredMessage) -> str:
    """A complete message with its number."""
    message = stored.message
    named = f" {message['name']}" if isinstance(message.get("name"), str) else ""
    answers = answered_id(message)
    lines = [f"[m:{stored.sequence} {stored.role}{named}{f' answers {answers}' if answers else ''}]"]
    if not _is_plain(message):
        return "\n".join([*lines, to_json(message)])
    if message.get("content"):
        lines.append(message["content"])
    for call in tool_calls(message):
        lines += [f"[calls {call_name(call)} {call.get('id')}]", arguments_text(call)]
    return "\n".join(lines)


def text_of_node(node: Node, tree: Tree, store: NodeStore) -> str:
    """The text of the level below a node: the messages of a leaf, or the nodes of a condensed node."""
    if node.kind == "leaf":
        run = run_of(node)
        return "\n\n".join(map(text_of_message, store.messages(run.first, run.last)))
    return "\n\n".join(map(full, tree.children(node)))


def page_of(text: str, offset: int, max_tokens: int) -> TranscriptPage:
    """The page from an offset, with at most `max_tokens`."""
    size = max(_SMALLEST_PAGE, max_tokens * 4)
    while size > _SMALLEST_PAGE and estimate_tokens(text[offset : offset + size]) > max_tokens:
        size = max(_SMALLEST_PAGE, size * 3 // 4)
    piece = text[offset : offset + size]
    end = offset + len(piece)
    return TranscriptPage(piece, offset, end if end < len(text) else None, len(text))


def message_by_id(id: str, store: NodeStore) -> StoredMessage:
    """The message with an id such as `m:12` or a handle."""
    kind, _, rest = id.partition(":")
    if kind == "m" and rest.isdigit():
        found = store.messages(int(rest), int(rest))
        if found:
            return found[0]
    elif kind == "h":
        by_handle = store.by_handle(id)
        if by_handle is not None:
            return by_handle
    raise UserError(
        f"No message or node has the id {id!r}. Ids look like n:3f2a9c1b7d, m:12 or h:3f2a9c1b7d."
    )


def node_by_id(id: str, tree: Tree) -> Node | None:
    """The node with this id or this unique prefix of an id."""
    fitting = (
        [known for known in tree.known if known.startswith(id)] if id.startswith("n:") and len(id) > 3 else []
    )
    if len(fitting) > 1 and id not in fitting:
        raise UserError(f"{id} fits {len(fitting)} nodes: {', '.join(fitting[:3])}. Give more of it.")
    return tree.known.get(id) or (tree.known[fitting[0]] if fitting else None)


def _is_plain(message: Message) -> bool:
    content, calls = message.get("content"), message.get("tool_calls")
    well_formed = calls is None or (
        isinstance(calls, list)
        and all(isinstance(c, dict) and set(c) <= {"id", "type", "function"} for c in calls)
    )
    return set(message) <= _PLAIN_FIELDS and (content is None or isinstance(content, str)) and well_formed
