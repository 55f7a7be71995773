"""A smolagents agent that writes code with a call of `compact_context`; prints what the call returned."""

import json

from smolagents import ChatMessage, CodeAgent, LogLevel, MessageRole, Model

from plimsoll.integrations.smolagents import PlimsollModel


class Coder(Model):
    """A model that always writes the same code."""

    def generate(self, messages: list[ChatMessage], **_: object) -> ChatMessage:
        """The code."""
        code = 'final_answer(compact_context(focus="ships"))'
        return ChatMessage(MessageRole.ASSISTANT, f"<code>\n{code}\n</code>")


model = PlimsollModel(Coder(model_id="gpt-4.1"), window=10_000)
agent = CodeAgent(tools=model.tools, model=model, verbosity_level=LogLevel.OFF)
said = agent.run("Compact.")
print()
print(json.dumps(said))
