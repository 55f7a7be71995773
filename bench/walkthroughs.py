"""Writes the request walkthroughs of ARCHITECTURE.md from real runs.

    python bench/walkthroughs.py            write them (`make docs` does this too)
    python bench/walkthroughs.py --check    exit 1 if the page is out of date

Each walkthrough is one real request against a scripted model server on loopback. A profile function records which
file calls a function of which other file. A file is listed once, below the file that called it first, with the
functions through which it was entered from there. Calls into the base packages (messages, models, settings and
others), properties, and calls within a file are not listed.

A file that another file enters again, with other functions, is a repeated visit. `REASONS` must explain every
repeated visit; the run fails otherwise.
"""

import ast
import asyncio
import contextlib
import functools
import io
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import httpx

import plimsoll
from plimsoll.config import Settings
from plimsoll.dialects import ChatRequest
from plimsoll.gateway.app import build_app
from plimsoll.terminal.main import main as run_command
from plimsoll.testing.scripted_server import ScriptedAnswer, ScriptedServer, call, say

PAGE = Path(__file__).parents[1] / "ARCHITECTURE.md"
SOURCE = f"{Path(plimsoll.__file__).parent}/"
BEGIN, END = "<!-- walkthroughs: written by bench/walkthroughs.py -->", "<!-- end of walkthroughs -->"
# Packages that are used everywhere and say nothing about the path of a request.
BASE = ("errors.py", "messages/", "settings/", "patterns.py", "secrets/", "models/", "config/", "testing/")
COMPACT = "context/compressor/compact.py"
# Packages of which only the entrance is shown; their README files list what is inside.
CLOSED = ("archive/", "context/ledger/", "dialects/")
EXAMPLE = Path(SOURCE) / "examples" / "fastapi.json"
WINDOW = 64_000
# Why a file is entered again from another file, by the beginning of its path.
REASONS = {
    "archive/": "the conversation store: read before the request, written after it",
    "caching/": "prices and cache rules, needed where a request is built and where its usage is counted",
    "context/": "the state of one compaction (plan, budget, markers, facts), passed from phase to phase",
    "dialects/": "the wire format: used to read the request, to build the upstream request and to read its reply",
    "gateway/": "the state of one request (body, conversation, telemetry), passed from step to step",
    "agent/": "the turn: sends a request, compacts, runs tools, and sends the next request",
    "providers/": "the client: sends the request and reads the reply",
    "plugins/": "the engine's registration: looked up, then built",
    "sessions/": "the conversation: prepares the turn and stores its messages",
    "terminal/": "the screen: shows each event when it happens",
    "tools/": "the toolbox: schemas before the request, calls after it",
    "transcripts/": "the file's format and its records",
    "assembly.py": "builds the parts of a conversation when they are needed",
}
_inside: ContextVar[str] = ContextVar("inside", default="")


@dataclass
class Recorder:
    """Calls from one source file to a function of another one, in order."""

    calls: list[tuple[str, str, str]] = field(default_factory=list)  # caller, file, function
    callers: dict[FrameType, str] = field(default_factory=dict)  # of the frames that run now
    is_on: bool = False

    def start(self) -> None:
        _inside.set("")
        self.is_on = True

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """The profile function. A thread or a task that starts has no caller on its stack: the context knows it."""
        if event not in ("call", "return") or not frame.f_code.co_filename.startswith(SOURCE):
            return
        file = frame.f_code.co_filename.removeprefix(SOURCE)
        if event == "return":
            _inside.set(self.callers.pop(frame, ""))
            return
        caller = self.callers[frame] = _caller(frame) or _inside.get()
        _inside.set(file)
        if self.is_on and caller != file:
            self.calls.append((caller, file, frame.f_code.co_qualname))


@contextlib.contextmanager
def recorded() -> Iterator[Recorder]:
    """Record in this thread and in every thread that starts inside of the block."""
    recorder = Recorder()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        yield recorder
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _caller(frame: FrameType) -> str:
    above = frame.f_back
    while above is not None:
        if above.f_code.co_filename.startswith(SOURCE):
            return above.f_code.co_filename.removeprefix(SOURCE)
        above = above.f_back
    return ""


@dataclass
class Visit:
    """A file, the functions through which its caller entered it, and the files that it called."""

    file: str
    functions: list[str] = field(default_factory=list)
    below: list["Visit"] = field(default_factory=list)


@dataclass
class Walkthrough:
    """The tree of first visits, and the visits from other files."""

    roots: list[Visit] = field(default_factory=list)
    repeated: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, calls: list[tuple[str, str, str]]) -> "Walkthrough":
        found = cls()
        visits: dict[str, Visit] = {}
        first_caller: dict[str, str] = {}
        known: set[tuple[str, str]] = set()
        for caller, file, function in calls:
            if _is_hidden(caller, file, function) or (file, function) in known:
                continue
            if caller and caller not in visits:
                continue  # a constructor calls, or a base package
            known.add((file, function))
            if file not in visits:
                visits[file] = Visit(file)
                first_caller[file] = caller
                (visits[caller].below if caller else found.roots).append(visits[file])
            if first_caller[file] == caller:
                visits[file].functions.append(function)
            elif caller:
                found.repeated.setdefault(file, []).append(function)
        return found

    def lines(self, above: set[str]) -> Iterator[str]:
        """The tree in order, one file a line; the phases of a compaction that are `above` already are left out."""
        yield from _indented(self.roots, 0, above)

    def notes(self) -> Iterator[str]:
        """The repeated visits by reason."""
        unexplained = [file for file in self.repeated if not file.startswith(tuple(REASONS))]
        if unexplained:
            raise SystemExit(f"REASONS of bench/walkthroughs.py does not explain {', '.join(unexplained)}.")
        for start, reason in REASONS.items():
            files = [file for file in self.repeated if file.startswith(start)]
            if files:
                yield f"- {reason}: {', '.join(f'`{file}`' for file in files)}"


def _is_hidden(caller: str, file: str, function: str) -> bool:
    """Whether a call is left out: into a base package, inside a closed one, or of a private function or property."""
    name = function.rsplit(".", 1)[-1]
    return (
        file.startswith(BASE)
        or any(file.startswith(package) and caller.startswith(package) for package in CLOSED)
        or (name.startswith(("_", "<")) and name != "__call__")
        or "<locals>" in function
        or function in _properties()
    )


def _indented(visits: list[Visit], depth: int, above: set[str]) -> Iterator[str]:
    for visit in visits:
        note = "   (the phases are those above)" if visit.file == COMPACT and COMPACT in above else ""
        yield f"{'  ' * depth}{visit.file}: {', '.join(visit.functions)}{note}"
        below = [one for one in visit.below if not (note and one.file in above and not _leaves_context(one))]
        yield from _indented(below, depth + 1, above)
        above.add(visit.file)


def _leaves_context(visit: Visit) -> bool:
    return not visit.file.startswith("context/") or any(map(_leaves_context, visit.below))


@functools.cache
def _properties() -> frozenset[str]:
    """The qualified names of all properties of the source."""
    found = set()
    for path in Path(SOURCE).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.update(f"{node.name}.{name}" for name in _property_names(node))
    return frozenset(found)


def _property_names(kind: ast.ClassDef) -> Iterator[str]:
    for node in kind.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            "property" in ast.unparse(decorator) for decorator in node.decorator_list
        ):
            yield node.name


def compress_a_file(folder: Path) -> Walkthrough:
    """`plimsoll compress FILE --no-model -o OUT`."""
    with recorded() as recorder:
        recorder.start()
        _command("compress", str(EXAMPLE), "--no-model", "-o", str(folder / "out.json"))
    return Walkthrough.of(recorder.calls)


def drop_in_request(folder: Path) -> Walkthrough:
    """A client's whole history on `/v1/chat/completions`, above the threshold."""
    with ScriptedServer(_model, model="gpt-5") as server, recorded() as recorder:
        settings = Settings.model_validate(
            {
                "model": {"provider": "scripted", "base_url": server.openai_url, "context_length": WINDOW},
                "compression": {"background": False},
                "gateway": {"compaction_workers": 0},  # a worker process could not be recorded
            }
        )
        asyncio.run(_ask_gateway(settings, folder, recorder))
    return Walkthrough.of(recorder.calls)


async def _ask_gateway(settings: Settings, home: Path, recorder: Recorder) -> None:
    app = build_app(settings, environ={}, home=home)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        body = {"model": "gpt-5", "messages": json.loads(EXAMPLE.read_text("utf-8"))["messages"]}
        recorder.start()
        answer = await client.post("/v1/chat/completions", json=body, timeout=60)
        recorder.is_on = False
        if answer.status_code != 200 or answer.headers["x-plimsoll-view"] != "compacted":
            raise RuntimeError(f"The gateway did not compact: {answer.text}")


def chat_turn(_folder: Path) -> Walkthrough:
    """`plimsoll chat -q` in a session above the threshold: compaction, a tool call, the answer."""
    with ScriptedServer(_model, model="gpt-5") as server:
        os.environ["PLIMSOLL_MODEL__BASE_URL"] = server.openai_url
        os.environ["PLIMSOLL_MODEL__NAME"] = "gpt-5"
        os.environ["PLIMSOLL_MODEL__CONTEXT_LENGTH"] = str(2 * WINDOW)
        session = _command("sessions", "import", str(EXAMPLE)).strip()
        with recorded() as recorder:
            recorder.start()
            _command("chat", "--session", session, "-q", "Which files are here?")
    return Walkthrough.of(recorder.calls)


def _model(request: ChatRequest) -> ScriptedAnswer:
    """Calls a tool, then answers; without tools it was asked for a summary."""
    if request.messages[-1].get("role") == "tool":
        return say("One file.")
    if request.tools:
        return call("terminal", command="ls")
    return say("## Goal\nA booking API.\n\n## Progress\n### Done\n- the berths\n")


def _command(*arguments: str) -> str:
    """Run a command in this process; what it printed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        try:
            run_command(arguments)
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"plimsoll {' '.join(arguments)} failed: {said.getvalue()}") from end
    return said.getvalue()


RUNS = {
    "Compress a file": (compress_a_file, "`plimsoll compress FILE --no-model -o OUT`"),
    "A drop-in request with a compaction": (
        drop_in_request,
        "`POST /v1/chat/completions` with a history above the threshold; one process, no background preparation",
    ),
    "A chat turn with a tool and a compaction": (
        chat_turn,
        "`plimsoll chat --session ID -q QUESTION` in a session above the threshold; the model calls `terminal`",
    ),
}


def section() -> str:
    """The walkthroughs in Markdown."""
    parts = [BEGIN]
    above: set[str] = set()
    for title, (run, what) in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            os.environ.update(HOME=folder, PLIMSOLL_HOME=f"{folder}/plimsoll")
            found = run(Path(folder))
        parts += [f"### {title}", f"{what}.", "```\n" + "\n".join(found.lines(above)) + "\n```"]
        if notes := list(found.notes()):
            parts += ["Entered again from other files:", "\n".join(notes)]
    return "\n\n".join([*parts, END])


def main() -> int:
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_TOKEN", "_BASE_URL"))]:
        del os.environ[name]
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    current = before + section() + rest.partition(END)[2]
    if "--check" in sys.argv:
        return int(current != text)
    PAGE.write_text(current, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
