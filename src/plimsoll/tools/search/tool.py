"""The search tool: contents by regular expression, names by glob, in pages.

src/app.py:12: def main():
[100 results shown; next: offset=100]
"""

import re
import shutil

import regex

from plimsoll.errors import UserError
from plimsoll.patterns import MAX_CHARACTERS, check
from plimsoll.tools.definitions import definition_of
from plimsoll.tools.files.suggestions import missing
from plimsoll.tools.search.finder import SearchFailed, SearchMatch, SearchRequest, SearchResults, find
from plimsoll.tools.tool import Arguments, Tool, ToolContext, ToolResult, failed
from plimsoll.tools.workspace import Workspace

_DEFAULT_HITS = 100  # per page


class SearchFiles(Tool):
    """Searches files."""

    is_safe_in_parallel = True

    def __init__(self, seconds: float = 60.0, ripgrep: str | None = None) -> None:
        super().__init__(definition_of("search_files"))
        self._seconds, self._ripgrep = seconds, ripgrep

    @classmethod
    def with_the_fastest(cls, seconds: float = 60.0) -> "SearchFiles":
        """With ripgrep if it is installed."""
        return cls(seconds, shutil.which("rg"))

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        place = context.workplace
        if "\0" in arguments.get("path", "") or "\0" in arguments["pattern"]:
            return failed("path and pattern must not contain a NUL character")
        try:
            _check(arguments)
        except UserError as error:
            return failed(str(error))
        path = place.resolve(arguments["path"]) if arguments.get("path") else place.existing_directory()
        if not path.exists():
            return failed(missing(path, place))
        limit, offset = arguments.get("limit") or _DEFAULT_HITS, arguments.get("offset") or 0
        names = arguments.get("target") == "names"
        globs = [arguments["pattern"] if names else None, arguments.get("glob")]
        wanted = SearchRequest(
            path,
            pattern=None if names else arguments["pattern"],
            glob="".join(f"(?={expression(glob)}\\Z)" for glob in globs if glob) + ".*"
            if any(globs)
            else None,
            ignore_case=bool(arguments.get("ignore_case")),
            max_hits=offset + limit,
            seconds=self._seconds,
        )
        try:
            found = await find(wanted, self._ripgrep, place.environment)
        except SearchFailed as error:
            return failed(f"the search failed: {error}")
        return ToolResult(_shown(found, offset, limit, place, arguments))


def _check(arguments: Arguments) -> None:
    """Raise `UserError` if a pattern or a glob exceeds its limits."""
    names = arguments.get("target") == "names"
    if not names:
        check(arguments["pattern"])
    for glob in (arguments["pattern"] if names else "", arguments.get("glob") or ""):
        if len(glob) > MAX_CHARACTERS:
            raise UserError(
                f"A glob may have at most {MAX_CHARACTERS:,} characters; this one has {len(glob):,}."
            )


def expression(glob: str) -> str:
    """A glob as a regular expression for relative paths: without a slash it matches names in any directory."""
    glob = glob.removeprefix("./")
    pieces = ["" if "/" in glob.strip("/") else "(?:.*/)?"]
    at = 0
    glob = glob.removeprefix("/")
    while at < len(glob):
        if glob.startswith("**/", at):
            pieces.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            pieces.append(".*")
            at += 2
        elif glob[at] == "[" and (end := glob.find("]", at + 2)) > 0:
            inside = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            pieces.append(f"[^/{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            at = end + 1
        elif glob[at] == "{" and (end := glob.find("}", at)) > 0:
            choices = glob[at + 1 : end].split(",")
            pieces.append("(?:" + "|".join(_star(choice) for choice in choices) + ")")
            at = end + 1
        else:
            pieces.append(_star(glob[at]))
            at += 1
    text = "".join(pieces)
    try:
        re.compile(text)  # as the search without ripgrep does
        regex.compile(text)
    except (re.error, regex.error):
        return "(?:.*/)?" + re.escape(glob)
    return text


def _star(text: str) -> str:
    return re.escape(text).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")


def _shown(found: SearchResults, offset: int, limit: int, place: Workspace, arguments: Arguments) -> str:
    hits = found.hits[offset : offset + limit]
    lines = [_line(hit, place) for hit in hits]
    if found.timed_out:
        lines.append("[the search timed out; search a smaller directory or use a narrower pattern]")
    elif not found.is_all:
        lines.append(f"[{len(hits)} results shown; next: offset={offset + limit}]")
    elif not hits and offset:
        lines.append(f"[no more results; there are {len(found.hits)}]")
    elif not hits:
        unit = "files" if arguments.get("target") == "names" else "lines"
        lines.append(f"No {unit} match {arguments['pattern']!r} here.")
    return "\n".join(lines)


def _line(hit: SearchMatch, place: Workspace) -> str:
    path = hit.path.removeprefix(f"{place.directory}/")
    return f"{path}:{hit.line}: {hit.text}" if hit.line else path
