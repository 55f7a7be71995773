"""Anthropic's SDK: streams with tools, whole history kept by hand."""

import os
from typing import Any

import anthropic
from task import SCHEMA, SYSTEM, lookup, read_task, write_answers

task = read_task()
tool: Any = {"name": "lookup", "description": "Look up a ship.", "input_schema": SCHEMA}
history: list[Any] = []
answers = []
# ANTHROPIC_BASE_URL, which the recipe sets, or else the address of the task.
address = os.environ.get("ANTHROPIC_BASE_URL", task.url)
client = anthropic.Anthropic(base_url=address, api_key="any", max_retries=0)
for question in task.questions:
    history.append({"role": "user", "content": question})
    while True:
        with client.messages.stream(
            model=task.model, max_tokens=300, system=SYSTEM, messages=history, tools=[tool]
        ) as stream:
            message = stream.get_final_message()
        history.append({"role": "assistant", "content": message.content})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": lookup(str(block.input["key"]))}
            for block in message.content
            if block.type == "tool_use"
        ]
        if not results:
            break
        history.append({"role": "user", "content": results})
    answers.append("".join(block.text for block in message.content if block.type == "text"))
write_answers(answers)
