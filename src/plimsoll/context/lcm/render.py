"""Renders the tree for the model: every root with its id, oldest first, and the facts of the covered messages.

    [n:3f2a9c1b7d · depth 1 · 4–120 · 2026-11-15 06:22 – 07:10 UTC]
    the model's text about them, if there is one
    Expand for details about: …

    ## Goal …                     the ledger, read by code from the originals

A node is rendered only from stored data, so its bytes are the same in every publication. If
room is short, older texts are dropped first, then topics, then times; the ledger always
keeps its share.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from plimsoll.archive import Node
from plimsoll.models import estimate_tokens

INTRODUCTION = "Nodes stand for messages kept in full: lcm_expand reads them, lcm_grep searches all."
TEXT_SHARE = 0.55  # of the room, for texts by models
LIST_SHARE = 0.30  # of the room, for ids, spans and topics
_TOPICS = 80  # characters


def rendered_nodes(roots: Sequence[Node], room: int, *, names_tools: bool = True) -> str:
    """The roots within their share of `room` tokens; empty if not even their ids fit.

    `names_tools`: the reader has the tools that read nodes.
    """
    if not roots:
        return ""
    for form in (brief, header, bare):
        lines = [form(node) for node in roots]
        if _weight(lines) <= room * LIST_SHARE:
            listed = "\n".join(_with_texts(roots, lines, form, room))
            return f"{INTRODUCTION}\n\n{listed}" if names_tools else listed
    ids = "Nodes: " + ", ".join(f"{node.id} ({span_text(node)})" for node in roots)
    return ids if estimate_tokens(ids) <= room * LIST_SHARE else ""


def full(node: Node) -> str:
    """A node with its text."""
    return f"{header(node)}\n{node.message['content']}\n{expand_line(node)}"


def brief(node: Node) -> str:
    """A node without its text."""
    return f"{header(node)}\n{expand_line(node)}"


def header(node: Node) -> str:
    """The header of a node: id, depth, messages, time."""
    return f"[{node.id} · depth {node.depth} · {span_text(node)}{_when(node)}]"


def bare(node: Node) -> str:
    """The shortest form that leads back to the messages."""
    return f"[{node.id} · {span_text(node)}]"


def expand_line(node: Node) -> str:
    """The line by which the model decides whether to expand a node."""
    pieces: list[str] = []
    for piece in node.details.get("topics", ()):
        if pieces and len("; ".join([*pieces, piece])) > _TOPICS:
            break
        pieces.append(piece)
    return f"Expand for details about: {'; '.join(pieces) or 'the messages themselves'}"


def span_text(node: Node) -> str:
    """The message numbers of a node."""
    first, last = node.details.get("first"), node.details.get("last")
    return f"{first}" if first == last else f"{first}–{last}"


def _with_texts(roots: Sequence[Node], lines: list[str], form: Callable[[Node], str], room: int) -> list[str]:
    """The lines, with the newest model texts instead of short forms as far as they fit."""
    left = room * TEXT_SHARE
    if form is not brief:
        return lines
    for place in range(len(roots) - 1, -1, -1):
        if roots[place].degraded:
            continue
        text = full(roots[place])
        left -= estimate_tokens(text) - estimate_tokens(lines[place])
        if left < 0:
            break
        lines[place] = text
    return lines


def _weight(lines: Sequence[str]) -> int:
    return estimate_tokens(INTRODUCTION) + sum(map(estimate_tokens, lines))


def _when(node: Node) -> str:
    since, until = node.details.get("since", 0.0), node.details.get("until", 0.0)
    if not since:
        return ""
    begins, ends = timestamp(since), timestamp(until)
    if begins == ends:
        return f" · {begins} UTC"
    same_day = begins[:10] == ends[:10]
    return f" · {begins} – {ends[11:] if same_day else ends} UTC"


def timestamp(time: float) -> str:
    """A time to the minute, in UTC."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M")
