"""The shell tool: read-only commands run at once, all others need approval."""

from plimsoll.tools.terminal.grants import Grants
from plimsoll.tools.terminal.sandbox import require_bubblewrap
from plimsoll.tools.terminal.tool import Terminal

__all__ = ["Grants", "Terminal", "require_bubblewrap"]
