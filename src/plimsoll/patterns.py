"""Limits on regular expressions from users and models, checked before compilation.

    text ──► check ──► compile ──► search with a timeout

The `regex` library expands counted repeats while it compiles: `a{10000000}` takes gigabytes, and a few nested
groups such as `((a{1000}){1000}){1000}` do the same in fewer characters. Compiling cannot be stopped once it runs,
so `check` rejects such patterns first. A search can be stopped: give `finditer` and `search` a timeout.

`check` is stricter than the library. If the two could disagree (a brace inside a character class), it counts the
brace as a repeat.
"""

import re

import regex

from plimsoll.errors import UserError

# Measured with regex 2026.11: a pattern at all four limits compiles in 20 ms and takes 6 MB.
MAX_CHARACTERS = 1_000
MAX_GROUPS = 100  # from about 400 nested groups on, the library exceeds Python's recursion limit
MAX_REPEATS = 1_000  # of one counted repeat, such as a{1000}
MAX_EXPANDED = 10_000  # items after nested counted repeats are multiplied

_TOKEN = re.compile(
    r"""
      \\.                                                   # an escape
    | (?P<set> \[ \^? \]? (?: \\. | \[:[^]:]*:\] | [^]\\] )* \] )
    | (?P<repeat> \{ [ ]* (?P<least>\d*) [ ]* (?P<comma>,?) [ ]* (?P<most>\d*) [ ]* \} )
    | (?P<open> \( (?P<kind> \? (?: [:=!>] | <[=!] | P?<[^\W\d]\w*> | P=\w+ | [aimsu]*(?:-[ims]+)?:? ) )? )
    | (?P<close> \) )
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_COUNT = re.compile(r"\{ *(\d*) *,? *(\d*) *\}")
# Groups that only group or set flags: the library expands nothing for them.
_PLAIN = re.compile(r"\?[aimsu]*(?:-[ims]+)?:?")
# Groups without recursion, conditions, comments and free spacing, which would change how the rest is read.
_GROUP = re.compile(
    r"\(\?(?:[:=!>]|<[=!]|P?<[^\W\d]\w*>|P=\w+\)|[aimsu]+(?:-[ims]+)?[:)]|-[ims]+[:)])|\((?!\?)", re.ASCII
)
_RECURSION = re.compile(r"\(\?[R&|(\dP+-]")


def compiled(pattern: str, flags: int = 0) -> "regex.Pattern[str]":
    """The compiled pattern; raises `UserError` if it is invalid or exceeds a limit."""
    check(pattern)
    try:
        return regex.compile(pattern, flags | regex.VERSION0)
    except (regex.error, RecursionError, OverflowError) as error:
        raise UserError(f"{_shown(pattern)} is not a valid regular expression: {error}.") from error


def check(pattern: str) -> None:
    """Raise `UserError` if compiling or parsing the pattern could take too much time or memory."""
    if len(pattern) > MAX_CHARACTERS:
        raise UserError(
            f"A pattern may have at most {MAX_CHARACTERS:,} characters; this one has {len(pattern):,}."
        )
    sizes = [0]  # items of each open group, the whole pattern first
    last = 0  # items that a repeat would apply to
    factor = groups = 0
    for token in _TOKEN.finditer(pattern):
        if token["repeat"]:
            last = max(1, last) * _count(pattern, token["least"], token["most"])
            continue
        sizes[-1] += last
        last = 1
        if token["open"]:
            groups += 1
            if not _GROUP.match(pattern, token.start()):
                raise _unsupported(pattern, pattern[token.start() :][:4])
            # A group that captures or looks around is itself repeated.
            sizes.append(0 if token["kind"] and _PLAIN.fullmatch(token["kind"]) else 1)
            last = 0
        elif token["close"] and len(sizes) > 1:
            last = max(1, sizes.pop())
        elif token["set"]:
            groups += token["set"].count("(")
            if _RECURSION.search(token["set"]):
                raise _unsupported(pattern, "(?")
            for minimum, maximum in _COUNT.findall(token["set"]):
                factor = max(1, factor) * _count(pattern, minimum, maximum)
        _refuse_too_large(pattern, groups, (sum(sizes) + last) * max(1, factor))
    _refuse_too_large(pattern, groups, (sum(sizes) + last) * max(1, factor))


def _count(pattern: str, minimum: str, maximum: str) -> int:
    """How often an item may have to be expanded."""
    # Not converted if it is too long: a number with thousands of digits raises another error.
    longest = max(minimum, maximum, key=len).lstrip("0")
    if len(longest) > len(str(MAX_REPEATS)) or max(int(minimum or 0), int(maximum or 0)) > MAX_REPEATS:
        raise UserError(
            f"{_shown(pattern)} repeats something {longest} times; the limit is {MAX_REPEATS:,}. Use * or + instead."
        )
    return max(int(minimum or 0), int(maximum or 0), 1)


def _refuse_too_large(pattern: str, groups: int, expanded: int) -> None:
    if groups > MAX_GROUPS:
        raise UserError(f"{_shown(pattern)} has more than {MAX_GROUPS} groups.")
    if expanded > MAX_EXPANDED:
        raise UserError(
            f"{_shown(pattern)} expands to more than {MAX_EXPANDED:,} items. "
            "Use * or + instead of the inner ones."
        )


def _unsupported(pattern: str, start: str) -> UserError:
    return UserError(
        f"{_shown(pattern)} has a group that starts with {start!r}. Recursion, conditions, comments and flags other "
        "than a, i, m, s and u are not supported."
    )


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 80 else pattern[:80] + "…")
