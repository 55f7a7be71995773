"""A model on this machine, served on loopback by a separate process.

    LocalServer.start(file) ─► process.py ─► http://127.0.0.1:<free port>   OpenAI's wire and Anthropic's

The process ends with `stop()` and with this program, even if it is killed: it watches a pipe that only we hold.
Within a program, a file is served once for all callers that need the same window or a smaller one; a larger window
starts another process, because the first may still be in use.
"""

import asyncio
import atexit
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from plimsoll.dialects import dialect_named
from plimsoll.errors import LocalModelError
from plimsoll.installation import install_command
from plimsoll.providers.endpoint import Endpoint
from plimsoll.providers.local.model import DEFAULT_CONTEXT, embedded_model

MAX_THREADS = 4  # more make a small model slower
LONGEST_ANSWER = 2_048  # if a request sets no limit: small models may never stop by themselves
_START = 120.0  # seconds to load a model
_STOP = 3.0  # seconds for the process to end before it is killed
_SCRIPT = Path(__file__).with_name("process.py")
_shared: dict[tuple[str, int], "LocalServer"] = {}
_sharing = threading.Lock()


class LocalServer:
    """A running server; `endpoint()` returns what a client needs."""

    def __init__(self, process: subprocess.Popen[bytes], address: str, key: str, name: str) -> None:
        self._process, self.address, self._key, self.name = process, address, key, name

    def __repr__(self) -> str:
        return f"LocalServer({self.name!r}, {self.address!r}, {'running' if self.alive else 'stopped'})"

    @classmethod
    async def start(
        cls,
        model: Path,
        *,
        context_length: int = DEFAULT_CONTEXT,
        threads: int | None = None,
        log: Path | None = None,
    ) -> Self:
        """Start a server for a GGUF file and wait until it answers; `threads` is `usual_threads()` unless given."""
        _check(model)
        key = secrets.token_urlsafe(24)
        settings = {
            "model": str(model),
            "name": model.stem,
            "key": key,
            "context_length": context_length,
            "threads": threads or usual_threads(),
            "longest_answer": min(LONGEST_ANSWER, context_length),
        }
        log = _writable(log)
        process = _spawn(log)
        try:
            async with asyncio.timeout(_START):
                first = await asyncio.to_thread(_exchange, process, settings)
        except TimeoutError:
            _end(process)
            raise LocalModelError(
                f"{model} was not loaded within {_START:g} s. Choose a smaller model."
            ) from None
        except BaseException:  # cancelled while it loads: stop it now
            _end(process)
            raise
        if not first:
            _end(process)
            raise LocalModelError(_exit_message(model, log))
        return cls(process, json.loads(first)["address"], key, model.stem)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def endpoint(self, dialect: str = "openai") -> Endpoint:
        """The endpoint of the model, in the dialect of this name."""
        base_url = dialect_named(dialect).local_url(self.address)
        return Endpoint("local", base_url, dialect, self._key, self.name)

    def stop(self) -> None:
        """End the process. Harmless if it has ended."""
        _end(self._process)

    async def aclose(self) -> None:
        """End the process without blocking the event loop."""
        await asyncio.to_thread(self.stop)


async def shared_server(model: Path, *, context_length: int = DEFAULT_CONTEXT, home: Path) -> LocalServer:
    """The shared server of a file in this program, with a window of at least this length.

    Started at the first call, again after a crash, and once more if a larger window is needed.
    """
    key = (str(model.resolve()), context_length)
    running = _running(*key)
    if running is not None:
        return running
    started = await LocalServer.start(
        model, context_length=context_length, log=home / "logs" / "local-model.log"
    )
    with _sharing:
        if not _shared:
            atexit.register(stop_shared)
        other = _shared.get(key)
        concurrent = other if other is not None and other.alive else None  # started by another thread
        winner = _shared[key] = concurrent or started
    for server in (other, started):
        if server is not None and server is not winner:
            server.stop()
    return winner


def _running(file: str, context_length: int) -> LocalServer | None:
    """The smallest shared server of a file with a large enough window."""
    with _sharing:
        fitting = [
            (window, server)
            for (served, window), server in _shared.items()
            if served == file and window >= context_length and server.alive
        ]
    return min(fitting, key=lambda pair: pair[0])[1] if fitting else None


def stop_shared() -> None:
    """End every shared server."""
    with _sharing:
        servers = list(_shared.values())
        _shared.clear()
    for server in servers:
        server.stop()


def usual_threads() -> int:
    """Threads for a model: they wait for each other at every step, so one that shares its core slows all of them."""
    return max(1, min(MAX_THREADS, (os.cpu_count() or 1) - 1))


def can_serve() -> bool:
    """Whether the package that serves models is installed."""
    return importlib.util.find_spec("xllamacpp") is not None


def _check(model: Path) -> None:
    if not can_serve():
        raise LocalModelError(f"A model on this machine needs xllamacpp: {install_command('local')}")
    if model.is_file():
        return
    if model.name == embedded_model().file:
        size = embedded_model().download
        raise LocalModelError(
            f"The embedded model is not installed; download it ({size}) with `plimsoll models fetch`."
        )
    raise LocalModelError(f"There is no model file {model}. Check the path in model.name.")


def _writable(log: Path | None) -> Path | None:
    """The log, or None if it cannot be written: a model can be served from a read-only home."""
    if log is None:
        return None
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.open("ab").close()
    except OSError:
        return None
    return log


def _spawn(log: Path | None) -> subprocess.Popen[bytes]:
    with open(log or os.devnull, "wb") as errors:  # noqa: PTH123
        # -P: a file named xllamacpp.py in the user's folder must not be imported.
        return subprocess.Popen(
            [sys.executable, "-P", str(_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # Ctrl-C must not reach the server; we stop it
        )


def _exchange(process: subprocess.Popen[bytes], settings: dict[str, Any]) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        return b""
    return process.stdout.readline()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None and not process.stdin.closed:
        with suppress(BrokenPipeError):  # already ended
            process.stdin.close()
    try:
        process.wait(_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _exit_message(model: Path, log: Path | None) -> str:
    lines = log.read_text("utf-8", "replace").splitlines() if log is not None and log.exists() else []
    errors = [line for line in lines if " E " in line or "error" in line.lower()]
    reason = f" ({' '.join(errors[-1].split())[:160]})" if errors else ""
    where = f"; its log is {log}" if log is not None else ""
    return f"{model} could not be loaded{reason}{where}. Check that it is a GGUF model and fits into memory."
