"""LangChain's agent, asked in turn with `invoke` and with `ainvoke`."""

import asyncio
from typing import Any

from adapter_task import AdapterTask, lookup, write_result

task = AdapterTask()
agent = task.run_code(lookup=lookup)["agent"]
state: dict[str, Any] = {"messages": []}
answers = []
with asyncio.Runner() as runner:
    for number, question in enumerate(task.questions):
        state["messages"] = [*state["messages"], {"role": "user", "content": question}]
        state = runner.run(agent.ainvoke(state)) if number % 2 else agent.invoke(state)
        answers.append(str(state["messages"][-1].text))
write_result(answers, "\n".join(str(message.text) for message in state["messages"]))
