"""LiteLLM's SDK; the caller keeps the history."""

import asyncio
import json
from typing import Any

import litellm
from adapter_task import AdapterTask, lookup, write_result

SCHEMA = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "lookup", "description": "Look up a ship.", "parameters": SCHEMA},
    }
]
task = AdapterTask()


async def main() -> None:
    ask = task.run_code()["ask"]
    history: list[dict[str, Any]] = [{"role": "system", "content": "You answer questions about ships."}]
    answers = []
    for question in task.questions:
        history.append({"role": "user", "content": question})
        while True:
            message = (await ask(messages=list(history), tools=TOOLS)).choices[0].message
            said: dict[str, Any] = {"role": "assistant", "content": message.content}
            calls = [call.model_dump() for call in message.tool_calls or []]
            history.append({**said, "tool_calls": calls} if calls else said)
            if not calls:
                break
            for call in calls:
                result = lookup(json.loads(call["function"]["arguments"])["key"])
                history.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        answers.append(str(message.content))
    write_result(answers, history)


litellm.suppress_debug_info = True
asyncio.run(main())
