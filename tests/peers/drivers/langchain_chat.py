"""LangChain's chat models, for either API."""

from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from task import SCHEMA, SYSTEM, lookup, read_task, write_answers

task = read_task()
if task.api == "openai":
    from langchain_openai import ChatOpenAI

    chat: Any = ChatOpenAI(base_url=task.openai_url, api_key="any", model=task.model, max_retries=0)
else:
    from langchain_anthropic import ChatAnthropic

    chat = ChatAnthropic(base_url=task.url, api_key="any", model=task.model, max_tokens=300, max_retries=0)
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
