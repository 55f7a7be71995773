"""Parses and formats times.

    2026-11-15 · 2026-11-15 09:30 · 90m · 3h · 2d · 1w     input
    2026-11-15 09:30 · 5 min ago                            output

Times are local. The current time is an argument.
"""

import re
from datetime import datetime

from plimsoll.errors import UserError

_AGO = re.compile(r"(\d+)\s*([mhdw])")
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def parse_time(text: str, now: float) -> float:
    """Seconds since 1970 for a date, a date with a time, or a duration before now."""
    time_ago = _AGO.fullmatch(text.strip().lower())
    if time_ago:
        return now - int(time_ago[1]) * _SECONDS[time_ago[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError) as error:
        raise UserError(
            f"{text!r} is not a time; write 2026-11-15, '2026-11-15 09:30', or 90m, 3h, 2d, 1w for a time ago."
        ) from error


def format_time(seconds: float) -> str:
    """A point in time, to the minute."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def time_ago(seconds: float, now: float) -> str:
    """How long ago, in the largest unit that fits; a date after a week."""
    past = max(0.0, now - seconds)
    if past < 60:
        return "just now"
    if past < 3_600:
        return f"{int(past // 60)} min ago"
    if past < 86_400:
        return f"{int(past // 3_600)} h ago"
    if past < 7 * 86_400:
        return f"{int(past // 86_400)} d ago"
    return format_time(seconds)[:10]
