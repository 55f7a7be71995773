"""A memory that goes through a workflow's stored Context: written as JSON, read, and written down."""

import json
import pickle
import sys

from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ToolCallBlock
from llama_index.core.workflow import JsonSerializer

from plimsoll.integrations.llama_index import PlimsollMemory

json.load(sys.stdin)


def lookup(key: str) -> str:
    """Look up a ship in the register."""
    return key


memory = PlimsollMemory(
    window=8_000,
    threshold=0.4,
    owner="key:seven",
    recall=True,
    system_prompt="You know ships.",
    tools=[lookup],
)
memory.put(ChatMessage(role="user", blocks=[TextBlock(text="See this."), ImageBlock(image=b"pixels")]))
memory.put(
    ChatMessage(
        role="assistant", blocks=[ToolCallBlock(tool_call_id="c1", tool_name="lookup", tool_kwargs={})]
    )
)
memory.put(ChatMessage(role="tool", content="pier 4", additional_kwargs={"tool_call_id": "c1"}))

serializer = JsonSerializer()
restored = {
    "json": serializer.deserialize(serializer.serialize(memory)),
    "pickle": pickle.loads(pickle.dumps(memory)),
}
found = {
    name: {
        "type": type(one).__name__,
        "same": {
            "messages": one.get_all() == memory.get_all(),
            "view": one.get() == memory.get(),
            "schemas": one.tool_schemas == memory.tool_schemas,
            "options": one.history.options == memory.history.options,
        },
        "messages": len(one.get_all()),
        "system": one.get()[0].content,
        "owner": one.history.options.owner,
    }
    for name, one in restored.items()
}
secret = PlimsollMemory(archive="postgresql://me:hunter2@127.0.0.1/archive")
found["stored_password"] = "hunter2" in serializer.serialize(secret)
print()
print(json.dumps(found), flush=True)
