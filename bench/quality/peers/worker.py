"""One peer in a process of its own: JSON lines in, JSON lines out.

    {"id", "messages", "window", "budget", "summary", "summary_fault"}
        ──► {"id", "messages", "seconds", "summary_calls", "error", "version"}

python worker.py NAME, started with that peer's own interpreter. Needs the standard library and the peer.
`"op": "round_trip"` only converts to the peer's types and back. What a peer prints goes to stderr; a peer that raises
answers with the conversation as it was and the error. No name is looked up, so no peer reaches the network.
"""

import copy
import importlib
import importlib.metadata
import json
import os
import socket
import sys
import time
from types import ModuleType
from typing import Any, TextIO

from pins import distribution_of
from script import Script
from sizing import chars, fitted, tokens

MODULES = {"pydantic-ai": "pydantic_ai", "agent-framework": "agent_framework"}


def answer(adapter: ModuleType, version: str, request: dict[str, Any]) -> dict[str, Any]:
    """Do what one request asks."""
    messages: list[dict[str, Any]] = request["messages"]
    result, error = messages, None
    script = Script(request.get("summary"), request.get("summary_fault"), chars(messages))
    # Noted for each attempt: corrections of the tail are ours, and only the one that is handed back counts.
    notes: dict[int, tuple[float, list[dict[str, int]]]] = {}

    def attempt(tail: int | None) -> list[dict[str, Any]]:
        script.calls = []
        started = time.perf_counter()
        made = messages
        try:
            made = adapter.compact(copy.deepcopy(messages), request.get("window") or 64_000, tail, script)
        finally:
            notes[id(made)] = (time.perf_counter() - started, script.calls)
        return made

    try:
        if request.get("op") == "round_trip":
            result = adapter.round_trip(copy.deepcopy(messages))
        elif request.get("budget") is None:
            result = attempt(None)
        else:
            system = tokens([m for m in messages if m["role"] == "system"])
            summary = len(script.text) // 4 if script.has_model else 0
            result = fitted(attempt, request["budget"] - system - summary, request["budget"])
    except Exception as caught:  # a peer may raise anything; the benchmark must go on and say what
        error = f"{type(caught).__name__}: {caught}"[:2_000]
    seconds, calls = notes.get(id(result), (0.0, []))
    return {
        "id": request.get("id"),
        "messages": result,
        "seconds": seconds,
        "summary_calls": calls,
        "error": error,
        "version": version,
    }


def serve(name: str, requests: TextIO, answers: TextIO) -> None:
    """Answer line after line until the other side closes."""
    adapter = importlib.import_module(f"adapters.{MODULES.get(name, name)}")
    version = importlib.metadata.version(distribution_of(name)[0])
    for line in requests:
        if line.strip():
            answers.write(json.dumps(answer(adapter, version, json.loads(line))) + "\n")
            answers.flush()


def refuse_lookup(host: object, *_: object, **__: object) -> list[Any]:
    """In the place of the name service."""
    raise socket.gaierror(f"the benchmark has no network, and {host!r} was asked for")


def main() -> None:
    """Keep the real stdout for answers, whatever the peer prints."""
    socket.getaddrinfo = refuse_lookup
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    serve(sys.argv[1], sys.stdin, answers)


if __name__ == "__main__":
    main()
