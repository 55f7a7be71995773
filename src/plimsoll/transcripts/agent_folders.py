"""Finds agents' session folders: the newest session of a project, and the path for a new one.

    claude-code   $CLAUDE_CONFIG_DIR or ~/.claude   projects/<directory as one name>/<id>.jsonl
    codex         $CODEX_HOME or ~/.codex           sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl
    gemini        $GEMINI_CLI_HOME/.gemini or ~/.gemini
                                                    tmp/<project>/chats/session-<time>-<id>.jsonl

Claude Code and Gemini CLI have one folder per directory. Codex names the directory in the first line of each file.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from plimsoll.errors import TranscriptError
from plimsoll.messages.untyped import object_of
from plimsoll.transcripts.formats.format import SessionStamp

_MAX_ROLLOUTS = 2_000  # rollouts whose first line is read to find one of this project
_LONGEST_SLUG = 200  # Claude Code shortens longer ones with an undocumented hash


class AgentFolder(ABC):
    """The folder of one agent."""

    agent: ClassVar[str]  # its name on the command line
    format: ClassVar[str]  # the format of its sessions
    program: ClassVar[str]
    variable: ClassVar[str]  # the environment variable that sets the folder
    default: ClassVar[str]  # the path in the home directory

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def here(cls, environment: Mapping[str, str], home: Path) -> "AgentFolder":
        """The folder of the current user."""
        folder = environment.get(cls.variable)
        return cls(Path(folder).expanduser() if folder else home / cls.default)

    @abstractmethod
    def all_sessions(self) -> Iterator[Path]:
        """The sessions of all projects."""

    @abstractmethod
    def sessions(self, project: str) -> Iterator[Path]:
        """The sessions of one project, or recent ones of all projects, newest first."""

    def session(self, session: str) -> Path | None:
        """The file of the session with this id; the newest if there are several."""
        return next(newest_first(path for path in self.all_sessions() if self._holds(path, session)), None)

    def _holds(self, path: Path, session: str) -> bool:
        return session in path.name

    @abstractmethod
    def place(self, stamp: SessionStamp) -> Path:
        """The file for a new session."""

    @abstractmethod
    def command(self, session: str) -> str:
        """The command that resumes a session."""

    def prepare(self, stamp: SessionStamp) -> None:
        """Create the folder of a new session, and the entries that the agent needs to find it."""
        self.place(stamp).parent.mkdir(parents=True, exist_ok=True, mode=0o700)


class ClaudeCodeFolder(AgentFolder):
    """The folder of Claude Code."""

    agent, format, program = "claude", "claude-code", "Claude Code"
    variable, default = "CLAUDE_CONFIG_DIR", ".claude"

    def all_sessions(self) -> Iterator[Path]:
        return (path for path in self.root.glob("projects/*/*.jsonl") if not path.name.startswith("agent-"))

    def sessions(self, project: str) -> Iterator[Path]:
        slug = _slug(project)
        yield from newest_first(path for path in self.all_sessions() if path.parent.name == slug)

    def place(self, stamp: SessionStamp) -> Path:
        slug = _slug(stamp.project)
        if len(slug) > _LONGEST_SLUG:
            raise TranscriptError(
                f"The path {stamp.project} has {len(slug)} characters. For more than {_LONGEST_SLUG}, the name of "
                f"Claude Code's session folder is undocumented. Name a file with --output, and copy it there."
            )
        return self.root / "projects" / slug / f"{stamp.id}.jsonl"

    def command(self, session: str) -> str:
        return f"claude --resume {session}"


class CodexFolder(AgentFolder):
    """The folder of Codex."""

    agent, format, program = "codex", "codex", "Codex"
    variable, default = "CODEX_HOME", ".codex"

    def all_sessions(self) -> Iterator[Path]:
        return self.root.glob("sessions/**/rollout-*.jsonl")

    def sessions(self, project: str) -> Iterator[Path]:
        for number, path in enumerate(newest_first(self.all_sessions())):
            if number == _MAX_ROLLOUTS:
                return
            if _recorded_directory(path) == project:
                yield path

    def place(self, stamp: SessionStamp) -> Path:
        day, second = stamp.now.strftime("%Y/%m/%d"), stamp.now.strftime("%Y-%m-%dT%H-%M-%S")
        return self.root / "sessions" / day / f"rollout-{second}-{stamp.id}.jsonl"

    def command(self, session: str) -> str:
        return f"codex resume {session}"


class GeminiCliFolder(AgentFolder):
    """The folder of Gemini CLI."""

    agent, format, program = "gemini", "gemini-cli", "Gemini CLI"
    variable, default = "GEMINI_CLI_HOME", ".gemini"

    @classmethod
    def here(cls, environment: Mapping[str, str], home: Path) -> "GeminiCliFolder":
        folder = environment.get(cls.variable)
        return cls((Path(folder).expanduser() if folder else home) / cls.default)

    def all_sessions(self) -> Iterator[Path]:
        return (path for path in self.root.glob("tmp/*/chats/session-*.json*"))

    def sessions(self, project: str) -> Iterator[Path]:
        name = self._projects().get(project)
        yield from newest_first(p for p in self.all_sessions() if name and p.parent.parent.name == name)

    def place(self, stamp: SessionStamp) -> Path:
        minute = stamp.now.strftime("%Y-%m-%dT%H-%M")
        chats = self.root / "tmp" / self._name(stamp.project) / "chats"
        return chats / f"session-{minute}-{stamp.id[:8]}.jsonl"

    def command(self, session: str) -> str:
        return f"gemini --resume {session}"

    def prepare(self, stamp: SessionStamp) -> None:
        super().prepare(stamp)
        known, name = self._projects(), self._name(stamp.project)
        if stamp.project not in known:
            listed = json.dumps({"projects": {**known, stamp.project: name}}, indent=2)
            (self.root / "projects.json").write_text(listed, "utf-8")
            (self.root / "tmp" / name / ".project_root").write_text(stamp.project, "utf-8")

    def _holds(self, path: Path, session: str) -> bool:
        # The name has only the start of the id.
        return session[:8] in path.name and _recorded_id(path) == session

    def _projects(self) -> dict[str, str]:
        """The name of each project's folder."""
        projects = object_of(_json_in(self.root / "projects.json")).get("projects")
        return {str(key): str(value) for key, value in projects.items()} if isinstance(projects, dict) else {}

    def _name(self, project: str) -> str:
        known = self._projects()
        base = name = re.sub(r"[^a-z0-9]+", "-", Path(project).name.lower()).strip("-") or "project"
        number = 0
        while name in known.values() and project not in known:
            number += 1
            name = f"{base}-{number}"
        return known.get(project, name)


FOLDERS: tuple[type[AgentFolder], ...] = (ClaudeCodeFolder, CodexFolder, GeminiCliFolder)
AGENTS = tuple(folder.agent for folder in FOLDERS)


@dataclass(frozen=True, slots=True)
class NewestSession:
    """The newest session that was found."""

    path: Path
    is_here: bool  # of the project that was asked for


def newest_session(
    agent: str, environment: Mapping[str, str], home: Path, project: str, *, anywhere: bool = False
) -> NewestSession:
    """The newest session of `agent` in a project, or of all projects if it has none and `anywhere` is set.

    Raises `TranscriptError` if there is none.
    """
    folder = next(candidate for candidate in FOLDERS if candidate.agent == agent).here(environment, home)
    found = next(folder.sessions(project), None)
    if found is not None:
        return NewestSession(found, is_here=True)
    other = next(newest_first(folder.all_sessions()), None)
    if other is not None and anywhere:
        return NewestSession(other, is_here=False)
    if other is None:
        raise TranscriptError(
            f"{folder.program} has no sessions in {folder.root}. Set {folder.variable} to the folder where "
            f"{folder.program} keeps them, or name a file."
        )
    raise TranscriptError(
        f"{folder.program} has no session of {project}. Run the command in the directory of the session, or name the "
        f"file. The newest session of all projects is {other}"
    )


def newest_first(paths: Iterator[Path]) -> Iterator[Path]:
    """The non-empty files, most recently changed first."""
    dated = []
    for path in paths:
        try:
            facts = path.stat()
        except OSError:  # removed since it was listed
            continue
        if facts.st_size:
            dated.append((facts.st_mtime, path))
    return (path for _, path in sorted(dated, reverse=True))


def _slug(project: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]", "-", project)


def _recorded_directory(path: Path) -> str | None:
    return object_of(object_of(_first_line_of(path)).get("payload")).get("cwd")


def _recorded_id(path: Path) -> str | None:
    """The id in the first line of a Gemini CLI session, or in an older one's only object."""
    return object_of(_json_in(path) if path.suffix == ".json" else _first_line_of(path)).get("sessionId")


def _first_line_of(path: Path) -> Any:
    try:
        with path.open("rb") as handle:
            return json.loads(handle.readline())
    except (OSError, ValueError, RecursionError):
        return None


def _json_in(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
