"""Run the benches one after the other; exit code 1 if one misses a bar or a figure became worse.

make bench                             everything
python bench/run.py speed              only those named
python bench/run.py --save before      write the figures to bench/results/before.json too
python bench/run.py --against before   compare the figures with those; see README.md
python bench/run.py gateway -- --quick what follows -- is for the bench itself
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from figures import TOLERANCE, WANTED, Figure, as_json, compared, from_json, reported

HERE = Path(__file__).parent
RESULTS = HERE / "results"
BENCHES = {
    "startup": "cold start of command and import",
    "speed": "compaction without a model, against hermes-agent 0.19.0",
    "background": "how long compactions make a person wait, prepared in the background or not",
    "counting": "token estimates against real vocabularies (needs the shared corpus)",
    "lcm": "the lossless engine: facts in context and by search (needs the shared corpus)",
    "caching": "what prompt caching saves (needs the shared corpus)",
    "money": "whole sessions in USD, by when they are compacted (needs the shared corpus)",
}
# These take minutes and run only by their names.
LONG_BENCHES = {
    "reading": "how fast every message is read, memory, reading on (needs the shared corpus)",
    "bulk": "datasets on one core and two, and memory over many conversations",
    "gateway": "the gateway under load, against LiteLLM's proxy",
    "inspector": "the inspector page with a long session, in a real browser (needs make peers)",
    "isolation": "small requests beside compactions of 200,000 tokens",
}


def source() -> dict[str, str]:
    """The commit of the code that is measured, which another checkout may have installed, and the machine."""
    measured = find_spec("plimsoll")
    package = Path(measured.origin).parent if measured and measured.origin else HERE

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=package, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", str(package))
    return {
        "commit": git("rev-parse", "--short=12", "HEAD") + (" with local changes" if changed else ""),
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
    }


def processor() -> str:
    """The name of the processor; where the system does not tell, its architecture."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def described() -> dict[str, str]:
    """Every bench."""
    return {**BENCHES, **LONG_BENCHES}


def measure(names: list[str], options: list[str]) -> tuple[list[Figure], list[str]]:
    """Run benches with these options; their figures, and the names of those that missed a bar."""
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "figures.jsonl"
        lines.touch()
        for name in names:
            print(f"\n== {name}: {described()[name]}", flush=True)
            command = [sys.executable, str(HERE / f"{name}.py"), *options]
            if subprocess.run(command, check=False, env={**os.environ, WANTED: str(lines)}).returncode:
                missed.append(name)
        return reported(lines), missed


def save(path: Path, names: list[str], figures: list[Figure]) -> None:
    """Write a run. Benches that it left out keep their figures if these are of the same code and machine."""
    saved, before = from_json(path.read_text("utf-8")) if path.exists() else ({}, [])
    kept = [figure for figure in before if figure.bench not in names] if saved == source() else []
    figures = sorted([*kept, *figures], key=lambda figure: list(described()).index(figure.bench))
    path.write_text(as_json(figures, source()), "utf-8")


def compare(saved: dict[str, str], before: list[Figure], now: list[Figure]) -> bool:
    """Print how the figures changed; whether none is worse or missing."""
    here = source()
    for what in ("machine", "python"):
        if saved[what] != here[what]:
            print(f"warning: another {what}: {saved[what]} then, {here[what]} now; times do not compare.")
    every = list(compared(before, now))
    table = Table("figure", "before", "now", "change", "", title=f"Against {saved['commit']}")
    for one in every:
        known = one.before or one.now
        if one.verdict == "ok" or known is None:
            continue
        values = [f"{side.value:,.4g} {side.unit}" if side else "" for side in (one.before, one.now)]
        change = (
            f"{one.now.value / one.before.value - 1:+.0%}"
            if one.now and one.before and one.before.value
            else ""
        )
        table.add_row(f"{known.bench}: {known.name}", *values, change, one.verdict)
    if table.row_count:
        Console(width=140).print(table)
    failed = [one for one in every if one.verdict in ("worse", "missing")]
    print(f"{len(every) - len(failed)} of {len(every)} figures are at most {TOLERANCE:.0%} worse than before")
    return not failed


def arguments(line: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="bench/run.py", description="Measure speed, memory, counting and cost."
    )
    parser.add_argument(
        "benches",
        nargs="*",
        metavar="BENCH",
        help=f"any of {', '.join(described())}; all but {' and '.join(LONG_BENCHES)} by default",
    )
    parser.add_argument("--save", metavar="NAME", help="write the figures to bench/results/NAME.json")
    parser.add_argument("--against", metavar="NAME", help="compare the figures with bench/results/NAME.json")
    wanted = parser.parse_args(line)
    if unknown := [name for name in wanted.benches if name not in described()]:
        parser.error(f"no bench is called {unknown[0]!r}; there are {', '.join(described())}.")
    if wanted.against and not (RESULTS / f"{wanted.against}.json").exists():
        parser.error(
            f"bench/results/{wanted.against}.json does not exist; --save {wanted.against} writes it."
        )
    return wanted


def main(line: list[str]) -> int:
    """Measure, save, compare."""
    end = line.index("--") if "--" in line else len(line)
    wanted, options = arguments(line[:end]), line[end + 1 :]
    names = wanted.benches or list(BENCHES)
    # Read first: both options may name the same file.
    earlier = (RESULTS / f"{wanted.against}.json").read_text("utf-8") if wanted.against else ""
    figures, missed = measure(names, options)
    if wanted.save:
        save(RESULTS / f"{wanted.save}.json", names, figures)
    held = True
    if earlier:
        saved, before = from_json(earlier)
        held = compare(saved, [figure for figure in before if figure.bench in names], figures)
    print(f"\n{'bars missed or not measured: ' + ', '.join(missed) if missed else 'all bars held'}")
    return 0 if held and not missed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
