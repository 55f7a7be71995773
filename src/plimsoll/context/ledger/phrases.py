r"""One regular expression for many phrases, which are compared letter by letter and not one after another.

    "do not", "don't", "never"   ──►   (?:never|do(?:n't|\s+not))

It finds the longest phrase first, as an alternation of the phrases sorted by length does. Python tries every branch
of an alternation at every word, which takes long for a list of 200 phrases.
"""

import re
from collections.abc import Iterable
from typing import Any

_SPACE = r"\s+"
_END = ""


def any_of(phrases: Iterable[str]) -> str:
    """The source of an expression that matches any of the phrases, with any white space between their words."""
    tree: dict[str, Any] = {}
    for phrase in phrases:
        node = tree
        for index, word in enumerate(phrase.split()):
            for part in (*([_SPACE] if index else ()), *map(re.escape, word)):
                node = node.setdefault(part, {})
        node[_END] = {}
    return _source(tree)


def _source(tree: dict[str, Any]) -> str:
    if not tree:
        return ""
    branches = [
        part + _source(tree[part]) for part in sorted(tree, reverse=True)
    ]  # the end of a phrase comes last
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
