"""The settings of the user's terminal and readline: colours, light or dark, vi or Emacs keys.

Only the terminal's own 16 colours are used, so its theme decides what they look like. rich and prompt_toolkit respect
NO_COLOR.
"""

from collections.abc import Mapping
from pathlib import Path

from prompt_toolkit.enums import EditingMode
from prompt_toolkit.styles import Style

PROMPT_STYLE = Style.from_dict(
    {"bottom-toolbar": "noreverse fg:ansibrightblack", "completion-menu": "noreverse", "hint": "bold"}
)
_DARK = {"0", "1", "2", "3", "4", "5", "6", "8"}  # colours of a dark background


def code_theme(environ: Mapping[str, str]) -> str:
    """The code theme: for a dark background, unless COLORFGBG says that it is light."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return "ansi_light" if background.isdecimal() and background not in _DARK else "ansi_dark"


def editing_mode(environ: Mapping[str, str], home: Path) -> EditingMode:
    """readline's editing mode: `set editing-mode vi` in $INPUTRC, ~/.inputrc or /etc/inputrc."""
    named = environ.get("INPUTRC")
    for path in [Path(named)] if named else [home / ".inputrc", Path("/etc/inputrc")]:
        try:
            text = path.read_text("utf-8", "replace")
        except OSError:
            continue
        return EditingMode.VI if _is_vi(text) else EditingMode.EMACS
    return EditingMode.EMACS


def _is_vi(inputrc: str) -> bool:
    """Whether the last `editing-mode` outside conditions is vi."""
    depth, is_vi = 0, False
    for line in inputrc.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "$if":
            depth += 1
        elif words[0] == "$endif":
            depth -= 1
        elif (
            depth == 0 and [word.lower() for word in words[:2]] == ["set", "editing-mode"] and len(words) > 2
        ):
            is_vi = words[2].lower() == "vi"
    return is_vi
