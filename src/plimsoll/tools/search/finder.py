"""Runs ripgrep or the built-in searcher and streams the results.

    ripgrep, if installed ───────────┐
                                     ├──► SearchMatch(path, line, text) … up to the limit, then the program ends
    searcher.py, otherwise ──────────┘

Patterns that ripgrep does not support (look-around, back-references) go to searcher.py.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import regex

from plimsoll.tools.process import run_process

_SHOWN = 300
_BEFORE = 100
_LONGEST_LINE = 8_000_000  # bytes of one line of results
_GLOB_SECONDS = 0.25  # for one path; a glob with many stars may take exponential time


class SearchFailed(ValueError):
    """The search failed; the text says why."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search and where; `glob` is a regular expression for paths relative to `path`."""

    path: Path
    pattern: str | None  # None: names only
    glob: str | None = None
    ignore_case: bool = False
    max_hits: int = 100
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """A file, or a line in one."""

    path: str
    line: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The results in order of path; whether there are more, and whether it timed out."""

    hits: tuple[SearchMatch, ...]
    is_all: bool
    timed_out: bool = False


class _Lines:
    """Collects results until there are enough."""

    def __init__(self, wanted: SearchRequest) -> None:
        self._wanted = wanted
        self._glob = regex.compile(wanted.glob) if wanted.glob else None
        self._rest = b""
        self.hits: list[SearchMatch] = []

    @property
    def is_full(self) -> bool:
        return len(self.hits) > self._wanted.max_hits

    def take(self, chunk: bytes) -> bool:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            try:
                hit = self._hit(line)
            except TimeoutError:
                return True  # if one path takes this long, others do too
            if hit is not None:
                self.hits.append(hit)
            if self.is_full:
                return True
        return len(self._rest) > _LONGEST_LINE

    def _hit(self, line: bytes) -> SearchMatch | None:
        if not line.startswith((b"[", b"{")):
            path = line.decode("utf-8", "replace")  # a name from ripgrep
            return SearchMatch(path) if path and self._fits(path) else None
        found = json.loads(line)
        if isinstance(found, list):
            return SearchMatch(found[0], *(found[1:3] if len(found) > 2 else ()))
        if found.get("type") != "match":
            return None
        data = found["data"]
        path = _text(data["path"])
        raw = _text(data["lines"]).split("\n")[0].rstrip("\r")
        starts = [part["start"] for part in data["submatches"]] or [0]
        cut = max(0, len(raw.encode()[: starts[0]].decode("utf-8", "ignore")) - _BEFORE)
        return (
            SearchMatch(path, data["line_number"] or 0, raw[cut : cut + _SHOWN]) if self._fits(path) else None
        )

    def _fits(self, path: str) -> bool:
        if self._glob is None or Path(path) == self._wanted.path:
            return True
        relative = Path(path).relative_to(self._wanted.path).as_posix()
        return bool(self._glob.fullmatch(relative, timeout=_GLOB_SECONDS))


async def find(wanted: SearchRequest, ripgrep: str | None, environment: Mapping[str, str]) -> SearchResults:
    """Search with ripgrep if it is installed, otherwise without."""
    if ripgrep is not None:
        try:
            return await _run(_ripgrep(wanted, ripgrep), wanted, environment)
        except SearchFailed:
            # Probably an expression that only Python supports; otherwise its error message is used.
            pass
    with as_file(files("plimsoll.tools.search").joinpath("searcher.py")) as script:
        return await _run(_python(wanted, script), wanted, environment)


async def _run(argv: list[str], wanted: SearchRequest, environment: Mapping[str, str]) -> SearchResults:
    lines = _Lines(wanted)
    folder = wanted.path if wanted.path.is_dir() else wanted.path.parent
    with tempfile.TemporaryFile() as errors:
        code = await run_process(
            argv,
            directory=folder,
            environment=environment,
            seconds=wanted.seconds,
            take=lines.take,
            errors=errors,
        )
        errors.seek(0)
        message = errors.read(2_000).decode("utf-8", "replace").strip()
    if code is None:
        return SearchResults(tuple(lines.hits[: wanted.max_hits]), is_all=False, timed_out=not lines.is_full)
    # 1 means "nothing found". ripgrep also returns 2 for a single unreadable file.
    if code not in (0, 1) and not lines.hits:
        raise SearchFailed(
            message.splitlines()[-1][:500] if message else f"the search ended with exit code {code}"
        )
    return SearchResults(tuple(lines.hits[: wanted.max_hits]), is_all=not lines.is_full)


def _ripgrep(wanted: SearchRequest, program: str) -> list[str]:
    # Ignore the user's ripgrep settings, so the same query has the same result everywhere.
    common = [
        program, "--no-config", "--hidden", "--glob=!.git", "--sort=path", "--no-messages", "--no-ignore-global",
        "--no-ignore-dot", "--no-require-git", "--no-ignore-exclude", "--color=never",
    ]  # fmt: skip
    if wanted.pattern is None:
        return [*common, "--files", "--", str(wanted.path)]
    case = ["--ignore-case"] if wanted.ignore_case else ["--case-sensitive"]
    return [*common, *case, "--json", "--regexp", wanted.pattern, "--", str(wanted.path)]


def _python(wanted: SearchRequest, script: Path) -> list[str]:
    request = {
        "path": str(wanted.path),
        "pattern": wanted.pattern,
        "glob": wanted.glob,
        "ignore_case": wanted.ignore_case,
    }
    return [sys.executable, "-I", str(script), json.dumps(request)]


def _text(value: dict[str, Any]) -> str:
    """ripgrep's text, or its base64 if the bytes are not UTF-8."""
    if "text" in value:
        return str(value["text"])
    import base64

    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")
