"""Counts the statements of the package over the syntax tree, by package.

    python bench/statements.py            the working tree
    python bench/statements.py REVISION   compared with a revision

A formatter moves lines but not statements, so the count shows whether the code gets smaller.
"""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/plimsoll")


def statements(source: str) -> int:
    """Statements in one file, docstrings included."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(source)))


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def in_working_tree() -> Counter[str]:
    found = Counter[str]()
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        found[package_of(path.relative_to(ROOT))] += statements(path.read_text("utf-8"))
    return found


def at_revision(revision: str) -> Counter[str]:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout

    found = Counter[str]()
    for name in git("ls-tree", "-r", "--name-only", revision, str(PACKAGE)).splitlines():
        if name.endswith(".py"):
            found[package_of(Path(name))] += statements(git("show", f"{revision}:{name}"))
    return found


def main() -> None:
    now = in_working_tree()
    before = at_revision(sys.argv[1]) if len(sys.argv) > 1 else None
    for name in sorted(now):
        print(f"{name:<14} {now[name]:>7,}" + (f" {now[name] - before[name]:>+7,}" if before else ""))
    total = now.total()
    change = f" {total - before.total():>+7,} ({total / before.total() - 1:+.1%})" if before else ""
    print(f"{'all':<14} {total:>7,}{change}")


if __name__ == "__main__":
    main()
