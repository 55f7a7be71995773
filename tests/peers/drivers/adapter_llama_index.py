"""LlamaIndex's function agent; its memory is handed on from turn to turn."""

import asyncio

from adapter_task import AdapterTask, lookup, write_result

task = AdapterTask()


async def main() -> None:
    names = task.run_code(lookup=lookup)
    agent, memory = names["agent"], names["memory"]
    answers = [str(await agent.run(question, memory=memory)) for question in task.questions]
    write_result(answers, "\n".join(str(message.content) for message in memory.get_all()))


asyncio.run(main())
