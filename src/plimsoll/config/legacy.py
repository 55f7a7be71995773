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


def settle(given: Sequence[GivenValue]) -> tuple[list[GivenValue], list[str]]:
    """The effective values, lowest source first, and a notice for every older spelling."""
    spelled_today = {one.path for one in given if one.spelled == one.key}
    kept: list[GivenValue] = []
    notices: list[str] = []
    for one in given:
        if one.spelled == one.key:
            kept.append(one)
        elif one.path in spelled_today:
            notices.append(
                f"{one.source}: {one.spelled} is an older spelling of {one.key}, which is set too and wins. "
                f"Remove {one.spelled}."
            )
        else:
            kept.append(one)
            notices.append(f"{one.source}: {one.spelled} is now called {one.key}; it still works.")
    return kept, notices
