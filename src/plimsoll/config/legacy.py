"""Older names of settings: still accepted, always reported.

    compression.summary_model  ──►  auxiliary.compression.model
    model.cache_ttl            ──►  prompt_caching.cache_ttl

If both spellings are set, the new one wins, whichever source it comes from.
"""

from collections.abc import Sequence

from plimsoll.config.values import GivenValue, KeyPath

_NEW_NAME: dict[KeyPath, KeyPath] = {
    ("compression", "summary_model"): ("auxiliary", "compression", "model"),
    ("model", "cache_ttl"): ("prompt_caching", "cache_ttl"),
}


def renamed(path: KeyPath) -> KeyPath:
    """The current path of a key."""
    return _NEW_NAME.get(path, path)


def settle(values: Sequence[GivenValue]) -> tuple[list[GivenValue], list[str]]:
    """The effective values, lowest source first, and a notice for every older spelling."""
    spelled_today = {item.path for item in values if item.spelled == item.key}
    kept: list[GivenValue] = []
    notices: list[str] = []
    for entry in values:
        if entry.spelled == entry.key:
            kept.append(entry)
        elif entry.path in spelled_today:
            notices.append(
                f"{entry.source}: {entry.spelled} is an older spelling of {entry.key}, which is set too and wins. "
                f"Remove {entry.spelled}."
            )
        else:
            kept.append(entry)
            notices.append(f"{entry.source}: {entry.spelled} is now called {entry.key}; it still works.")
    return kept, notices
