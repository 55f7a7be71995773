"""Microsoft Agent Framework with our strategy, on OpenAI's API; the session keeps the history."""

import asyncio

from adapter_task import AdapterTask, lookup, write_result
from agent_framework import tool
from agent_framework.openai import OpenAIChatCompletionClient

task = AdapterTask()
client = OpenAIChatCompletionClient(model=task.model, base_url=f"{task.url}/v1", api_key="any")
example = task.run_code(client=client, lookup=tool(lookup))
task.record(example["strategy"])


async def main() -> None:
    agent = example["agent"]
    session = agent.create_session()
    answers = [(await agent.run(question, session=session)).text for question in task.questions]
    write_result(answers, session.to_dict())


asyncio.run(main())
