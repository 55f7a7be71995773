"""The content words of a sentence, for comparing two sentences in any language.

"Never push to main."     push · main
"请不要修改数据库"            pairs of characters: 修改 · 改数 · …
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import takewhile

from plimsoll.context.ledger.people_words import people

_STEM = 4  # letters that two forms of a word have in common at least
_STEM_SHARE = 0.6  # of the longer form
_WORD = re.compile(r"[^\W_]{2,}")
_UNSPACED = re.compile(r"[\u0e00-\u0fff\u3040-\u30ff\u3400-\u9fff]+")


@lru_cache(maxsize=4_096)
def content_words(text: str) -> frozenset[str]:
    """The content words of a text; in scripts without spaces, pairs of characters."""
    found: set[str] = set()
    empty = _empty_words()
    for word in set(_WORD.findall(text.lower())):
        if word.isascii() or not _UNSPACED.search(word):
            if word not in empty:
                found.add(_stem(word))
        else:
            for run in _UNSPACED.findall(word):
                found.update(run[n : n + 2] for n in range(max(1, len(run) - 1)))
            found.update(_stem(part) for part in _UNSPACED.split(word) if len(part) > 1)
    return frozenset(found)


def _stem(word: str) -> str:
    if word.endswith("ing") and len(word) > 5:
        return word[:-3]
    return word.rstrip("s") if len(word) > 3 else word


@cache
def _empty_words() -> frozenset[str]:
    return frozenset(people()["empty"]["words"])


def overlap(words: frozenset[str], others: frozenset[str] | set[str]) -> float:
    """The share of the words that are also among the others."""
    return len(words & others) / len(words) if words else 0.0


def related(words: Iterable[str], others: Iterable[str]) -> frozenset[str]:
    """The words that are also among the others, in any form: "borrar" and "borres"."""
    known = list(others)
    return frozenset(word for word in words if any(_is_form(word, other) for other in known))


def _is_form(word: str, other: str) -> bool:
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    return word == other or (shared >= _STEM and shared >= _STEM_SHARE * max(len(word), len(other)))
