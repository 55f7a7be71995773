"""Outputs of tool calls that are folded on the screen, and unfolded with a key.

    ● patch(path=app.py) … +1 −1  0.0 s
      -port = 8080
      +port = 9090
    ● terminal(command=pytest) … exit 1: 2 failed  4.1 s
      └ 38 lines, Ctrl-O shows them

Each press shows one more, the newest first.
"""

from dataclasses import dataclass, field

from plimsoll.messages.printable import plain, spelled_out
from plimsoll.transcripts import counted

MOST = 50  # outputs that can be unfolded
LINES = 12  # of a diff that is shown at once
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(slots=True)
class FoldedOutputs:
    """The outputs that can be unfolded."""

    kept: list[tuple[str, str]] = field(default_factory=list)
    _unfolded: int = 0

    def add(self, call: str, output: str) -> list[tuple[str, str]]:
        """Keep an output. Returns the lines to show, each with its style."""
        lines = plain(output).rstrip("\n").splitlines()
        self._unfolded = 0
        if is_diff(output):
            shown = diff_lines(output)
            if len(shown) <= LINES:
                return shown
            self.kept = [*self.kept[1 - MOST :], (call, output)]
            return [*shown[:LINES], (_more(len(shown) - LINES, "more line"), "dim")]
        if len(lines) < 2:
            return []
        self.kept = [*self.kept[1 - MOST :], (call, output)]
        return [(_more(len(lines), "line"), "dim")]

    def next(self) -> tuple[str, str] | None:
        """The newest output that was not unfolded yet: its call and its text."""
        if self._unfolded >= len(self.kept):
            return None
        self._unfolded += 1
        return self.kept[-self._unfolded]


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff."""
    first, _, rest = text.partition("\n")
    return first.startswith("--- ") and rest.startswith("+++ ")


def diff_lines(diff: str) -> list[tuple[str, str]]:
    """The lines of a diff after its header, each with its colour.

    Only the first two lines are the header: further down, an added line may begin with `++ `.
    """
    lines = spelled_out(diff.replace("\r\n", "\n")).removesuffix("\n").split("\n")
    return [(line, _COLOURS.get(line[:1], "")) for line in lines[2 if is_diff(diff) else 0 :]]


def diff_size(text: str) -> str:
    """Added and removed lines of a diff, such as "+12 −3"; empty for other texts."""
    if not is_diff(text):
        return ""
    lines = [line for line, _ in diff_lines(text)]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return f"+{added:,} −{removed:,}"


def _more(count: int, what: str) -> str:
    return f"└ {counted(count, what, f'{what}s')}, Ctrl-O shows {'it' if count == 1 else 'them'}"
