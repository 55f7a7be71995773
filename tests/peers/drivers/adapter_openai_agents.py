"""The OpenAI Agents SDK over Responses, with a session that an archive stores."""

import asyncio

from adapter_task import AdapterTask, lookup, write_result
from agents import Runner, function_tool

task = AdapterTask()


async def main() -> None:
    names = task.run_code(lookup=function_tool(lookup))
    agent, session, config, hooks = (names[name] for name in ("agent", "session", "config", "hooks"))
    answers = []
    for question in task.questions:
        done = await Runner.run(agent, question, session=session, run_config=config, hooks=hooks)
        answers.append(str(done.final_output))
    items = await session.get_items()
    last = await session.pop_item()
    assert last == items[-1]
    assert await session.get_items(limit=3) == items[-4:-1]
    await session.add_items([last])
    assert await session.get_items() == items
    write_result(answers, "\n".join(str(item.get("content") or item.get("output") or "") for item in items))


asyncio.run(main())
