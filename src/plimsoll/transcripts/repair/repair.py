"""Repairs a request's conversation so that the dialect's provider accepts it, and reports the problems.

    body ─► the dialect's repairs, until they find nothing ─► the body, and the findings

A body without problems is returned unchanged, as the same object.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plimsoll.dialects import ANTHROPIC, GEMINI, OPENAI, RESPONSES
from plimsoll.transcripts.repair.anthropic import repair_anthropic
from plimsoll.transcripts.repair.findings import Finding, FindingList
from plimsoll.transcripts.repair.gemini import repair_gemini
from plimsoll.transcripts.repair.openai import repair_openai
from plimsoll.transcripts.repair.responses import repair_responses

_REPAIRS: dict[str, Callable[[dict[str, Any], FindingList, bool, str], dict[str, Any]]] = {
    OPENAI.name: repair_openai,
    ANTHROPIC.name: repair_anthropic,
    RESPONSES.name: repair_responses,
    GEMINI.name: repair_gemini,
}
DIALECTS = tuple(_REPAIRS)
# One repair can uncover another problem, such as two adjacent contents of one role. Each pass removes what it finds,
# so few passes are needed; the limit only guards against a bug.
_MAX_PASSES = 5


@dataclass(frozen=True, slots=True)
class RepairResult:
    """A body that the provider accepts, and the findings."""

    body: dict[str, Any]
    findings: tuple[Finding, ...]


def repair_body(
    body: dict[str, Any], dialect: str, *, model: str = "", is_portable: bool = False
) -> RepairResult:
    """Repair the conversation in a body of this dialect.

    `is_portable` also removes what only the provider that issued it accepts: thinking, signatures, encrypted items.
    """
    found = FindingList()
    for _ in range(_MAX_PASSES):
        before = len(found.found)
        changed = _REPAIRS[dialect](body, found, is_portable, model)
        if len(found.found) == before:
            break
        body = changed
    return RepairResult(body, tuple(found.found))
