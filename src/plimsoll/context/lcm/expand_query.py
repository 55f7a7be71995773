"""Answers a question about the conversation: the auxiliary model reads passages and cites their ids.

    question ─► passages by words, or the nodes and messages named ─► model ─► answer [m:12] [n:3f2a9c1b7d]

Secrets are redacted before anything goes to the model. If no model answers, the passages are
the answer.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plimsoll.archive import SearchQuery
from plimsoll.context.lcm.node_store import NodeStore
from plimsoll.context.lcm.node_writer import NodeWriter, template
from plimsoll.context.lcm.passages import passages
from plimsoll.context.lcm.transcript import message_by_id, node_by_id, text_of_message, text_of_node
from plimsoll.context.lcm.tree import Tree, current_tree
from plimsoll.errors import SummaryFailed, UserError
from plimsoll.messages import excerpt
from plimsoll.models import estimate_tokens
from plimsoll.secrets import redact

ANSWER_TOKENS = 600  # of the summary model
EXCERPT_TOKENS = 10_000  # for all excerpts together
_HITS, _WIDTH = 12, 1_200  # passages, and characters of each
_SHOWN, _SHOWN_WIDTH = 5, 300  # if no model answers
_ID = re.compile(r"[nmh]:[0-9a-f]+")
Excerpts = list[tuple[str, str]]


def expand_query(
    arguments: Mapping[str, Any], store: NodeStore, writer: NodeWriter, asked_at: int = 0
) -> dict[str, Any]:
    """An answer and the ids it cites; the newest request and later messages are not searched."""
    question = str(arguments.get("question") or "").strip()
    if not question:
        raise UserError("`question` must be a non-empty string.")
    ids = arguments.get("ids") or []
    if not isinstance(ids, list):
        raise UserError("`ids` must be a list of ids such as n:3f2a9c1b7d or m:12.")
    tree = current_tree(store)
    query = str(arguments.get("query") or question)
    found = _named(list(map(str, ids)), tree, store) if ids else _found(query, store, asked_at)
    if not found:
        return {"answer": None, "reason": "nothing was found; try other words in `query`", "ids": []}
    excerpts = list(_within(found, EXCERPT_TOKENS))
    prompt = template("answer").format(
        budget=ANSWER_TOKENS,
        question=redact(question),
        excerpts="\n\n".join(f"[{id}]\n{redact(text)}" for id, text in excerpts),
    )
    try:
        answer = writer.ask(prompt, ANSWER_TOKENS)
    except SummaryFailed as error:
        return _without_answer(found, error)
    known = {mention for id, text in excerpts for mention in (id, *_ID.findall(text))}
    return {"answer": answer, "ids": [id for id in dict.fromkeys(_ID.findall(answer)) if id in known]}


def _without_answer(found: Excerpts, error: SummaryFailed) -> dict[str, Any]:
    """The passages as the answer, if no model answers."""
    shown = [{"id": id, "text": excerpt(text, _SHOWN_WIDTH)} for id, text in found[:_SHOWN]]
    return {"answer": None, "reason": redact(str(error)), "ids": [id for id, _ in found], "excerpts": shown}


def _named(ids: Sequence[str], tree: Tree, store: NodeStore) -> Excerpts:
    found: Excerpts = []
    for id in ids:
        node = node_by_id(id, tree)
        found.append(
            (id, text_of_node(node, tree, store) if node else text_of_message(message_by_id(id, store)))
        )
    return found


def _found(query: str, store: NodeStore, asked_at: int) -> Excerpts:
    words = " ".join(re.findall(r"\w[\w./-]*", query)) or query
    last = asked_at - 1 if asked_at > 1 else None
    hits = passages(store, SearchQuery(words, session=store.session, last=last), _HITS, _WIDTH)
    return [(f"m:{hit.sequence}", hit.text) for hit in hits[:_HITS]]


def _within(found: Excerpts, tokens: int) -> Iterator[tuple[str, str]]:
    """The excerpts, each cut to its share if they are too long together."""
    total = sum(estimate_tokens(text) for _, text in found)
    for id, text in found:
        share = len(text) if total <= tokens else len(text) * tokens // max(1, total)
        yield id, excerpt(text, max(200, share))
