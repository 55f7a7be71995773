"""LangChain's chat models, for either API."""

from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from task import SCHEMA, SYSTEM, lookup, read_task, write_answers

task = read_task()
names: dict[str, Any] = {}
for code in task.code:
    exec(code, names)
chat = names[task.api]
field = "model_name" if task.api == "openai" else "model"
chat = chat.model_copy(update={field: task.model, "max_retries": 0})
function = {"name": "lookup", "description": "Look up a ship.", "parameters": SCHEMA}
bound = chat.bind_tools([{"type": "function", "function": function}])
history: list[Any] = [SystemMessage(SYSTEM)]
answers = []
for question in task.questions:
    history.append(HumanMessage(question))
    while True:
        message = bound.invoke(history)
        history.append(message)
        if not message.tool_calls:
            break
        history += [
            ToolMessage(lookup(call["args"]["key"]), tool_call_id=call["id"]) for call in message.tool_calls
        ]
    answers.append(str(message.text))
write_answers(answers)
