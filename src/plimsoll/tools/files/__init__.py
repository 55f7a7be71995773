"""Files as tools: read, write, change in part."""

from plimsoll.tools.files.patch import Patch
from plimsoll.tools.files.read import ReadFile
from plimsoll.tools.files.write import WriteFile

__all__ = ["Patch", "ReadFile", "WriteFile"]
