"""LiteLLM's SDK, for either API."""

import json
import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # read while it is imported; else it asks the network

import litellm
from task import SCHEMA, SYSTEM, lookup, read_task, write_answers

task = read_task()
url = task.openai_url if task.api == "openai" else task.url
function = {"name": "lookup", "description": "Look up a ship.", "parameters": SCHEMA}
tool: Any = {"type": "function", "function": function}
history: list[Any] = [{"role": "system", "content": SYSTEM}]
answers = []
for question in task.questions:
    history.append({"role": "user", "content": question})
    while True:
        reply = litellm.completion(
            model=f"{task.api}/{task.model}",
            messages=history,
            tools=[tool],
            api_base=url,
            api_key="any",
            num_retries=0,
        )
        message = reply.choices[0].message
        history.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            result = lookup(json.loads(call.function.arguments)["key"])
            history.append({"role": "tool", "tool_call_id": call.id, "content": result})
    answers.append(str(message.content))
write_answers(answers)
