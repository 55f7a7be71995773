"""Two Strands agents with one manager, and a model that refuses prompts in words that no provider uses.

result   the sizes of the requests of each agent, and how its last two invocations ended, the last line of the output
"""

import json
from typing import Any

from strands import Agent
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException

from plimsoll.integrations.strands import PlimsollConversationManager

FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. " * 30


class FullModel(Model):
    """Refuses the next `refusals` requests, then answers."""

    def __init__(self) -> None:
        self.refusals = 0
        self.sizes: list[int] = []

    def update_config(self, **_: Any) -> None:
        """Nothing to configure."""

    def get_config(self) -> dict[str, Any]:
        return {"model_id": "full"}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
        self.sizes.append(len(messages))
        if self.refusals:
            self.refusals -= 1
            raise ContextWindowOverflowException("No room.")
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": "Yes."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def ask(agent: Any) -> str:
    """How an invocation ends."""
    try:
        return str(agent(f"And this one? {FILLER}")).strip()
    except ContextWindowOverflowException as error:
        return str(error)


manager = PlimsollConversationManager(window=10_000, protect_last_n=2)
models = [FullModel(), FullModel()]
agents = [
    Agent(model=model, system_prompt="Be brief.", conversation_manager=manager, callback_handler=None)
    for model in models
]
for _ in range(6):
    for agent in agents:
        ask(agent)
models[0].refusals = 2  # the second attempt is refused too, so the invocation fails
ended = [ask(agents[0]), ask(agents[1])]
models[0].refusals = 1
ended += [ask(agents[0]), ask(agents[1])]
print()
print(json.dumps({"sizes": [model.sizes for model in models], "ended": ended}), flush=True)
