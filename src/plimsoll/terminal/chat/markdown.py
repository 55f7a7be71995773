"""Splits a streamed answer into finished Markdown blocks. Pure.

    "One paragraph.\\n\\nThe next is under w"   ─►   "One paragraph.\\n\\n" + "The next is under w"

A block ends at an empty line or with its closing fence; code is never cut inside its fence.
"""

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def split_blocks(text: str) -> tuple[str, str]:
    """The blocks that are finished, and the rest."""
    fence = ""
    cut = end = 0
    for line in text.split("\n")[:-1]:
        end += len(line) + 1
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence, cut = "", end
        elif mark:
            fence = mark[1]
        elif not line.strip():
            cut = end
    return text[:cut], text[cut:]


def newest_part(text: str, size: int) -> str:
    """The end of a text: at least `size` characters and at most three times as many.

    The part begins at the same word until the text has grown by another `size`, so that its lines do not wrap
    differently from one drawing to the next.
    """
    start = (len(text) // size - 2) * size
    if start <= 0:
        return text
    begins = min(
        (found for found in (text.find(" ", start), text.find("\n", start)) if found >= 0), default=start
    )
    return text[begins + 1 :] if begins < start + size else text[start:]
