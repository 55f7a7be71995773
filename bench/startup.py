"""How long the command and the import take from a cold interpreter; the bar is 150 ms each.

Every figure is the median of many fresh processes, beside an interpreter that does nothing, because
machines differ.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

MOST_MS = 150.0
REPEATS = 25
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import plimsoll": [sys.executable, "-c", "import plimsoll"],
    "plimsoll --version": [str(Path(sys.executable).with_name("plimsoll")), "--version"],
    "import plimsoll.ContextCompressor": [sys.executable, "-c", "from plimsoll import ContextCompressor"],
}
BARRED = ("import plimsoll", "plimsoll --version")


def milliseconds(command: list[str]) -> float:
    """Median over fresh processes."""
    taken = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=dict(os.environ))
        taken.append((time.perf_counter() - started) * 1_000)
    return statistics.median(taken)


def main() -> int:
    """Measure, print, and say whether the bar holds."""
    found = {name: milliseconds(command) for name, command in COMMANDS.items()}
    table = Table("what", "median ms", "at most", title=f"Cold start, {REPEATS} processes each")
    for name, taken in found.items():
        table.add_row(name, f"{taken:.0f}", f"{MOST_MS:.0f}" if name in BARRED else "")
    Console().print(table)
    return 0 if all(found[name] <= MOST_MS for name in BARRED) else 1


if __name__ == "__main__":
    sys.exit(main())
