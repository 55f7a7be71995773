"""How long the command and the import take from a cold interpreter; the bar is 150 ms each.

The bar is for the median of many fresh processes. The reported figures are the shortest times in units of an
interpreter that does nothing, taken in turn with it: what else the machine does meets all alike.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from figures import report

MAX_MILLISECONDS = 150.0
REPEATS = 25
BARE = "python -c pass"
COMMANDS = {
    BARE: [sys.executable, "-c", "pass"],
    "import plimsoll": [sys.executable, "-c", "import plimsoll"],
    "plimsoll --version": [str(Path(sys.executable).with_name("plimsoll")), "--version"],
    "import plimsoll.ContextCompressor": [sys.executable, "-c", "from plimsoll import ContextCompressor"],
}
BARRED = ("import plimsoll", "plimsoll --version")


def milliseconds(command: list[str]) -> float:
    """One fresh process."""
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=dict(os.environ))
    return (time.perf_counter() - started) * 1_000


def main() -> int:
    """Measure, print, and say whether the bar holds."""
    rounds = [{name: milliseconds(command) for name, command in COMMANDS.items()} for _ in range(REPEATS)]
    found = {name: statistics.median(taken[name] for taken in rounds) for name in COMMANDS}
    shortest = {name: min(taken[name] for taken in rounds) for name in COMMANDS}
    for name in (name for name in COMMANDS if name != BARE):
        report("startup", name, shortest[name] / shortest[BARE], f"x {BARE}")
    table = Table("what", "median ms", "at most", title=f"Cold start, {REPEATS} processes each")
    for name, taken in found.items():
        table.add_row(name, f"{taken:.0f}", f"{MAX_MILLISECONDS:.0f}" if name in BARRED else "")
    Console().print(table)
    return 0 if all(found[name] <= MAX_MILLISECONDS for name in BARRED) else 1


if __name__ == "__main__":
    sys.exit(main())
