"""The session file that an agent wrote last.

claude   $CLAUDE_CONFIG_DIR or ~/.claude    projects/*/*.jsonl
codex    $CODEX_HOME or ~/.codex            sessions/**/rollout-*.jsonl
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from plimsoll.errors import TranscriptError


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an agent keeps its sessions."""

    name: str
    variable: str
    folder: str
    pattern: str
    side_chain: str  # how the files of sub-agents begin


_PLACES = {
    "claude": _Place("Claude Code", "CLAUDE_CONFIG_DIR", ".claude", "projects/*/*.jsonl", "agent-"),
    "codex": _Place("Codex", "CODEX_HOME", ".codex", "sessions/**/rollout-*.jsonl", "\0"),
}
AGENTS = tuple(_PLACES)


def newest_session(agent: str, environment: Mapping[str, str], home: Path) -> Path:
    """The newest session file of `agent`; `TranscriptError` where it has none."""
    place = _PLACES[agent]
    set_to = environment.get(place.variable)
    folder = Path(set_to).expanduser() if set_to else home / place.folder
    found = max(_dated(folder, place), default=None)
    if found is None:
        raise TranscriptError(
            f"{place.name} has no sessions in {folder / place.pattern}. "
            f"Set {place.variable} to the folder where {place.name} keeps them, or name a file."
        )
    return found[1]


def _dated(folder: Path, place: _Place) -> Iterator[tuple[float, Path]]:
    for path in folder.glob(place.pattern):
        if path.name.startswith(place.side_chain):
            continue
        try:
            facts = path.stat()
        except OSError:  # removed since it was listed
            continue
        if facts.st_size:
            yield facts.st_mtime, path
