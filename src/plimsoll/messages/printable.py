"""Makes text of a conversation, a plugin or a server safe to print: no escape sequence reaches a terminal.

plain          removed: escape sequences, control characters, characters that reorder the text around them
spelled_out    written as escapes, for what a person approves
one_line       plain, on one line, truncated
json_safe      JSON with these characters as JSON escapes: the same value
"""

import re

_REORDERING = r"\u202a-\u202e\u2066-\u2069"
_CONTROL = re.compile(
    rf"\x1b\[[0-?]*[ -/]*[@-~]|\x1b.?|[\x00-\x08\x0b-\x1f\x7f-\x9f{_REORDERING}\ud800-\udfff]"
)
_IN_A_LINE = re.compile(rf"[\x00-\x1f\x7f-\x9f{_REORDERING}\ud800-\udfff\u2028\u2029]+")
# Whatever is not seen, or changes how other characters are seen; not tabs and line ends.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
# JSON itself escapes only the control characters below the space.
_RAW_IN_JSON = re.compile(rf"[\x7f-\x9f{_REORDERING}]")


def plain(text: str) -> str:
    """The text without terminal control sequences."""
    return _CONTROL.sub("", text)


def spelled_out(text: str) -> str:
    """The whole text, with every character that a person cannot see as its escape.

    For what a person approves: if such characters were only removed, what runs would differ from what was shown.
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def one_line(text: str, longest: int = 300) -> str:
    """The text on one line, truncated if long, without terminal control characters."""
    flat = " ".join(_IN_A_LINE.sub(" ", text).split())
    return flat if len(flat) <= longest else flat[: longest - 1].rstrip() + "…"


def json_safe(written: str) -> str:
    """JSON that no terminal acts on, with the same value."""
    return _RAW_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
