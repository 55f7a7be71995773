"""Whether a JSON object that a program or tool answers reports success or failure.

{"error": {"code": 403, "message": "…"}}     failed
{"status": 422, "errors": […]}               failed
{"ok": true, "error": null}                  passed
{"id": "wh_812", "url": "…"}                 says neither
"""

import json
from typing import Any

from plimsoll.context.ledger.outcomes.rules import rules

_LONGEST = 100_000
_STATUS_CODES = range(100, 600)


def reports_success(text: str) -> bool | None:
    """True or False if the object, or the last line that is one, says so; None for any other text."""
    text = text.strip()[:_LONGEST]
    if not text.endswith("}"):
        return None
    for candidate in (text, text.rpartition("\n")[2]):
        if candidate.startswith("{"):
            try:
                answer = json.loads(candidate)
            except (ValueError, RecursionError):
                continue
            return _verdict(answer)
    return None


def _verdict(answer: dict[str, Any]) -> bool | None:
    said = [_of_field(key.lower().replace("_", ""), value) for key, value in answer.items()]
    if False in said:
        return False
    return True if True in said or not rules().answers.created.isdisjoint(answer) else None


def _of_field(key: str, value: Any) -> bool | None:
    answers = rules().answers
    if key in answers.errors:
        return False if value else None
    if key in answers.successes and isinstance(value, bool):
        return value
    if key in answers.exit_codes and type(value) is int:
        return value == 0
    if key in answers.states:
        if type(value) is int and value in _STATUS_CODES:
            return value < 400
        if isinstance(value, str):
            return (
                False
                if value.lower() in answers.failed
                else True
                if value.lower() in answers.passed
                else None
            )
    return None
