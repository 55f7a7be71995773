"""Redacts secrets from text for summary models and from every summary.

    OPENAI_API_KEY=sk-proj-4f…        ->  OPENAI_API_KEY=[redacted]
    postgres://app:hunter2@db/main    ->  postgres://[redacted]@db/main
    "password": "hunter2"             ->  "password": "[redacted]"

Names stay, values are redacted. Hashes, ids, paths and numbers stay, and so do values that are placeholders, types
or expressions. Redacting twice changes nothing. Running time is linear in the text: every repetition is bounded or
possessive, and no match starts inside another.
"""

from functools import cache

from plimsoll.secrets.assigned import without_assigned
from plimsoll.secrets.contexts import steps, without_passwords_in_other_languages
from plimsoll.secrets.key_formats import without_shapes
from plimsoll.secrets.manifests import without_manifest_values
from plimsoll.secrets.private_keys import without_private_keys
from plimsoll.secrets.tables import without_columns


def redact(text: str) -> str:
    """The text with every secret replaced by `[redacted]`; the same object if there is none."""
    lowered = _lowered(text)
    if "private key" in lowered:
        text = without_private_keys(text)
        lowered = _lowered(text)
    if "kind" in lowered and "secret" in lowered:
        text = without_manifest_values(text)
        lowered = _lowered(text)
    gates = {gate for gate in _gates() if gate in lowered}
    if gates:
        for gate, needles, pattern, replaced in steps():
            if gate in gates and any(needle in lowered for needle in needles):
                text, count = pattern.subn(replaced, text)
                lowered = _lowered(text) if count else lowered
    text = without_columns(text, lowered)
    lowered = _lowered(text)
    found = without_shapes(without_passwords_in_other_languages(text))
    return without_assigned(found, lowered if found is text else _lowered(found))


@cache
def _gates() -> tuple[str, ...]:
    return tuple(dict.fromkeys(gate for gate, *_ in steps()))


def _lowered(text: str) -> str:
    """The text in lower case, with the same length."""
    return text.encode("ascii", "replace").decode("ascii").lower()
