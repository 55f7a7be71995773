"""How a tool call ended, read from its command and its result.

    outcome_of(call, result)  ->  Outcome(status="exit 1", line="2 failed, 8 passed in 0.41s", check="test")

    result ─► wrapping.py   the harness's report (exit code, running, stopped) and the program's output
    command ─► commands.py  the programs that ran, and whether the exit code is theirs
           └─► reading.py   the exit code if it counts, else the closing lines of known programs, else "ran"

`rules.toml` lists the known programs and lines.
"""

from plimsoll.context.ledger.outcomes.commands import command_of, is_lookup_tool, is_routine, parsed
from plimsoll.context.ledger.outcomes.displays import printed_file
from plimsoll.context.ledger.outcomes.reading import Outcome, outcome_of
from plimsoll.context.ledger.outcomes.repeats import (
    Check,
    check_of,
    covers,
    is_lasting,
    is_misused,
    kinds_of,
    names_only,
    overcomes,
)
from plimsoll.context.ledger.outcomes.scripts import called_in, script_texts
from plimsoll.context.ledger.outcomes.wrapping import cleaned, process_asked, program_output, unwrapped

__all__ = [
    "Check",
    "Outcome",
    "called_in",
    "check_of",
    "cleaned",
    "command_of",
    "covers",
    "is_lasting",
    "is_lookup_tool",
    "is_misused",
    "is_routine",
    "kinds_of",
    "names_only",
    "outcome_of",
    "overcomes",
    "parsed",
    "printed_file",
    "process_asked",
    "program_output",
    "script_texts",
    "unwrapped",
]
