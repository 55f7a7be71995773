"""Hypothesis strategies for realistic conversations.

They include truncated conversations, parallel calls, orphans, missing content, images,
adjacent user messages and results of every size. Long texts are built from a few drawn
numbers, so that large conversations are cheap to generate and small ones easy to read.
Strategies are cached, because creating one takes longer than drawing from it.
"""

import json
from functools import cache
from typing import Any

from hypothesis import strategies as st

from plimsoll.messages import Message

_SENTENCE = (
    "the parser returns early when a token is missing so the tests in tests/test_parser.py fail with exit code 1 "
    "and we should never touch src/legacy.py because release 2.14 still ships it on port 8443 解析器在这里返回 готов"
)
_WORDS = _SENTENCE.split()
_PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@cache
def texts(largest: int = 400) -> st.SearchStrategy[str]:
    """Readable text of up to `largest` words; equal draws give equal text."""
    return st.builds(_text, st.integers(0, 10_000), st.integers(1, largest))


@cache
@st.composite
def user_messages(draw: st.DrawFn) -> Message:
    """A user message: text, parts, an image, occasionally a name or an unknown key."""
    shape = draw(st.sampled_from(["text", "text", "text", "parts", "image", "named"]))
    text = draw(texts(120))
    if shape == "parts":
        return {
            "role": "user",
            "content": [{"type": "text", "text": text}, {"type": "text", "text": "and more"}],
        }
    if shape == "image":
        image = {"type": "image_url", "image_url": {"url": _PIXEL}}
        return {"role": "user", "content": [{"type": "text", "text": text}, image]}
    if shape == "named":
        return {"role": "user", "name": "ada", "content": text, "x_client": {"kept": True}}
    return {"role": "user", "content": text}


@cache
@st.composite
def tool_rounds(draw: st.DrawFn, ids: str = "call") -> list[Message]:
    """An assistant message with one to three calls, and their results; sometimes one is missing."""
    seed = draw(st.integers(0, 10**9))
    count = draw(st.sampled_from([1, 1, 1, 2, 3]))
    calls = [_call(f"{ids}_{seed}_{n}", draw(st.sampled_from(_CALLS)), seed) for n in range(count)]
    content = draw(st.sampled_from([None, "", "Let me look at that."]))
    results: list[Message] = [
        {"role": "tool", "tool_call_id": call["id"], "content": draw(_results())} for call in calls
    ]
    fault = draw(st.sampled_from(["none"] * 12 + ["missing", "orphan"]))
    if fault == "missing":
        results.pop()
    elif fault == "orphan":
        results.append({"role": "tool", "tool_call_id": f"lost_{seed}", "content": "nobody asked for this"})
    return [{"role": "assistant", "content": content, "tool_calls": calls}, *results]


@cache
@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """One user turn: the request, some tool rounds, a reply; not always all of them."""
    messages = [draw(user_messages())]
    if draw(st.integers(0, 9)) == 0:
        messages.append(draw(user_messages()))
    for _ in range(draw(st.integers(0, 5))):
        messages += draw(tool_rounds())
    if draw(st.integers(0, 4)):
        messages.append({"role": "assistant", "content": draw(texts(80))})
    return messages


@cache
@st.composite
def conversations(draw: st.DrawFn, min_turns: int = 1, max_turns: int = 14) -> list[Message]:
    """A whole conversation, with or without a system prompt."""
    opening = draw(st.sampled_from(["text", "text", "blocks", "none"]))
    messages: list[Message] = []
    if opening == "text":
        messages.append({"role": "system", "content": draw(texts(60))})
    elif opening == "blocks":
        messages.append({"role": "system", "content": [{"type": "text", "text": draw(texts(60))}]})
    for turn in draw(st.lists(turns(), min_size=min_turns, max_size=max_turns)):
        messages += turn
    if draw(st.booleans()):
        messages.append(draw(user_messages()))
    return messages


_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("terminal", {"command": "pytest -x tests/test_parser.py"}),
    ("read_file", {"path": "src/parser.py"}),
    ("patch", {"path": "src/parser.py", "old_string": "return None", "new_string": "return token"}),
    ("write_file", {"path": "docs/notes.md", "content": "# Notes\n" + "a line of text\n" * 12}),
    ("get_order", {"order_id": "A-2231"}),
]


@cache
def _results() -> st.SearchStrategy[Any]:
    exact = st.sampled_from(
        ["", "ok", "x" * 200, "x" * 201, "exit code: 1\nE   AssertionError: 3 != 4\n1 failed"]
    )
    parts = st.builds(lambda text: [{"type": "text", "text": text}], texts(60))
    return st.one_of(exact, texts(40), texts(900), texts(900), parts)


def _call(call_id: str, spec: tuple[str, dict[str, Any]], seed: int) -> dict[str, Any]:
    name, arguments = spec
    written = json.dumps({**arguments, "n": seed % 7})
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": written}}


def _text(seed: int, length: int) -> str:
    step = seed % 7 + 1
    return " ".join(_WORDS[(seed + step * n) % len(_WORDS)] for n in range(length)) + f" #{seed}"
