"""Anthropic's rules for the conversation: roles, empty content, tool pairs, thinking."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from plimsoll.dialects.blocks.assistant import THINKING_TYPES
from plimsoll.messages.untyped import object_of, objects_in
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.images import anthropic_images
from plimsoll.testing.scripted_server.rules.refusal import Refusal, bad

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_NO_PREFILL = re.compile(r"(?:opus|sonnet|haiku|fable|mythos)[-.]?(?:4[-.][6-9]|[5-9])(?!\d)")
_INLINE_SYSTEM = re.compile(r"(?:opus|sonnet|haiku|fable|mythos)[-.]?(?:4[-.][89]|[5-9])(?!\d)")
_BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or "
    'set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)


def history_refusals(checked: CheckedRequest) -> Iterator[Refusal]:
    """The errors in the conversation."""
    messages: list[dict[str, Any]] = checked.body["messages"]
    yield from _roles(messages, checked)
    yield from _empty(messages, checked.body.get("system"))
    yield from _calls(messages)
    yield from _pairs(messages)
    yield from _thinking(messages, checked)
    yield from anthropic_images(messages)


def _roles(messages: list[dict[str, Any]], checked: CheckedRequest) -> Iterator[Refusal]:
    model = checked.request.model.lower()
    for index, message in enumerate(messages):
        if message["role"] == "system" and not (
            _INLINE_SYSTEM.search(model) and _ends_a_turn(messages, index)
        ):
            yield bad(
                'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not '
                '"system" as an input message role.'
            )
    if messages[0]["role"] != "user":
        yield bad('messages: first message must use the "user" role')
    if messages[-1]["role"] == "assistant" and _NO_PREFILL.search(checked.card.name):
        yield bad(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _ends_a_turn(messages: list[dict[str, Any]], index: int) -> bool:
    follows_user = index > 0 and messages[index - 1]["role"] == "user"
    return follows_user and (index + 1 == len(messages) or messages[index + 1]["role"] == "assistant")


def _empty(messages: list[dict[str, Any]], system: Any) -> Iterator[Refusal]:
    if not all(_texts(system)):
        yield bad("system: text content blocks must be non-empty")
    for index, message in enumerate(messages):
        is_last = index == len(messages) - 1
        if not message["content"] and message["role"] == "user":
            yield bad(f"messages.{index}: user messages must have non-empty content")
        elif not message["content"] and not is_last:
            yield bad(
                f"messages.{index}: all messages must have non-empty content except for the optional final "
                f"assistant message"
            )
        texts = list(_texts(message["content"]))
        for text in texts:
            if not text:
                yield bad("messages: text content blocks must be non-empty")
            elif not text.strip():
                yield bad("messages: text content blocks must contain non-whitespace text")
        if is_last and message["role"] == "assistant" and texts and texts[-1][-1:].isspace():
            yield bad("messages: final assistant content cannot end with trailing whitespace")


def _texts(content: Any) -> Iterator[str]:
    """The texts in content, including tool results; an empty string counts as no content."""
    if isinstance(content, str) and content:
        yield content
    for block in objects_in(content):
        if block.get("type") == "text":
            yield str(block.get("text") or "")
        elif block.get("type") == "tool_result":
            yield from _texts(objects_in(block.get("content")))


def _calls(messages: list[dict[str, Any]]) -> Iterator[Refusal]:
    seen: set[str] = set()
    for place, message in enumerate(messages):
        for index, block in enumerate(objects_in(message["content"])):
            if block.get("type") != "tool_use":
                continue
            path, call_id = f"messages.{place}.content.{index}", str(block.get("id"))
            if not _ID.fullmatch(call_id):
                yield bad(f"{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            if not _NAME.fullmatch(str(block.get("name"))):
                yield bad(f"{path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
            if not isinstance(block.get("input"), dict):
                yield bad(f"{path}.tool_use.input: Input should be an object")
            if call_id in seen:
                yield bad(f"{path}: `tool_use` ids must be unique")
            seen.add(call_id)


def _pairs(messages: list[dict[str, Any]]) -> Iterator[Refusal]:
    """The next message must start with the results of exactly these calls."""
    call_ids: list[str] = []
    for number, message in enumerate([*messages, {"role": "user", "content": []}]):
        results = _ids_in(message, "tool_result", "tool_use_id")
        yield from _unasked(number, results, call_ids)
        leading = {answered for place, (index, answered) in enumerate(results) if place == index}
        missing = [call for call in call_ids if call not in leading]
        if missing:
            yield bad(
                f"messages.{number - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                f"next message."
            )
        calls = _ids_in(message, "tool_use", "id") if message["role"] == "assistant" else []
        call_ids = [call for _, call in calls]


def _unasked(place: int, results: list[tuple[int, str]], call_ids: list[str]) -> Iterator[Refusal]:
    """Results without a call in the previous message, and repeated results of one call."""
    for index, answered in results:
        if answered not in call_ids:
            yield bad(
                f"messages.{place}.content.{index}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{answered}. Each `tool_result` block must have a corresponding `tool_use` block in the "
                f"previous message."
            )
    twice = [call for call, times in Counter(answered for _, answered in results).items() if times > 1]
    if twice:
        yield bad(
            f"messages.{place}.content.{results[-1][0]}: each tool_use must have a single result. Found multiple "
            f"`tool_result` blocks with id: {twice[0]}"
        )


def _ids_in(message: dict[str, Any], kind: str, field: str) -> list[tuple[int, str]]:
    """The ids in a message's blocks of one kind, each with its block's position."""
    blocks = enumerate(objects_in(message["content"]))
    return [(index, str(block.get(field))) for index, block in blocks if block.get("type") == kind]


def _thinking(messages: list[dict[str, Any]], checked: CheckedRequest) -> Iterator[Refusal]:
    if checked.card.family != "claude":
        return
    latest = max((i for i, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    for place, message in enumerate(messages):
        blocks = objects_in(message["content"])
        for index, block in enumerate(blocks):
            if block.get("type") in THINKING_TYPES:
                yield from _block(
                    f"messages.{place}.content.{index}", block, checked, is_latest=place == latest
                )
        if message["role"] == "assistant" and blocks and blocks[-1].get("type") in THINKING_TYPES:
            yield bad(f"messages.{place}: The final block in an assistant message cannot be `thinking`.")
    yield from _taken_out(messages, latest, checked)
    yield from _bindings(messages, checked)


def _block(path: str, block: dict[str, Any], checked: CheckedRequest, is_latest: bool) -> Iterator[Refusal]:
    kind = block["type"]
    field = "signature" if kind == "thinking" else "data"
    if not block.get(field):
        yield bad(f"{path}.{kind}.{field}: Field required")
    issued = checked.memory.issued(block)
    if issued is None:
        yield bad(f"{path}: Invalid `{field}` in `{kind}` block")
    elif block.get("thinking") != issued.block.get("thinking"):
        if is_latest:
            yield bad(
                f"{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
                f"modified. These blocks must remain as they were in the original response."
            )
        yield bad(f"{path}: Invalid `{field}` in `{kind}` block")


def _taken_out(messages: list[dict[str, Any]], latest: int, checked: CheckedRequest) -> Iterator[Refusal]:
    """With extended thinking, the thinking before the calls in progress must be present."""
    thinking = checked.request.thinking
    if thinking is None or thinking.mode != "enabled" or latest != len(messages) - 2:
        return
    blocks = objects_in(messages[latest]["content"])
    calls = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
    if calls and checked.memory.thought_before(calls[0]) and blocks[0].get("type") not in THINKING_TYPES:
        yield bad(
            f"messages.{latest}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{blocks[0].get('type')}`. When `thinking` is enabled, a final `assistant` message must start with a "
            f"thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        )


def _bindings(messages: list[dict[str, Any]], checked: CheckedRequest) -> Iterator[Refusal]:
    binding = object_of(checked.body.get("thinking")).get("block_binding")
    drops = isinstance(binding, dict) and binding.get("prefix_mismatch_behavior") == "drop_block"
    if not checked.card.preserved_thinking or drops:
        return
    for violation in checked.memory.broken_bindings(checked.request):
        before = checked.request.messages[: violation.index]
        spoken = sum(message.get("role") == "assistant" for message in before)
        place = [
            i for i, message in enumerate(messages) if message["role"] == "assistant" and message["content"]
        ][spoken]
        blocks = objects_in(messages[place]["content"])
        index = next(i for i, block in enumerate(blocks) if block.get("type") in THINKING_TYPES)
        yield bad(f"messages.{place}.content.{index}: {_BOUND}")
