"""Write the table of docs/clients.md from the results of `make test-peers`.

python tests/peers/write_table.py
"""

import json
import sys
from typing import Any

from cases import CASES
from peer_list import ROOT
from peer_results import FILE

PAGE = ROOT / "docs" / "clients.md"
START, END = "<!-- written by tests/peers/write_table.py -->\n", "<!-- end -->\n"
HEAD = """| client | its API | upstream | model | window | turns | requests | compactions | from the cache |
|---|---|---|---|---|---|---|---|---|
"""


def row(result: dict[str, Any]) -> str:
    """One line of the table; the counts of both runs are given as first + second."""
    return (
        f"| {result['versions']} | {result['api']} | {result['upstream']} | `{result['model']}` "
        f"| {result['window']:,} | 2 × {result['turns']} | 2 × {result['requests']} "
        f"| {result['compactions']} + {result['compactions_again']} | {result['cached']:.0%} |\n"
    )


def main() -> int:
    """Replace the text between the marks, and list the cases without a result."""
    results = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    before, _, rest = PAGE.read_text("utf-8").partition(START)
    after = rest.partition(END)[2]
    table = HEAD + "".join(row(results[case.id]) for case in CASES if case.id in results)
    PAGE.write_text(f"{before}{START}{table}{END}{after}", "utf-8")
    missing = [case.id for case in CASES if case.id not in results]
    if missing:
        print(f"Not in the table: {', '.join(missing)}. Run `make test-peers`.", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
