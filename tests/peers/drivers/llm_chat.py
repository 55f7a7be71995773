"""The `llm` command: one chat with a tool, its questions on standard input; the answers come from its log."""

import inspect
import json
import os
import subprocess

from task import FILLER, SYSTEM, lookup, read_task, write_answers

task = read_task()
settings = task.folder / "llm"
settings.mkdir()
model = {
    "model_id": "register",
    "model_name": task.model,
    "api_base": task.openai_url,
    "supports_tools": True,
}
(settings / "extra-openai-models.yaml").write_text(json.dumps([model]), "utf-8")  # JSON is YAML
environ = {**os.environ, "LLM_USER_PATH": str(settings), "OPENAI_API_KEY": "any"}
functions = f"FILLER = {FILLER!r}\n\n{inspect.getsource(lookup)}"
chat = [task.program, "chat", "-m", "register", "--system", SYSTEM, "--functions", functions]
done = subprocess.run(
    chat,
    env=environ,
    input="\n".join([*task.questions, "exit", ""]),
    capture_output=True,
    text=True,
    check=False,
)
if done.returncode != 0:
    raise SystemExit(done.stdout[-2000:] + done.stderr)
logs = subprocess.run(
    [task.program, "logs", "-n", "0", "--json"], env=environ, capture_output=True, text=True, check=True
)
logged = sorted(json.loads(logs.stdout), key=lambda entry: str(entry["id"]))
write_answers([entry["response"] for entry in logged if not entry["tool_calls"]])
