"""Inspect's react agent with our compaction strategy, on OpenAI's API, in an evaluation of one sample."""

from functools import partial
from typing import Any

import inspect_ai.agent
import tiktoken
from adapter_task import AdapterTask, write_result
from adapter_task import lookup as look_up
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.tool import tool


@tool
def lookup() -> Any:
    """Inspect's form of the tool."""

    async def execute(key: str) -> str:
        """Look up a ship in the register.

        Args:
            key: the name of the ship
        """
        return look_up(key)

    return execute


class Characters:
    """Counts tokens without the vocabulary that tiktoken would download."""

    def encode(self, text: str, **_: Any) -> list[int]:
        """As many numbers as tokens."""
        return [0] * (len(text) // 4 + 1)


tiktoken.encoding_for_model = tiktoken.get_encoding = lambda name: Characters()
task = AdapterTask()
answers: list[str] = []


async def ask_next(state: Any) -> bool | str:
    """The next question of the same run, when the model has answered one."""
    if state.output.message.tool_calls:
        return True
    answers.append(state.output.completion)
    return task.questions[len(answers)] if len(answers) < len(task.questions) else False


inspect_ai.agent.react = partial(inspect_ai.agent.react, on_continue=ask_next)
model = get_model(f"openai/{task.model}", base_url=f"{task.url}/v1", api_key="any", responses_api=False)
example = task.run_code(model=model, lookup=lookup())
task.record(example["strategy"])
sample = Sample(input=task.questions[0])
log = eval(Task(dataset=[sample], solver=example["agent"]), model=model, display="none", log_dir="logs")[0]
assert log.status == "success", log.error
write_result(answers, [one.model_dump(mode="json") for one in log.samples[0].messages])
