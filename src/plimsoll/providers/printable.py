"""Makes untrusted text safe to print: one line, no control characters."""

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]+")


def one_line(text: str, longest: int = 300) -> str:
    """The text on one line, truncated if long, without terminal control characters."""
    flat = " ".join(_CONTROL.sub(" ", text).split())
    return flat if len(flat) <= longest else flat[: longest - 1].rstrip() + "…"
