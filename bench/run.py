"""All measurements one after the other; exit code 1 if any bar is missed.

make bench                 everything
python bench/run.py speed  only those named
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
BENCHES = {
    "startup": "cold start of command and import",
    "speed": "compaction without a model, against hermes-agent 0.19.0",
    "background": "how long compactions make a person wait, prepared in the background or not",
    "counting": "token estimates against real vocabularies (needs the shared corpus)",
    "lcm": "the lossless engine: facts in context and by search (needs the shared corpus)",
    "caching": "what prompt caching saves (needs the shared corpus)",
    "money": "whole sessions in USD, by when they are compacted (needs the shared corpus)",
}


def main(names: list[str]) -> int:
    """Run the named benches, or all."""
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"bench: no bench is called {unknown[0]!r}; there are {', '.join(BENCHES)}.", file=sys.stderr)
        return 2
    missed = []
    for name in names or BENCHES:
        print(f"\n== {name}: {BENCHES[name]}", flush=True)
        if subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False).returncode:
            missed.append(name)
    print(f"\n{'bars missed or not measured: ' + ', '.join(missed) if missed else 'all bars held'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
