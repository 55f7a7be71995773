"""The `llm` command: one chat with a tool, its questions on standard input; the answers come from its log."""

import inspect
import json
import subprocess

from task import FILLER, SYSTEM, lookup, read_task, write_answers

task = read_task()
functions = f"FILLER = {FILLER!r}\n\n{inspect.getsource(lookup)}"
chat = [task.program, *task.commands[0][1:], "--system", SYSTEM, "--functions", functions]
done = subprocess.run(
    chat,
    input="\n".join([*task.questions, "exit", ""]),
    capture_output=True,
    text=True,
    check=False,
)
if done.returncode != 0:
    raise SystemExit(done.stdout[-2000:] + done.stderr)
logs = subprocess.run([task.program, "logs", "-n", "0", "--json"], capture_output=True, text=True, check=True)
logged = sorted(json.loads(logs.stdout), key=lambda entry: str(entry["id"]))
write_answers([entry["response"] for entry in logged if not entry["tool_calls"]])
