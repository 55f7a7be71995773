"""OpenAI's SDK: streams with tools, whole history kept by hand."""

import json
import os
from typing import Any

import openai
from task import SCHEMA, SYSTEM, lookup, read_task, write_answers

task = read_task()
function = {"name": "lookup", "description": "Look up a ship.", "parameters": SCHEMA}
tool: Any = {"type": "function", "function": function}
history: list[Any] = [{"role": "system", "content": SYSTEM}]
answers = []
# OPENAI_BASE_URL, which the recipe sets, or else the address of the task.
client = openai.OpenAI(base_url=os.environ.get("OPENAI_BASE_URL", task.openai_url), max_retries=0)
for question in task.questions:
    history.append({"role": "user", "content": question})
    while True:
        with client.chat.completions.stream(model=task.model, messages=history, tools=[tool]) as stream:
            message = stream.get_final_completion().choices[0].message
        history.append(message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            result = lookup(json.loads(call.function.arguments)["key"])
            history.append({"role": "tool", "tool_call_id": call.id, "content": result})
    answers.append(str(message.content))
write_answers(answers)
