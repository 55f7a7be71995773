"""Conversations for property tests: `wild()` has every shape, `normal()` is in normal form by construction."""

import json

from hypothesis import settings
from hypothesis import strategies as st

from plimsoll.messages import safe_cuts

# No deadline: a slow machine is not a wrong result.
quick = settings(max_examples=40, deadline=None)

MARKERS = st.sampled_from([{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}])
TEXTS = st.text(alphabet='ab {}"\n\té漢\U0001f600\\<', max_size=8)
WORDS = TEXTS.filter(str.strip)
NAMES = st.sampled_from(["read_file", "bash", "search"])
URLS = st.sampled_from(
    ["https://example.org/a.png", "data:image/png;base64,iVBORw0KGgo=", "data:image/jpeg;base64,/9j/"]
)
OBJECTS = st.dictionaries(
    TEXTS,
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    max_size=3,
)
ARGUMENTS = OBJECTS.map(lambda value: json.dumps(value, ensure_ascii=False))
UNPARSABLE = st.sampled_from(
    ['{"a": ', "[1, 2]", "null", "not json", '"text"', "{'a': 1}", '{"n": NaN}', '{"n": 1e999}']
)
SIGNED = st.builds(
    lambda text, seal: {"type": "thinking", "thinking": text, "signature": seal}, TEXTS, st.uuids().map(str)
)
REDACTED = st.uuids().map(lambda seal: {"type": "redacted_thinking", "data": str(seal)})
SERVER_TOOL = st.just(
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
)


def optional(item: dict, key: str, value: object) -> dict:
    return item if value is None else {**item, key: value}


@st.composite
def text_parts(draw, texts=WORDS):
    part = {"type": "text", "text": draw(texts)}
    return optional(part, "cache_control", draw(st.none() | MARKERS))


@st.composite
def media_parts(draw):
    url = draw(URLS)
    part = draw(
        st.sampled_from(
            [
                {"type": "image_url", "image_url": {"url": url}},
                {
                    "type": "file",
                    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
                },
                {"type": "file", "file": {"file_id": "file_1"}},
                {"type": "file", "file": {"file_url": "https://example.org/a.pdf"}},
            ]
        )
    )
    return optional(part, "cache_control", draw(st.none() | MARKERS))


def contents(parts):
    """Content in its shortest form: plain text alone is a string."""
    return st.lists(parts, min_size=1, max_size=3).map(
        lambda found: found[0]["text"] if len(found) == 1 and found[0].keys() == {"type", "text"} else found
    )


@st.composite
def assistants(draw, ids):
    message = {"role": "assistant"}
    thinking = draw(st.lists(SIGNED | REDACTED, max_size=2))
    if thinking:
        message["thinking_blocks"] = thinking
    elif draw(st.booleans()):
        message["reasoning_content"] = draw(WORDS)
    calls = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": draw(NAMES), "arguments": draw(ARGUMENTS | UNPARSABLE)},
        }
        for call_id in ids
    ]
    if draw(st.booleans()) or not calls:
        message["content"] = draw(contents(text_parts() | SERVER_TOOL))
    else:
        message["content"] = None
    if calls:
        message["tool_calls"] = calls
    return message


@st.composite
def normal(draw, max_turns=2):
    """A well-formed conversation in normal form: what is sent comes back exactly."""
    messages = []
    if draw(st.booleans()):
        messages.append({"role": "system", "content": draw(contents(text_parts()))})
    used = 0
    for _ in range(draw(st.integers(0, max_turns))):
        messages.append({"role": "user", "content": draw(contents(text_parts() | media_parts()))})
        for _ in range(draw(st.integers(0, 2))):
            ids = [f"call_{used + n}" for n in range(draw(st.integers(1, 3)))]
            used += len(ids)
            asked = draw(assistants(ids))
            messages.append(asked)
            for call in asked["tool_calls"]:
                result = {"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"]}
                result["content"] = draw(TEXTS | contents(text_parts() | media_parts()))
                result = optional(result, "is_error", draw(st.none() | st.just(True)))
                messages.append(optional(result, "cache_control", draw(st.none() | MARKERS)))
        messages.append(draw(assistants([])))
    if draw(st.booleans()):
        messages.append({"role": "user", "content": draw(contents(text_parts()))})
    return messages


@st.composite
def with_notes(draw):
    """A well-formed conversation with system messages further down, at any position."""
    messages = draw(normal())
    for cut in reversed(safe_cuts(messages)):
        if cut > 0 and draw(st.integers(0, 3)) == 0:
            messages.insert(cut, {"role": "system", "content": draw(contents(text_parts()))})
    return messages


ODD_PARTS = st.one_of(
    text_parts(TEXTS),
    media_parts(),
    SERVER_TOOL,
    st.just({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}),
    st.just({"type": "image_url", "image_url": "https://example.org/b.png"}),
    st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}),
    st.just({"type": "image_url", "image_url": {"url": "https://example.org/c.png", "detail": "low"}}),
    st.just({"type": "refusal", "refusal": "no"}),
    st.just({"type": "text", "text": "cited", "anthropic": {"citations": [{"type": "char_location"}]}}),
    st.just(
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "x"},
            "title": "t",
        }
    ),
)


@st.composite
def odd_messages(draw):
    role = draw(st.sampled_from(["system", "developer", "user", "assistant", "tool"]))
    message = {"role": role, "content": draw(st.none() | TEXTS | st.lists(ODD_PARTS, max_size=3))}
    ids = st.sampled_from(["a", "b", "call.1", "", "functions.read:0"])
    if role == "assistant":
        if draw(st.booleans()):
            message["tool_calls"] = [
                {
                    "id": draw(ids),
                    "type": "function",
                    "function": {
                        "name": draw(NAMES),
                        "arguments": draw(ARGUMENTS | UNPARSABLE | st.just("")),
                    },
                }
                for _ in range(draw(st.integers(1, 3)))
            ]
        if draw(st.booleans()):
            message["thinking_blocks"] = draw(st.lists(SIGNED | REDACTED, max_size=2))
        if draw(st.booleans()):
            message["reasoning_content"] = draw(TEXTS)
        if draw(st.booleans()):
            message["block_order"] = draw(
                st.lists(st.sampled_from(["thinking", "content", "tool_use"]), max_size=5)
            )
    if role == "tool":
        message["tool_call_id"] = draw(ids)
        message = optional(message, "is_error", draw(st.none() | st.booleans()))
    if draw(st.booleans()):
        message["name"] = "meta"
    return optional(message, "cache_control", draw(st.none() | MARKERS))


def wild():
    """Any list of messages, well formed or not."""
    return st.lists(odd_messages(), max_size=8)
