"""The shell as a tool: commands in a session of their own, dangerous ones after asking."""

from plimsoll.tools.terminal.danger import danger_of
from plimsoll.tools.terminal.tool import Terminal

__all__ = ["Terminal", "danger_of"]
