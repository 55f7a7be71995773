"""Claude Code without a screen: ten turns in one process, then the next process continues the conversation."""

import json
import os
import subprocess

from task import Task, read_task, write_answers

TURNS_IN_ONE_PROCESS = 10
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTO_COMPACT": "1",
    "IS_SANDBOX": "1",
}
STREAMS = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]


def answers_of_one_process(task: Task, questions: list[str], is_first: bool) -> list[str]:
    """Ask one question after the other; the next one follows the result of the last."""
    environ = {**os.environ, **QUIET}
    command = [
        task.program,
        *task.commands[0][1:],
        "-p",
        *STREAMS,
        "--model",
        task.model,
        "--allowedTools",
        "Bash",
    ]
    answers = []
    with subprocess.Popen(
        command if is_first else [*command, "--continue"],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        for question in questions:
            message = {"role": "user", "content": [{"type": "text", "text": question}]}
            process.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                event = json.loads(line)
                if event["type"] == "result":
                    assert not event["is_error"], line
                    answers.append(str(event["result"]))
                    break
        process.stdin.close()
    return answers


task = read_task()
answers: list[str] = []
for start in range(0, len(task.questions), TURNS_IN_ONE_PROCESS):
    questions = task.questions[start : start + TURNS_IN_ONE_PROCESS]
    answers += answers_of_one_process(task, questions, is_first=start == 0)
write_answers(answers)
