"""A streamed reply of smolagents whose prompt the provider first finds too long; prints sizes and text."""

import json
from collections.abc import Iterator

from smolagents import ChatMessage, ChatMessageStreamDelta, MessageRole, Model

from plimsoll.integrations.smolagents import PlimsollModel

FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. " * 20


class Full(Model):
    """A model that refuses long prompts when it begins to stream."""

    def __init__(self) -> None:
        super().__init__(model_id="gpt-4.1")
        self.sizes: list[int] = []

    def generate_stream(self, messages: list[ChatMessage], **_: object) -> Iterator[ChatMessageStreamDelta]:
        self.sizes.append(len(messages))
        if len(messages) > 12:
            raise ValueError("This model's maximum context length is 6000 tokens.")
        yield ChatMessageStreamDelta(content="Pier ")
        yield ChatMessageStreamDelta(content="seven.")


full = Full()
model = PlimsollModel(full, window=100_000, protect_last_n=2)
roles = (MessageRole.USER, MessageRole.ASSISTANT)
history = [ChatMessage(roles[n % 2], [{"type": "text", "text": f"ship{n}: {FILLER}"}]) for n in range(21)]
said = "".join(delta.content or "" for delta in model.generate_stream(history))
print()
print(json.dumps({"sizes": full.sizes, "said": said}))
