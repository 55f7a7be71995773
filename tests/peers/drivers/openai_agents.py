"""The OpenAI Agents SDK: over Responses, which is its default, or over chat completions."""

from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_default_openai_client,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from task import SYSTEM, lookup, read_task, write_answers

task = read_task()
set_tracing_disabled(True)
client = AsyncOpenAI(base_url=task.openai_url, api_key="any", max_retries=0)
set_default_openai_client(client, use_for_tracing=False)
chat = OpenAIChatCompletionsModel(model=task.model, openai_client=client)
model: Any = task.model if task.api == "responses" else chat
agent = Agent(name="register", instructions=SYSTEM, tools=[function_tool(lookup)], model=model)
history: list[Any] = []
answers = []
for question in task.questions:
    done = Runner.run_sync(agent, [*history, {"role": "user", "content": question}])
    history = done.to_input_list()
    answers.append(str(done.final_output))
write_answers(answers)
