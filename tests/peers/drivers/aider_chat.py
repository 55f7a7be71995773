"""aider without a screen: its questions on standard input; the answers come from its chat history."""

import os
import re
import subprocess

from task import read_task, write_answers

# aider summarises its own history beyond this many tokens; here the gateway keeps it small.
HISTORY_TOKENS = 1_000_000
OPTIONS = [
    "--no-git",
    "--no-pretty",
    "--no-fancy-input",
    "--no-check-update",
    "--no-show-model-warnings",
    "--no-show-release-notes",
    "--no-suggest-shell-commands",
    "--no-detect-urls",
    "--analytics-disable",
    "--yes-always",
    "--map-tokens=0",
]

task = read_task()
history = task.folder / "history.md"
# httpcore deadlocks if Python's garbage collector closes an abandoned stream of litellm while a new request holds the
# lock of the connection pool. aider is short-lived, so it runs without automatic collections.
(task.folder / "sitecustomize.py").write_text("import gc\n\ngc.disable()\n", "utf-8")
environ = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONPATH": str(task.folder)}
[command] = [command for command in task.commands if task.api in command[-1]]
done = subprocess.run(
    [
        task.program,
        *command[1:],
        *OPTIONS,
        f"--weak-model={task.api}/{task.model}",
        f"--max-chat-history-tokens={HISTORY_TOKENS}",
        f"--chat-history-file={history}",
    ],
    env=environ,
    input="\n".join([*task.questions, "/exit", ""]),
    capture_output=True,
    text=True,
    check=False,
)
if done.returncode != 0:
    raise SystemExit(done.stdout[-2000:] + done.stderr[-4000:])
# `#### ` precedes what the user said, `> ` what aider itself adds.
turns = re.split(r"^#### (?=ship)", history.read_text("utf-8"), flags=re.MULTILINE)[1:]
answers = []
for turn in turns:
    lines = [line for line in turn.splitlines()[1:] if line and not line.startswith((">", "#"))]
    answers.append("\n".join(line.rstrip() for line in lines))
write_answers(answers)
