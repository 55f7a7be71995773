"""Parses model names as people type them.

    bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0
    openrouter/anthropic/Claude-Sonnet-4.5:beta            ->  … claude sonnet 4 5 …
    vertex_ai/claude-sonnet-4-5@20250929

A name is split into words, numbers and sizes (`70b`, `1.7b`, `1m`); punctuation and case are
ignored. A card matches if its pieces are consecutive in the typed name; the card with the most
pieces wins. It does not match if the next piece makes it another model: a further version
number (`claude-opus-4` is not `claude-opus-4-9`) or a smaller sibling (`gpt-5.5` is not
`gpt-5.5-mini`). These functions never raise.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias, TypeVar

Pieces: TypeAlias = tuple[str, ...]
Found = TypeVar("Found")

LONG_CONTEXT = "1m"  # as in `claude-sonnet-4-5[1m]`
_PIECE = re.compile(r"[0-9]+(?:\.[0-9]+)?[bm](?![a-z0-9])|[0-9]+|[a-z]+")
# Siblings with smaller windows: guessing the larger model's window for them would overflow.
_SMALLER = frozenset({"mini", "nano", "lite"})
_VERSION_DIGITS = 2  # longer numbers after a name are dates or builds


def pieces_of(name: str) -> Pieces:
    """The words, numbers and sizes of a name, in order, in lower case."""
    return tuple(_PIECE.findall(name.lower()))


def spellings(name: str) -> set[Pieces]:
    """The pieces of a card's name; for Claude also with version and tier swapped, because both orders are in use."""
    pieces = pieces_of(name)
    numbers = tuple(piece for piece in pieces[1:] if piece.isdigit())
    words = tuple(piece for piece in pieces[1:] if not piece.isdigit())
    if pieces[:1] == ("claude",):
        return {pieces, ("claude", *words, *numbers), ("claude", *numbers, *words)}
    return {pieces}


def best_match(name: str, known: Mapping[Pieces, Found]) -> tuple[Found, Pieces] | None:
    """The most specific entry whose pieces occur in the name, and the pieces after it; None if none matches."""
    # The model is the last segment of a path (`openrouter/openai/gpt-5.2`); others count only if it does not match.
    for segment in reversed(name.split("/")):
        found = _in_segment(pieces_of(segment), known)
        if found is not None:
            return found
    return None


def _in_segment(pieces: Pieces, known: Mapping[Pieces, Found]) -> tuple[Found, Pieces] | None:
    longest = max(map(len, known), default=0)
    for length in range(min(longest, len(pieces)), 0, -1):
        for start in range(len(pieces) - length + 1):
            end = start + length
            found = known.get(pieces[start:end])
            if found is not None and not _another_model(pieces[end - 1], pieces[end:]):
                return found, pieces[end:]
    return None


def _another_model(last: str, after: Pieces) -> bool:
    further_version = (
        bool(after) and after[0].isdigit() and len(after[0]) <= _VERSION_DIGITS and last.isdigit()
    )
    return further_version or not _SMALLER.isdisjoint(after)
