"""Makes a command's output readable: no escape codes, overwritten progress bars, binary data or keys.

    b"10%\\r50%\\r100%\\n\\x1b[32mok\\x1b[0m\\n"   ->   "100%\\nok\\n"

Values of secret environment variables are masked, whichever program printed them.
"""

import re
from collections.abc import Mapping

from plimsoll.messages.escape_codes import without_escape_codes
from plimsoll.secrets import without_values
from plimsoll.tools.limits import BoundedBytes

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SAMPLE = 8_192


def readable(kept: BoundedBytes, environment: Mapping[str, str]) -> str:
    """The output as text."""
    if is_binary(kept.head):
        return f"[binary output, {kept.total:,} bytes, not shown]"
    if not kept.left_out:
        return without_values(_clean((kept.head + kept.tail).decode("utf-8", "replace")), environment)
    # If the cut is in the middle of a character, that character is dropped.
    head, tail = (_clean(side.decode("utf-8", "ignore")) for side in (kept.head, kept.tail))
    text = f"{head}\n[… {kept.left_out:,} bytes left out …]\n{tail}"
    return without_values(text, environment)


def last_line(kept: BoundedBytes, environment: Mapping[str, str]) -> str:
    """The last non-empty line so far; empty for binary output."""
    end = (kept.head + kept.tail if kept.total <= _SAMPLE else kept.tail or kept.head)[-_SAMPLE:]
    if is_binary(end):
        return ""
    text = without_values(_clean(end.decode("utf-8", "ignore")), environment)
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def is_binary(sample: bytes) -> bool:
    """Whether these bytes are not text: zeros, or mostly not UTF-8."""
    sample = sample[:_SAMPLE]
    if b"\0" in sample:
        return True
    text = sample.decode("utf-8", "replace")
    return len(text) > 32 and text.count("\ufffd") > len(text) * 0.3


def _clean(text: str) -> str:
    return _CONTROL.sub("\ufffd", without_escape_codes(text))
