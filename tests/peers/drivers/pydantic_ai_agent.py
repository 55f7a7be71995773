"""A Pydantic AI agent, for each API, with the message history of its last run."""

import os
from typing import Any

from pydantic_ai import Agent
from task import SYSTEM, lookup, read_task, write_answers

task = read_task()
if task.api == "responses":
    os.environ["OPENAI_BASE_URL"] = task.openai_url
    model: Any = f"openai:{task.model}"  # by name, its default
elif task.api == "openai":
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(task.model, provider=OpenAIProvider(base_url=task.openai_url, api_key="any"))
else:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    model = AnthropicModel(task.model, provider=AnthropicProvider(base_url=task.url, api_key="any"))
agent = Agent(model, system_prompt=SYSTEM)
agent.tool_plain(lookup)
history: list[Any] = []
answers = []
for question in task.questions:
    done = agent.run_sync(question, message_history=history)
    history = done.all_messages()
    answers.append(str(done.output))
write_answers(answers)
