"""Redacts secrets from text for summary models and from every summary.

    OPENAI_API_KEY=sk-proj-4f…        ->  OPENAI_API_KEY=[redacted]
    postgres://app:hunter2@db/main    ->  postgres://[redacted]@db/main
    "password": "hunter2"             ->  "password": "[redacted]"

Names stay, values are redacted. Hashes, ids, paths and numbers stay, and so do values that are placeholders, types
or expressions. Redacting twice changes nothing. Running time is linear in the text: every repetition is bounded or
possessive, and no match starts inside another.
"""

from functools import cache, lru_cache

from plimsoll.secrets.assigned import without_assigned
from plimsoll.secrets.contexts import in_lower_case, steps
from plimsoll.secrets.generated_words import without_generated_words
from plimsoll.secrets.key_formats import without_shapes
from plimsoll.secrets.languages import without_passwords_in_other_languages
from plimsoll.secrets.manifests import without_manifest_values
from plimsoll.secrets.private_keys import without_private_keys
from plimsoll.secrets.tables import without_columns

_SEARCHES = (
    without_columns,
    without_passwords_in_other_languages,
    without_shapes,
    without_assigned,
    without_generated_words,
)


# Reading a conversation redacts most of its short texts two or three times in a row.
_SHORT, _MAX_KNOWN = 2_000, 64


def redact(text: str) -> str:
    """The text with every secret replaced by `[redacted]`; the same object if there is none."""
    found = _redacted_before(text) if len(text) <= _SHORT else _redacted(text)
    return text if found == text else found


def _redacted(text: str) -> str:
    lowered = in_lower_case(text)
    if "private key" in lowered:
        text = without_private_keys(text)
        lowered = in_lower_case(text)
    if "kind" in lowered and "secret" in lowered:
        text = without_manifest_values(text)
        lowered = in_lower_case(text)
    gates = {gate for gate in _gates() if gate in lowered}
    found = text
    for step in steps() if gates else ():
        if step.gate in gates:
            found = step.applied(text, lowered)
            text, lowered = found, lowered if found is text else in_lower_case(found)
    for without in _SEARCHES:
        found = without(text, lowered)
        text, lowered = found, lowered if found is text else in_lower_case(found)
    return text


_redacted_before = lru_cache(maxsize=_MAX_KNOWN)(_redacted)


@cache
def _gates() -> tuple[str, ...]:
    return tuple(dict.fromkeys(step.gate for step in steps()))
