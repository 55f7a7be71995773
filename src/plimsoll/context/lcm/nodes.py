"""Creates nodes: a leaf from messages, a condensed node from nodes.

    text · first and last message · when · how many of which role · tokens · topics · the ledger of all below

Code reads the ledger from the messages, so it is reliable regardless of the text's author.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

from plimsoll.archive import Node, NodeLink, Source, Span, StoredMessage
from plimsoll.archive.ids import node_id
from plimsoll.context.lcm.node_writer import NodeText, NodeWriter
from plimsoll.context.lcm.tree import REPLACES
from plimsoll.context.ledger import ConversationFacts, read_facts
from plimsoll.messages import Message
from plimsoll.models import estimate_message_tokens
from plimsoll.secrets import redact

MODEL = "model"  # the host knows which model wrote the text; here it only matters that one did
_MAX_LINES = {"constraints": 12, "files": 24, "commands": 16, "errors": 8, "commits": 12, "decisions": 8}
_TOPICS = 10  # per node
_REQUEST_CHARACTERS = 64  # characters of a request
_NAMED = 48  # characters of a file or command
Ledger = dict[str, list[str]]


def leaf(
    session: str, stored: Sequence[StoredMessage], writer: NodeWriter, opening: str, old: Node | None = None
) -> Node:
    """The leaf for these consecutive messages of the log."""
    messages = [entry.message for entry in stored]
    tokens = sum(entry.tokens for entry in stored)
    facts = read_facts(messages)
    details = {
        "first": stored[0].sequence,
        "last": stored[-1].sequence,
        "since": stored[0].time,
        "until": stored[-1].time,
        "messages": len(stored),
        "roles": _counted(entry.role for entry in stored),
        "tokens": tokens,
        "topics": topics_of(facts),
        "ledger": ledger_of(facts),
    }
    sources = (Span(stored[0].sequence, stored[-1].sequence),)
    return _node(
        session, writer.write(messages, tokens, lambda: facts, opening=opening), sources, 0, details, old
    )


def condensed(
    session: str,
    below: Sequence[Node],
    originals: Sequence[Message],
    writer: NodeWriter,
    old: Node | None = None,
) -> Node:
    """The node that replaces nodes of one depth; facts are read from the `originals`."""
    parts = [node.details for node in below]
    tokens = sum(node.tokens for node in below)
    # As user messages, because those are shortened least.
    texts: list[Message] = [
        {"role": "user", "content": f"[{node.id}]\n{node.message['content']}"} for node in below
    ]
    details = {
        "first": min(part["first"] for part in parts),
        "last": max(part["last"] for part in parts),
        "since": min(part["since"] for part in parts),
        "until": max(part["until"] for part in parts),
        "messages": sum(part["messages"] for part in parts),
        "roles": _summed(part["roles"] for part in parts),
        "tokens": sum(part["tokens"] for part in parts),
        "topics": merged_topics([part["topics"] for part in parts]),
        "ledger": merged_ledger([part["ledger"] for part in parts]),
    }
    sources = tuple(NodeLink(node.id) for node in below)
    written = writer.write(texts, tokens, lambda: read_facts(originals), quotes=False)
    return _node(session, written, sources, below[0].depth + 1, details, old)


def ledger_of(facts: ConversationFacts) -> Ledger:
    """The facts of a part of the conversation, a few lines per kind."""
    commands = [f"{line} · {event.outcome.status}" for line, event in facts.commands.items()]
    errors = [
        error for event in (*facts.commands.values(), *facts.actions.values()) for error in event.errors
    ]
    found = {
        "constraints": list(facts.constraints),
        "files": [f"{path} ({', '.join(fact.actions)})" for path, fact in facts.files.items()],
        "commands": commands,
        "errors": errors,
        "commits": list(facts.commits),
        "decisions": list(facts.decisions),
    }
    return _bounded({kind: [redact(line) for line in lines] for kind, lines in found.items()})


def merged_ledger(ledgers: Sequence[Ledger]) -> Ledger:
    """The lines of several ledgers, oldest first; if there are too many, the newest of each kind."""
    return _bounded(
        {kind: [line for ledger in ledgers for line in ledger.get(kind, [])] for kind in _MAX_LINES}
    )


def topics_of(facts: ConversationFacts) -> list[str]:
    """Topics that tell a reader whether to expand the node: requests, files and commands."""
    requests = [
        _short(request.text, _REQUEST_CHARACTERS)
        for request in (*facts.requests[:1], *facts.requests[1:][-2:])
    ]
    touched = sorted(facts.files, key=lambda path: -sum(facts.files[path].actions.values()))
    ran = [line for line, event in facts.commands.items() if event.outcome.failed] or list(facts.commands)
    other = [_short(line, _NAMED) for line in facts.actions][-2:]
    pieces = [
        *requests,
        *(path[-_NAMED:] for path in touched[:5]),
        *(_short(line, _NAMED) for line in ran[-2:]),
        *other,
    ]
    if not pieces and facts.last_said:
        pieces = [_short(facts.last_said, _REQUEST_CHARACTERS)]
    return [redact(piece) for piece in dict.fromkeys(pieces)][:_TOPICS]


def merged_topics(topics: Sequence[Sequence[str]]) -> list[str]:
    """Some topics of each node, first ones first."""
    mixed = (piece for piece in chain.from_iterable(zip_longest(*topics)) if piece)
    return list(dict.fromkeys(mixed))[:_TOPICS]


def _node(
    session: str,
    written: NodeText,
    sources: tuple[Source, ...],
    depth: int,
    details: dict[str, Any],
    old: Node | None,
) -> Node:
    message: Message = {"role": "assistant", "content": written.text}
    return Node(
        id=node_id(session, message, sources),
        message=message,
        sources=sources,
        kind="leaf" if depth == 0 else "condensed",
        depth=depth,
        tokens=estimate_message_tokens(message),
        model=MODEL if written.by_model else "",
        degraded=not written.by_model,
        details=details | ({REPLACES: old.id} if old else {}),
    )


def _bounded(ledger: Mapping[str, Sequence[str]]) -> Ledger:
    newest = {
        kind: list(dict.fromkeys(reversed(lines)))[: _MAX_LINES[kind]] for kind, lines in ledger.items()
    }
    return {kind: lines[::-1] for kind, lines in newest.items() if lines}


def _short(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rsplit(" ", 1)[0] + "…"


def _counted(roles: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for role in roles:
        counts[role] = counts.get(role, 0) + 1
    return counts


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for item in counts:
        for role, count in item.items():
            total[role] = total.get(role, 0) + count
    return total
