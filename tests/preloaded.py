"""Runs `plimsoll …` in a process of its own whose modules and word lists are loaded already.

    test ── arguments, environment, directory, pipes ──► server, which has imported every command
                                                            └─ fork ── fork ── the installed script
    test ◄─ exit status ─────────────────────────────────────────┘

Importing the package takes about a second of processor time, and the tests run hundreds of commands. Each command
still has its own process, environment, working directory, standard streams and exit; only what is loaded is shared.
Start the program itself where the start matters: what it imports, signals, a terminal.
"""

import atexit
import gc
import json
import os
import runpy
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from plimsoll import ContextCompressor

PLIMSOLL = str(Path(sys.executable).with_name("plimsoll"))
_INTERPRETER = ("PYTHON", "LANG", "LC_")  # variables that an interpreter reads when it starts
_STREAMS = 3


def run_plimsoll(
    *arguments: str, env: Mapping[str, str], cwd: Path | None = None, said: str = ""
) -> subprocess.CompletedProcess[str]:
    """What `plimsoll …` answers to `said` on its standard input."""
    command = [PLIMSOLL, *arguments]
    if _for_interpreter(env) != _for_interpreter(os.environ):
        return subprocess.run(command, env=env, cwd=cwd, input=said, capture_output=True, text=True)
    asked = {"command": command, "environment": dict(env), "directory": str(cwd or Path.cwd())}
    (read_said, write_said), (read_out, write_out), (read_err, write_err) = (
        os.pipe() for _ in range(_STREAMS)
    )
    ours, theirs = socket.socketpair()
    with ours, ThreadPoolExecutor(_STREAMS) as threads:
        _server().ask(theirs, read_said, write_out, write_err)
        threads.submit(_write, write_said, said)
        out, err = threads.submit(_read, read_out), threads.submit(_read, read_err)
        ours.sendall(json.dumps(asked).encode() + b"\n")
        status = ours.makefile("r").readline()
        assert status, "the process ended without a status"
        code = os.waitstatus_to_exitcode(int(status))
        return subprocess.CompletedProcess(command, code, out.result(), err.result())


def _for_interpreter(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(_INTERPRETER)}


def _write(descriptor: int, text: str) -> None:
    # A program need not read all of it.
    with suppress(BrokenPipeError), os.fdopen(descriptor, "w", encoding="utf-8") as pipe:
        pipe.write(text)


def _read(descriptor: int) -> str:
    with os.fdopen(descriptor, encoding="utf-8") as pipe:
        return pipe.read()


class _Server:
    """The process with the imports; it ends when this one does."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._lock = threading.Lock()
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )

    def ask(self, answer: socket.socket, *streams: int) -> None:
        """Hand over a connection for one command, and its standard streams."""
        with self._lock, answer:
            socket.send_fds(self._control, [b"."], [answer.fileno(), *streams])
        for stream in streams:
            os.close(stream)

    def stop(self) -> None:
        """End it."""
        self._control.close()
        self._process.wait()


@cache
def _server() -> _Server:
    server = _Server()
    atexit.register(server.stop)
    return server


def _serve(control: socket.socket) -> dict[str, Any] | None:
    """Fork for every command: returns in its process, with what was asked, and in the server at the end."""
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1 + _STREAMS)
        if not descriptors:
            return None
        if os.fork() == 0:
            control.close()
            return _wait_in_between(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # those that have ended by now
                pass


def _wait_in_between(connection: int, *streams: int) -> dict[str, Any]:
    """Fork once more: the parent tells the test how the child, which runs the command, ended."""
    with socket.socket(fileno=connection) as answer:
        asked: dict[str, Any] = json.loads(answer.makefile("r").readline())
        if child := os.fork():
            for stream in streams:
                os.close(stream)
            _, status = os.waitpid(child, 0)
            answer.sendall(f"{status}\n".encode())
            os._exit(0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    return asked


def _become(asked: dict[str, Any]) -> None:
    """Give this process what a program is started with."""
    os.chdir(asked["directory"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = asked["command"]
    for number, name, buffering in ((0, "stdin", -1), (1, "stdout", -1), (2, "stderr", 1)):
        before = getattr(sys, name)
        stream = open(number, before.mode, buffering, before.encoding, before.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def main() -> None:
    """Import every command, then be each of them that is asked for."""
    sys.path[0] = str(Path(PLIMSOLL).parent)  # as the script has it
    for module, _ in import_module("plimsoll.terminal.main").COMMANDS.values():
        import_module(module.partition(":")[0])
    example = json.loads(files("plimsoll").joinpath("examples", "fastapi.json").read_text("utf-8"))[
        "messages"
    ]
    assert len(ContextCompressor(context_length=32_000).compress(example)) < len(
        example
    )  # reads the word lists
    assert threading.active_count() == 1, "a fork would leave its threads behind"
    gc.freeze()
    if asked := _serve(socket.socket(fileno=int(sys.argv[1]))):
        _become(asked)
        runpy.run_path(PLIMSOLL, run_name="__main__")


if __name__ == "__main__":
    main()
