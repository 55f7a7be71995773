"""What a run has spent on summaries, on disk before it is spent, so that a killed run cannot forget it.

    {"reserved": 7, "usd": 0.0121}     before request 7: the most that it can cost
    {"usd": 0.0034}                    what the provider reported
    {"released": 7}                    request 7 has ended

After a kill, a request that has not ended counts with its reservation: the provider may have charged for it.
"""

import json
import os
from pathlib import Path
from typing import IO


class SpendLog:
    """Appends to the log of a run; `spent` is the total in USD when it was opened."""

    def __init__(self, path: Path) -> None:
        self._handle: IO[bytes] = os.fdopen(
            os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b"
        )
        self.spent, end = 0.0, 0
        pending: dict[int, float] = {}
        for line in iter(self._handle.readline, b""):
            try:
                entry = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                entry = None
            if not isinstance(entry, dict):  # torn by a loss of power
                break
            end += len(line)
            if "reserved" in entry:
                pending[entry["reserved"]] = entry["usd"]
            elif "released" in entry:
                pending.pop(entry["released"], None)
            else:
                self.spent += entry["usd"]
        self._handle.seek(end)
        self._handle.truncate()
        self._next = 0
        for usd in pending.values():
            self.add(usd)
            self.spent += usd
        for number in pending:
            self.release(number)

    def reserve(self, usd: float) -> int:
        """Note the most that the next request can cost; the number to release it with."""
        self._next += 1
        self._write({"reserved": self._next, "usd": usd})
        return self._next

    def add(self, usd: float) -> None:
        """Note what a request did cost."""
        self._write({"usd": usd})

    def release(self, number: int) -> None:
        """The request has ended, and its cost is noted."""
        self._write({"released": number})

    def close(self) -> None:
        """End writing."""
        self._handle.close()

    def _write(self, entry: dict[str, float]) -> None:
        self._handle.write(json.dumps(entry).encode("ascii") + b"\n")
        self._handle.flush()
        os.fsync(self._handle.fileno())
