"""The benchmark's side of a worker: one process per peer, asked in turn.

    with Peer("langchain") as peer:
        answer = peer.compact(messages, window=64_000, summary="## Goal …")

A worker has a home directory of its own that is thrown away, no keys and no network settings, so that a peer finds
neither a person's configuration nor a way out. One that is silent for too long is ended and started anew.
"""

import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any, Self

from pins import INSTALL, PINS, python_of

HERE = Path(__file__).resolve().parent
PATIENCE = 180.0
QUIET = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LANGSMITH_TRACING": "false",
    "OTEL_SDK_DISABLED": "true",
    "PYTHONWARNINGS": "ignore",
    "PYTHONIOENCODING": "utf-8",
}


class Peer:
    """One running worker."""

    def __init__(self, name: str, patience: float = PATIENCE) -> None:
        if name not in PINS:
            raise ValueError(f"No peer is called {name!r}; there are {', '.join(PINS)}.")
        if not python_of(name).exists():
            raise FileNotFoundError(f"{PINS[name]} is not installed; run: {INSTALL}")
        self.name, self.patience = name, patience
        self._home = tempfile.mkdtemp(prefix=f"peer-{name}-")
        self._number = 0
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def compact(
        self,
        messages: list[dict[str, Any]],
        window: int = 64_000,
        budget: int | None = None,
        summary: str | None = None,
        summary_fault: str | None = None,
    ) -> dict[str, Any]:
        """The worker's answer to one compaction."""
        return self.ask(
            {
                "messages": messages,
                "window": window,
                "budget": budget,
                "summary": summary,
                "summary_fault": summary_fault,
            }
        )

    def round_trip(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """The messages after a conversion to the peer's own types and back."""
        return self.ask({"op": "round_trip", "messages": messages})

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send one request and wait for its answer; a worker that died or hangs answers with an error."""
        process = self._running()
        self._number += 1
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"id": self._number, **request}) + "\n")
            process.stdin.flush()
            line = self._answers.get(timeout=self.patience)
        except (BrokenPipeError, queue.Empty) as caught:
            line = None
            error = (
                f"no answer within {self.patience:.0f} s" if isinstance(caught, queue.Empty) else "it ended"
            )
        else:
            error = "it ended"
        if line is not None:
            answer: dict[str, Any] = json.loads(line)
            return answer
        noise = Path(self._home, "stderr.txt").read_text("utf-8", "replace")[-500:]
        self._end()
        return {
            "id": self._number,
            "messages": request["messages"],
            "seconds": self.patience,
            "summary_calls": [],
            "error": f"worker {self.name}: {error}; {noise}",
            "version": PINS[self.name].partition("==")[2],
        }

    def close(self) -> None:
        """End the worker and remove its home."""
        self._end()
        shutil.rmtree(self._home, ignore_errors=True)

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        kept = {
            key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE") if key in os.environ
        }
        with Path(self._home, "stderr.txt").open("a", encoding="utf-8") as noise:
            self._process = subprocess.Popen(
                [str(python_of(self.name)), str(HERE / "worker.py"), self.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=noise,
                text=True,
                encoding="utf-8",
                cwd=self._home,
                env={**kept, **QUIET, "HOME": self._home, "HERMES_HOME": self._home},
            )
        self._answers = queue.Queue()
        threading.Thread(target=_read, args=(self._process, self._answers), daemon=True).start()
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.kill()
        process.wait()
        process.stdin.close()


def _read(process: subprocess.Popen[str], answers: "queue.Queue[str | None]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        answers.put(line)
    answers.put(None)
