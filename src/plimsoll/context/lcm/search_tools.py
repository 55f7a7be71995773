"""The search tools that need no model: grep, describe, expand, status."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from plimsoll.archive import Node, SearchQuery
from plimsoll.context.lcm.node_store import NodeStore
from plimsoll.context.lcm.outline import outline_of
from plimsoll.context.lcm.passages import Passage, passages
from plimsoll.context.lcm.render import header, span_text, timestamp
from plimsoll.context.lcm.transcript import message_by_id, node_by_id, page_of, text_of_message, text_of_node
from plimsoll.context.lcm.tree import Tree, current_tree, run_of, tree_of
from plimsoll.errors import UserError
from plimsoll.messages import text_of

DEFAULT_LIMIT, MAX_HITS = 5, 50  # matches per call
DEFAULT_PAGE, MAX_PAGE, MIN_PAGE = 2_000, 8_000, 16  # tokens per call
_ROOTS = 24  # listed by status


def grep(arguments: Mapping[str, Any], store: NodeStore, asked_at: int = 0) -> dict[str, Any]:
    """Matching passages, grouped by the leaf that covers them.

    `asked_at` is the number of the newest request. It and later messages are excluded: the model sees them, and they
    repeat the words of the query.
    """
    limit = _whole_number(arguments, "limit", DEFAULT_LIMIT, 1, MAX_HITS)
    offset = _whole_number(arguments, "offset", 0, 0)
    everywhere = _one_of(arguments, "session_scope", ("current", "all")) == "all"
    tree = current_tree(store)
    query = _query(arguments, None if everywhere else store.session)
    if asked_at > 1 and not everywhere:
        query = replace(query, last=asked_at - 1)
    below = str(arguments.get("node") or "")
    if below:
        span = tree.span(_node(below, tree))
        query = replace(query, session=store.session, first=span.first, last=span.last)
    found = passages(store, query, offset + limit + 1)
    shown = found[offset : offset + limit]
    groups = _grouped(shown, tree, store, everywhere and not below)
    return {"groups": groups, "next": offset + limit if len(found) > offset + limit else None}


def describe(arguments: Mapping[str, Any], store: NodeStore) -> dict[str, Any]:
    """Describe what an id refers to."""
    id = _text(arguments, "id")
    tree = current_tree(store)
    node = node_by_id(id, tree)
    if node is not None:
        return _described(node, tree)
    message = message_by_id(id, store)
    covering = tree.leaf_at(message.sequence)
    text = text_of(message.message)
    return {
        "id": f"m:{message.sequence}",
        "role": message.role,
        "time": _iso(message.time),
        "tokens": message.tokens,
        "characters": len(text),
        "handle": message.handle,
        "node": covering.id if covering else None,
        "outline": outline_of(text),
    }


def expand(arguments: Mapping[str, Any], store: NodeStore) -> dict[str, Any]:
    """The original text, one page at a time."""
    id = _text(arguments, "id")
    size = _whole_number(arguments, "max_tokens", DEFAULT_PAGE, MIN_PAGE, MAX_PAGE)
    offset = _whole_number(arguments, "offset", 0, 0)
    tree = current_tree(store)
    node = node_by_id(id, tree)
    text = text_of_node(node, tree, store) if node else text_of_message(message_by_id(id, store))
    page = page_of(text, offset, size)
    return {"id": id, "text": page.text, "next": page.next, "characters": page.characters}


def status(store: NodeStore) -> dict[str, Any]:
    """The state of the tree."""
    tree = current_tree(store)
    depths: dict[str, int] = {}
    for id in {leaf.id for leaf in tree.leaves} | set(tree.parents.values()):
        depth = f"depth {tree.known[id].depth}"
        depths[depth] = depths.get(depth, 0) + 1
    return {
        "messages_in_nodes": sum(len(run_of(leaf)) for leaf in tree.leaves),
        "nodes": dict(sorted(depths.items())),
        "written_without_a_model": sum(leaf.degraded for leaf in tree.leaves),
        "top": [header(root) for root in tree.roots[-_ROOTS:]],
    }


def _described(node: Node, tree: Tree) -> dict[str, Any]:
    span, now = tree.span(node), tree.current(node.id)
    return {
        "id": node.id,
        "depth": node.depth,
        "messages": f"{span.first}–{span.last}",
        "since": _iso(node.details.get("since", 0.0)),
        "until": _iso(node.details.get("until", 0.0)),
        "counts": node.details.get("roles", {}),
        "tokens": node.details.get("tokens", 0),
        "below": [header(child) for child in tree.children(node)],
        "above": tree.parents.get(node.id),
        **({"written_again_as": now} if now != node.id else {}),
        **({"written_without_a_model": True} if node.degraded else {}),
        "summary": node.message["content"],
        "about": node.details.get("topics", []),
        "ledger": node.details.get("ledger", {}),
    }


def _grouped(
    found: Sequence[Passage], tree: Tree, store: NodeStore, everywhere: bool
) -> list[dict[str, Any]]:
    """Passages grouped by the leaf that covers them, in order."""
    trees = {store.session: tree}
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for match in found:
        session = match.session or store.session
        if session not in trees:
            trees[session] = tree_of(store.nodes(session))
        leaf = trees[session].leaf_at(match.sequence)
        named: dict[str, Any] = {"node": leaf.id, "messages": span_text(leaf)} if leaf else {"node": None}
        if everywhere:
            named = {"session": session, **named}
        group = groups.setdefault((session, leaf.id if leaf else ""), {**named, "hits": []})
        when = {"time": timestamp(match.time)} if match.time else {}
        group["hits"].append({"id": f"m:{match.sequence}", "role": match.role, **when, "text": match.text})
    return list(groups.values())


def _query(arguments: Mapping[str, Any], session: str | None) -> SearchQuery:
    regex = _one_of(arguments, "mode", ("text", "regex")) == "regex"
    role = arguments.get("role")
    return SearchQuery(
        _text(arguments, "pattern"),
        "regex" if regex else "words",
        session=session,
        role=str(role) if role else None,
        since=_time(arguments, "since"),
        before=_time(arguments, "before"),
    )


def _node(id: str, tree: Tree) -> Node:
    node = node_by_id(id, tree)
    if node is None:
        raise UserError(f"There is no node {id!r}; lcm_status names those at the top.")
    return node


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value:
        raise UserError(f"`{name}` must be a non-empty string.")
    return value


def _one_of(arguments: Mapping[str, Any], name: str, allowed: Sequence[str]) -> str:
    value = arguments.get(name) or allowed[0]
    if value not in allowed:
        raise UserError(f"`{name}` must be one of {', '.join(allowed)}, not {value!r}.")
    return str(value)


def _whole_number(
    arguments: Mapping[str, Any], name: str, default: int, minimum: int, maximum: int | None = None
) -> int:
    value = arguments.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise UserError(f"`{name}` must be a whole number of at least {minimum}, not {value!r}.")
    return value if maximum is None else min(value, maximum)


def _time(arguments: Mapping[str, Any], name: str) -> float | None:
    value = arguments.get(name)
    if value is None:
        return None
    try:
        timestamp = datetime.fromisoformat(str(value))
    except ValueError:
        raise UserError(f"`{name}` must be a time such as 2026-11-15T09:00, not {value!r}.") from None
    return (timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)).timestamp()


def _iso(time: float) -> str | None:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds") if time else None
