"""The file that a shell command only prints.

    sed -n '1,80p' src/app.py            src/app.py
    nl -ba src/app.py | sed -n '5,9p'    src/app.py
    cat src/app.py src/util.py           several files: none
    rg TODO src                          a search: none

Agents that only have a shell read files in this way, a range at a time. To a reader, these are reads of one file.
"""

import re
import shlex
from functools import lru_cache

from plimsoll.context.ledger.outcomes.commands import parsed, program_of
from plimsoll.context.ledger.outcomes.rules import rules

_PATH = re.compile(r"[\w@./+~-]*[./][\w@./+~-]*\w")
_RANGE = re.compile(r"[\d,$;p ]+")  # `1,80p`, and the number of lines of `head -n 50`


@lru_cache(maxsize=512)
def printed_file(command: str) -> str | None:
    """The only file that a command prints, and does nothing else; None for any other command."""
    parts = parsed(command)
    if len(parts.works) != 1 or not parts.only_looks:
        return None
    first, *filters = parts.works[0].stages
    if not {program_of(first), *map(program_of, filters)} <= rules().printers:
        return None
    paths = _operands(first)
    is_whole = paths is not None and len(paths) == 1 and all(_operands(filter) == [] for filter in filters)
    return paths[0] if paths and is_whole and _PATH.fullmatch(paths[0]) else None


def _operands(stage: str) -> list[str] | None:
    """The arguments of a program other than options and ranges of lines; None if it redirects."""
    try:
        words = shlex.split(stage)[1:]
    except ValueError:  # a cut command has an open quote
        return None
    if any(sign in word for word in words for sign in "<>"):
        return None
    return [word for word in words if not word.startswith("-") and not _RANGE.fullmatch(word)]
