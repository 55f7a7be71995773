"""Removes terminal escape codes and overwritten progress bars from the output of a program.

"10%\\r50%\\r100%\\n\\x1b[32mok\\x1b[0m\\n"   ->   "100%\\nok\\n"
"""

import re

# Each alternative stops at the next escape character, which keeps matching linear.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])"
)


def without_escape_codes(text: str) -> str:
    """The text as a terminal finally shows it, without colours."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return text
