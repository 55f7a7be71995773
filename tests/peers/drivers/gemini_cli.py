"""Gemini CLI without a screen: one question with `-p`, the others in one session over ACP.

ACP is JSON-RPC on standard input and output, one message on each line; editors talk to the CLI in it. `-p` takes one
question. `--resume` cannot follow a tool call: version 0.61 then sends each function response twice, which Google
rejects.
"""

import json
import os
import signal
import subprocess
from types import TracebackType
from typing import Any

from task import Task, read_task, write_answers


def ask_once(task: Task, question: str) -> str:
    """One process for one question."""
    command = [task.program, *task.commands[0][1:-1], question, *options(task), "-o", "stream-json"]
    done = subprocess.run(
        command, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"gemini ended with {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    said = ""
    for line in done.stdout.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("type") == "tool_use":
            said = ""  # what came before a call is not the answer
        elif event.get("type") == "message" and event["role"] == "assistant":
            said += event["content"]
    return said


def options(task: Task) -> list[str]:
    """What both ways of running need."""
    return ["-m", task.model, "--yolo", "--skip-trust"]


class Acp:
    """A running `gemini --acp`."""

    def __init__(self, task: Task) -> None:
        self._process = subprocess.Popen(
            [task.program, "--acp", *options(task)],
            cwd=project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._asked = 0
        self.said = ""

    def __enter__(self) -> "Acp":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)  # the CLI runs in a child of what was started
        self._process.wait()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method; what the CLI says meanwhile is kept in `said`."""
        self._asked += 1
        self._write({"id": self._asked, "method": method, "params": params})
        assert self._process.stdout
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("method") == "session/update":
                self._heard(message["params"]["update"])
            elif "method" in message:
                raise SystemExit(f"gemini wants an answer: {line}")
            elif message.get("id") == self._asked:
                if "error" in message:
                    raise SystemExit(f"{method}: {line}")
                result: dict[str, Any] = message["result"] or {}
                return result
        raise SystemExit(f"gemini ended with {self._process.wait()} during {method}")

    def _heard(self, update: dict[str, Any]) -> None:
        if update["sessionUpdate"] == "tool_call":
            self.said = ""
        elif update["sessionUpdate"] == "agent_message_chunk":
            self.said += update["content"]["text"]

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


task = read_task()
project = task.folder / "project"  # the CLI tells the model which files are there
project.mkdir()
# On a terminal of its own, the CLI may miss the end of a command's output.
settings = task.folder / "system-settings.json"
settings.write_text(json.dumps({"tools": {"shell": {"enableInteractiveShell": False}}}), "utf-8")
os.environ["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] = str(settings)
answers = [ask_once(task, task.questions[0])]
with Acp(task) as acp:
    acp.call("initialize", protocolVersion=1, clientCapabilities={})
    session = acp.call("session/new", cwd=str(project), mcpServers=[])["sessionId"]
    for question in task.questions[1:]:
        acp.said = ""
        acp.call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": question}])
        answers.append(acp.said)
write_answers(answers)
