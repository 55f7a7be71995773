"""Ids of sessions and nodes.

    20261115-094512-quiet-harbour     its start (UTC) and two words
    n:3f2a9c1b7d                      a hash of the node's text and sources

Session ids sort by age. A collision gets other words, and finally a number.
"""

import hashlib
import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from random import Random

from plimsoll.archive.encoding import to_json
from plimsoll.archive.records import NodeLink, Source, Span
from plimsoll.messages import HANDLE_DIGITS, Message

_TRIES_WITH_WORDS = 8  # before an id ends in a number


def session_ids(now: float, random: Random) -> Iterator[str]:
    """An endless sequence of ids for a session that begins now; the first free one is used."""
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d-%H%M%S")
    adjectives, nouns = _words()
    name = ""
    for _ in range(_TRIES_WITH_WORDS):
        name = f"{moment}-{random.choice(adjectives)}-{random.choice(nouns)}"
        yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def node_id(session: str, message: Message, sources: Sequence[Source]) -> str:
    """The id of a node: the same for the same text over the same sources in the same session."""
    edges = [[s.first, s.last] if isinstance(s, Span) else s.node for s in sources]
    text = to_json([session, message, edges])
    digest = hashlib.blake2b(text.encode("utf-8"), digest_size=HANDLE_DIGITS // 2)
    return f"n:{digest.hexdigest()}"


def edges_of(sources: Sequence[Source]) -> Iterator[tuple[int, int, str]]:
    """Each source as (first, last, node), with zeros or an empty string for missing parts."""
    for source in sources:
        yield (0, 0, source.node) if isinstance(source, NodeLink) else (source.first, source.last, "")


@cache
def _words() -> tuple[tuple[str, ...], tuple[str, ...]]:
    data = tomllib.loads(files("plimsoll.archive").joinpath("names.toml").read_text("utf-8"))
    return tuple(data["qualities"]), tuple(data["things"])
