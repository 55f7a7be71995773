"""opencode without a screen: `opencode serve`, restarted halfway; the conversation continues."""

import json
import os
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from task import Task, read_task, write_answers

QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
}
PROVIDERS = {"openai": "plimsoll", "anthropic": "plimsoll-anthropic"}  # of the recipe


def settings_of(task: Task) -> dict[str, object]:
    """Beside the recipe: which of its providers to use; opencode's own compaction is off."""
    provider = PROVIDERS[task.api]
    return {
        "enabled_providers": [provider],
        "model": f"{provider}/{task.model}",
        "small_model": f"{provider}/{task.model}",
        "compaction": {"auto": False, "prune": False},
        "permission": {"bash": "allow"},
        "share": "disabled",
        "autoupdate": False,
    }


@contextmanager
def serving(task: Task) -> Iterator[str]:
    """A server of opencode's; its address."""
    environ = {**os.environ, **QUIET, "OPENCODE_CONFIG_CONTENT": json.dumps(settings_of(task))}
    command = [task.program, "serve", "--hostname", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            for line in process.stdout:
                if found := re.search(r"listening on (http://127\.0\.0\.1:\d+)", line):
                    yield found[1]
                    return
            raise SystemExit("opencode did not start")
        finally:
            process.terminate()


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """Ask opencode's server."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as response:
        answered: dict[str, Any] = json.loads(response.read())
    return answered


def ask(task: Task, url: str, session: str, question: str) -> str:
    """One turn; the text of its last message."""
    model = {"providerID": PROVIDERS[task.api], "modelID": task.model}
    body = {"model": model, "parts": [{"type": "text", "text": question}]}
    message = post(f"{url}/session/{session}/message", body)
    if message["info"].get("error"):
        raise SystemExit(json.dumps(message["info"]["error"]))
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text").strip()


task = read_task()
half = len(task.questions) // 2
with serving(task) as url:
    session = str(post(f"{url}/session", {})["id"])
    answers = [ask(task, url, session, question) for question in task.questions[:half]]
with serving(task) as url:
    answers += [ask(task, url, session, question) for question in task.questions[half:]]
write_answers(answers)
