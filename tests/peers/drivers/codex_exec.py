"""Codex CLI without a screen: `codex exec`, then `codex exec resume` for each further turn."""

import json
import subprocess

from task import Task, read_task, write_answers

OPTIONS = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]


def run_turn(task: Task, command: list[str]) -> list[dict[str, object]]:
    """One process; the events that it printed."""
    done = subprocess.run(
        [task.program, *command[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or not any(event["type"] == "turn.completed" for event in events):
        raise SystemExit(f"codex ended with {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return events


task = read_task()
first, further = task.commands
answers = []
for number, question in enumerate(task.questions):
    events = run_turn(task, [*(further if number else first)[:-1], *OPTIONS, "-m", task.model, question])
    said = [event["item"] for event in events if event["type"] == "item.completed"]
    texts = [item["text"] for item in said if item["type"] == "agent_message"]  # type: ignore[index]
    answers.append(texts[-1])
write_answers(answers)
