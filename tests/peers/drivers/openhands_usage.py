"""Two OpenHands conversations with one model: the counts that the condenser reports for each, the last line."""

import json
import os
from typing import Any

os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1"}

from openhands.sdk import LLM
from openhands.sdk.context.view import View
from openhands.sdk.event import MessageEvent
from openhands.sdk.llm import Message, TextContent
from openhands.sdk.llm.utils.metrics import TokenUsage

from plimsoll.integrations.openhands import PlimsollCondenser

llm = LLM(model="openai/gpt-4.1", api_key="any")
condenser = PlimsollCondenser(window=10_000)
counts: list[Any] = []
view = condenser.history.view


def said(role: str, text: str, reply: str | None = None) -> MessageEvent:
    """A message of a conversation."""
    message = Message(role=role, content=[TextContent(text=text)])
    source = "agent" if reply else "user"
    return MessageEvent(source=source, llm_message=message, llm_response_id=reply)


def counted(*given: Any, **asked: Any) -> Any:
    counts.append(asked["reported"])
    return view(*given, **asked)


condenser.history.view = counted
logs = {name: [said("user", f"Where does {name} lie?")] for name in ("first", "second")}
for log in logs.values():
    condenser.condense(View(events=log), llm)
for tokens, (name, log) in enumerate(logs.items(), start=1):
    llm.metrics.token_usages.append(TokenUsage(prompt_tokens=tokens * 100, response_id=name))
    log += [said("assistant", "At pier 7.", name), said("user", "And now?")]
for log in logs.values():
    condenser.condense(View(events=log), llm)
print()
print(json.dumps(counts))
