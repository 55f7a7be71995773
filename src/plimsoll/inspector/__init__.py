"""The inspector page: one conversation across its compactions, in a browser."""

from plimsoll.inspector.page import PAGE_HEADERS, Asset, script, shell, standalone, stylesheet

__all__ = ["PAGE_HEADERS", "Asset", "script", "shell", "standalone", "stylesheet"]
