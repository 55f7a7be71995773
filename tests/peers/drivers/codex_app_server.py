"""Codex's app server, which editors use: one thread in one process; `/compact` among the questions compacts it.

The app server is JSON-RPC on standard input and output, one message on each line.
"""

import json
import subprocess
from typing import Any

from task import read_task, write_answers

COMPACT = "/compact"


class AppServer:
    """A running `codex app-server`."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen(
            [program, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._asked = 0

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method; its result."""
        self._asked += 1
        self.write({"id": self._asked, "method": method, "params": params})
        while True:
            message = self.read()
            if message.get("id") == self._asked:
                if "error" in message:
                    raise SystemExit(f"{method}: {message}")
                result: dict[str, Any] = message["result"]
                return result

    def turn(self, method: str, **params: Any) -> list[dict[str, Any]]:
        """Run a turn to its end; the items that it completed."""
        self.call(method, **params)
        items = []
        while True:
            message = self.read()
            if message.get("method") == "item/completed":
                items.append(message["params"]["item"])
            elif message.get("method") == "turn/completed":
                turn = message["params"]["turn"]
                if turn["status"] != "completed":
                    raise SystemExit(f"{method}: {turn}")
                return items

    def write(self, message: dict[str, Any]) -> None:
        """Send one message."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next message."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"codex ended with {self._process.wait()}")
        message: dict[str, Any] = json.loads(line)
        return message

    def end(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()


task = read_task()
server = AppServer(task.program)
server.call("initialize", clientInfo={"name": "register", "title": "Register", "version": "1"})
server.write({"method": "initialized"})
started = server.call(
    "thread/start",
    model=task.model,
    cwd=str(task.folder),
    approvalPolicy="never",
    sandbox="danger-full-access",
)
thread = started["thread"]["id"]
answers = []
for question in task.questions:
    if question == COMPACT:
        items = server.turn("thread/compact/start", threadId=thread)
        answers += [item["type"] for item in items if item["type"] == "contextCompaction"]
    else:
        asked = [{"type": "text", "text": question, "text_elements": []}]
        items = server.turn("turn/start", threadId=thread, input=asked)
        answers.append([item["text"] for item in items if item["type"] == "agentMessage"][-1])
server.end()
write_answers(answers)
