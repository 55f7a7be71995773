"""OpenHands with our condenser, on OpenAI's API."""

import os
import tempfile

os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1"}

from adapter_task import AdapterTask, lookup, write_result
from openhands.sdk import (
    LLM,
    Action,
    Conversation,
    Observation,
    TextContent,
    Tool,
    ToolDefinition,
    register_tool,
)
from openhands.sdk.event import MessageEvent
from openhands.sdk.tool import ToolExecutor
from pydantic import Field, SecretStr


class LookupAction(Action):
    """A question about a ship."""

    key: str = Field(description="the name of the ship")


class LookupObservation(Observation):
    """What the register says."""


class LookupExecutor(ToolExecutor):
    """Asks the register."""

    def __call__(self, action: LookupAction, conversation: object = None) -> LookupObservation:
        return LookupObservation(content=[TextContent(text=lookup(action.key))])


class LookupTool(ToolDefinition[LookupAction, LookupObservation]):
    """OpenHands' form of the tool."""

    name = "lookup"

    @classmethod
    def create(cls, conv_state: object = None) -> list["LookupTool"]:
        return [
            cls(
                description="Look up a ship in the register.",
                action_type=LookupAction,
                observation_type=LookupObservation,
                executor=LookupExecutor(),
            )
        ]


task = AdapterTask()
register_tool("lookup", LookupTool)
llm = LLM(
    model=f"openai/{task.model}",
    base_url=f"{task.url}/v1",
    api_key=SecretStr("any"),
    usage_id="agent",
    max_output_tokens=1_000,  # by default it wants more than the small window has
)
example = task.run_code(llm=llm, lookup=Tool(name="lookup"))
task.record(example["condenser"])
answers = []
with tempfile.TemporaryDirectory() as folder:
    conversation = Conversation(agent=example["agent"], workspace=folder, visualizer=None)
    for question in task.questions:
        conversation.send_message(question)
        conversation.run()
        said = [
            one
            for one in conversation.state.events
            if isinstance(one, MessageEvent) and one.source == "agent"
        ]
        answers.append("".join(part.text for part in said[-1].llm_message.content))
    write_result(answers, [one.model_dump(mode="json") for one in conversation.state.events])
