"""The standard tools, in the order in which models see them."""

from pathlib import Path

from plimsoll.settings.tools import TerminalSettings
from plimsoll.tools.files import Patch, ReadFile, WriteFile
from plimsoll.tools.search import SearchFiles
from plimsoll.tools.terminal import Grants, Terminal
from plimsoll.tools.toolbox import ToolBox


def standard_tools(
    timeout: float = 120.0, terminal: TerminalSettings | None = None, approvals: Path | None = None
) -> ToolBox:
    """terminal, read_file, write_file, patch, search_files.

    `approvals` is the file of permanent approvals; without it, permanent approval is not offered.
    """
    return ToolBox(
        (
            Terminal(seconds=timeout, settings=terminal, grants=Grants(approvals)),
            ReadFile(),
            WriteFile(),
            Patch(),
            SearchFiles.with_the_fastest(seconds=timeout),
        )
    )
