"""How much a summary model may write where the conversation has a size to keep to."""

import pytest

from plimsoll import ContextCompressor
from plimsoll.messages import Message


class Counting:
    """A summary model that keeps how much it may write."""

    context_length = 200_000

    def __init__(self) -> None:
        self.room: list[int] = []

    def summarize(self, prompt: str, max_tokens: int) -> str:
        """A short summary."""
        del prompt
        self.room.append(max_tokens)
        return "## Goal\n- Look things up.\n## Progress\n### Done\n- Looked up many records."


def conversation(result: int) -> list[Message]:
    messages: list[Message] = [
        {"role": "system", "content": "You look things up."},
        {"role": "user", "content": "Look up the records."},
    ]
    for number in range(60):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "look", "arguments": f'{{"record": {number}}}'},
        }
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append(
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"record {number} " * result}
        )
    return messages


@pytest.mark.parametrize("result", [100, 400, 1_000])
@pytest.mark.parametrize("options", [{"target_tokens": 11_000}, {"lean": True}], ids=["target", "lean"])
def test_recent_messages_that_do_not_fit_the_target_take_no_room_from_a_models_summary(
    result: int, options: dict[str, int]
) -> None:
    model = Counting()
    engine = ContextCompressor(context_length=64_000, summarizer=model, **options)
    engine.compress(conversation(result))
    assert engine.last_report is not None
    assert engine.last_report.summary_source == "model"
    assert min(model.room) >= 1_000
