"""Splits a streamed answer into finished Markdown blocks. Pure.

    "One paragraph.\\n\\nThe next is under w"   ─►   "One paragraph.\\n\\n" + "The next is under w"

A block ends at an empty line or with its closing fence; code is never cut inside its fence.
"""

import re

_LINE = re.compile(r"[^\n]*\n")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def split_blocks(text: str) -> tuple[str, str]:
    """The blocks that are finished, and the rest."""
    fence = ""
    cut = 0
    for found in _LINE.finditer(text):
        line = found[0]
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence, cut = "", found.end()
        elif mark:
            fence = mark[1]
        elif not line.strip():
            cut = found.end()
    return text[:cut], text[cut:]
