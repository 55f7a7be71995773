"""Screenshots of a computer tool are images for every provider."""

from typing import Any

from plimsoll.context.media_budget import after_rejection
from plimsoll.dialects import ANTHROPIC, RESPONSES
from plimsoll.models import estimate_messages_tokens_rough
from plimsoll.models.media import pixel_size

# A PNG of 1024 x 768, as far as its header says, and a megabyte.
IMAGE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAABAAAAAMACAYAAAC6uhUNAAAA" + "abcd" * 300_000
CALL = {"type": "computer_call", "id": "cu_1", "call_id": "c1", "action": {"type": "screenshot"}}
OUTPUT: dict[str, Any] = {
    "type": "computer_call_output",
    "call_id": "c1",
    "output": {"type": "computer_screenshot", "image_url": IMAGE},
}
BODY = {"model": "gpt-5.5", "input": [{"role": "user", "content": "Look."}, CALL, OUTPUT]}


def test_a_screenshot_costs_the_tokens_of_an_image() -> None:
    assert estimate_messages_tokens_rough(RESPONSES.decode_request(BODY).messages) < 2_000


def test_a_screenshot_is_returned_unchanged() -> None:
    assert RESPONSES.encode_request(RESPONSES.decode_request(BODY))["input"][1:] == [CALL, OUTPUT]


def test_another_provider_gets_the_screenshot_as_an_image_in_the_result() -> None:
    messages = ANTHROPIC.encode_request(RESPONSES.decode_request(BODY))["messages"]
    (result,) = messages[-1]["content"]
    assert [block["type"] for block in result["content"]] == ["image"]
    assert result["content"][0]["source"]["data"] == IMAGE.partition(",")[2]


def test_a_screenshot_that_is_removed_leaves_an_output_that_is_still_an_image() -> None:
    newer = [{"role": "assistant", "content": "A desktop."}, {"role": "user", "content": "And now?"}]
    request = RESPONSES.decode_request({**BODY, "input": [*BODY["input"], *newer]})
    reduced = after_rejection(request.messages)
    assert reduced is not None
    (item,) = RESPONSES.written([reduced[2]], "gpt-5.5")
    assert item.keys() == OUTPUT.keys()
    assert item["output"]["type"] == "computer_screenshot"
    assert pixel_size(item["output"]["image_url"]) == (1, 1)
