"""Searching the contents and the names of files."""

from plimsoll.tools.search.tool import SearchFiles

__all__ = ["SearchFiles"]
