"""The tools that every agent gets, in the order in which every model sees them."""

from plimsoll.tools.files import Patch, ReadFile, WriteFile
from plimsoll.tools.search import SearchFiles
from plimsoll.tools.terminal import Terminal
from plimsoll.tools.toolbox import ToolBox


def standard_tools(timeout: float = 120.0) -> ToolBox:
    """terminal, read_file, write_file, patch, search_files."""
    return ToolBox(
        (
            Terminal(seconds=timeout),
            ReadFile(),
            WriteFile(),
            Patch(),
            SearchFiles.with_the_fastest(seconds=timeout),
        )
    )
