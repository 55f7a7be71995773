"""Conversations that a provider refuses, by the dialect and by what is wrong with them."""

from typing import Any

from plimsoll.dialects.responses.compaction_items import compaction_item

Body = dict[str, Any]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
LARGE = "A" * 5_300_000
HELLO = {"role": "user", "content": "Where does the Aurora lie?"}
THANKS = {"role": "user", "content": "Thank you."}


def chat_call(call_id: Any = "call_1", name: Any = "find", arguments: Any = "{}") -> Body:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: Body) -> Body:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def told(call_id: str = "call_1", content: Any = "Berth 4") -> Body:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def use(call_id: str = "toolu_1", name: str = "find", input: Any = None) -> Body:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if input is None else input}


def result(call_id: str = "toolu_1", content: Any = "Berth 4") -> Body:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def text(words: str) -> Body:
    return {"type": "text", "text": words}


def image(data: str = PNG, kind: str = "image/png") -> Body:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def item(role: str, words: str, kind: str = "input_text", **more: Any) -> Body:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}], **more}


def fc(call_id: str = "call_1", **more: Any) -> Body:
    return {"type": "function_call", "call_id": call_id, "name": "find", "arguments": "{}", **more}


def fco(call_id: str = "call_1") -> Body:
    return {"type": "function_call_output", "call_id": call_id, "output": "Berth 4"}


def reasoning(number: int = 1, content: str = "gAAAAsealed") -> Body:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": content}


def turn(role: str, *parts: Body) -> Body:
    return {"role": role, "parts": list(parts)}


def gcall(name: Any = "find", **more: Any) -> Body:
    return {"functionCall": {"name": name, "args": {}, **more}}


def gresponse(name: str = "find", response: Any = None) -> Body:
    return {
        "functionResponse": {
            "name": name,
            "response": {"output": "Berth 4"} if response is None else response,
        }
    }


OPENAI: dict[str, list[Any]] = {
    "a tool result without its call": [HELLO, told("call_9"), THANKS],
    "a call without a result": [HELLO, asks(chat_call()), THANKS],
    "a result after the next question": [HELLO, asks(chat_call()), THANKS, told()],
    "two calls with one id": [HELLO, asks(chat_call(), chat_call()), told(), told(), THANKS],
    "a call without an id": [HELLO, asks(chat_call("")), told(""), THANKS],
    "an id of 60 characters": [HELLO, asks(chat_call("c" * 60)), told("c" * 60), THANKS],
    "a tool name with a space": [HELLO, asks(chat_call(name="find ship")), told(), THANKS],
    "arguments that are an object": [HELLO, asks(chat_call(arguments={"q": 1})), told(), THANKS],
    "an assistant message without content": [HELLO, {"role": "assistant", "content": None}, THANKS],
    "a user's message without content": [{"role": "user"}, THANKS],
    "an empty list of calls": [HELLO, {"role": "assistant", "content": "Hm.", "tool_calls": []}, THANKS],
    "an empty list as content": [{"role": "user", "content": []}, THANKS],
    "an unknown role": [{"role": "human", "content": "Where does the Aurora lie?"}],
    "an image in a tool result": [
        HELLO,
        asks(chat_call()),
        told(content=[{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]),
        THANKS,
    ],
    "an image of a type that nobody reads": [
        {
            "role": "user",
            "content": [
                text("Look."),
                {"type": "image_url", "image_url": {"url": f"data:image/bmp;base64,{PNG}"}},
            ],
        }
    ],
}
ANTHROPIC: dict[str, list[Any]] = {
    "a tool result without its call": [{"role": "user", "content": [result("toolu_9"), text("And?")]}],
    "a call without a result": [HELLO, {"role": "assistant", "content": [use()]}, THANKS],
    "a result after the text": [
        HELLO,
        {"role": "assistant", "content": [use()]},
        {"role": "user", "content": [text("Here:"), result()]},
    ],
    "two results of one call": [
        HELLO,
        {"role": "assistant", "content": [use()]},
        {"role": "user", "content": [result(), result()]},
    ],
    "one id for two calls": [
        HELLO,
        {"role": "assistant", "content": [use()]},
        {"role": "user", "content": [result()]},
        {"role": "assistant", "content": [use()]},
        {"role": "user", "content": [result()]},
    ],
    "an id with a dot": [
        HELLO,
        {"role": "assistant", "content": [use("find.1")]},
        {"role": "user", "content": [result("find.1")]},
    ],
    "an empty text block": [{"role": "user", "content": [text(""), text("Where?")]}],
    "a text block of white space": [HELLO, {"role": "assistant", "content": [text(" \n")]}, THANKS],
    "an empty user message": [{"role": "user", "content": ""}, THANKS],
    "a system message among the others": [{"role": "system", "content": "Be brief."}, HELLO],
    "the assistant speaks first": [{"role": "assistant", "content": "Welcome."}, HELLO],
    "thinking without a signature": [
        HELLO,
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Hm.", "signature": ""}, text("4")],
        },
        THANKS,
    ],
    "an image of more than 5 MB": [{"role": "user", "content": [image(LARGE), text("What is this?")]}],
    "an image of a type that nobody reads": [
        {"role": "user", "content": [image(kind="image/tiff"), text("?")]}
    ],
    "an input that is a text": [
        HELLO,
        {"role": "assistant", "content": [use(input='{"q": 1}')]},
        {"role": "user", "content": [result()]},
    ],
}
RESPONSES: dict[str, list[Any]] = {
    "an output without its call": [item("user", "Where?"), fco(), item("user", "And?")],
    "a call without an output": [item("user", "Where?"), fc(), item("user", "And?")],
    "a call and an output without an id": [
        item("user", "Where?"),
        {key: value for key, value in fc().items() if key != "call_id"},
        {"type": "function_call_output", "output": "Berth 4"},
        item("user", "And?"),
    ],
    "a call and an output with an empty id": [
        item("user", "Where?"),
        {**fc(), "call_id": ""},
        {**fco(), "call_id": ""},
        item("user", "And?"),
    ],
    "an output that waits for no call": [
        item("user", "Where?"),
        {"type": "function_call_output", "output": "Berth 4"},
        item("user", "And?"),
    ],
    "an output without a value": [item("user", "Where?"), fc(), {**fco(), "output": None}],
    "an output that is an object": [item("user", "Where?"), fc(), {**fco(), "output": {"berth": 4}}],
    "reasoning without its item": [item("user", "Where?"), reasoning(), item("user", "And?")],
    "reasoning that another provider encrypted": [
        item("user", "Where?"),
        reasoning(content="plimsoll-thinking:[]"),
        fc(id="fc_1"),
        fco(),
    ],
    "an opaque compaction item": [
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "opaque"},
        item("user", "And?"),
    ],
    "a compaction item with readable text": [
        compaction_item("They looked for a ship.", "cmp_1"),
        item("user", "?"),
    ],
    "one id for two items": [
        item("user", "Where?"),
        item("assistant", "Here.", "output_text", id="msg_1"),
        item("user", "And?"),
        item("assistant", "There.", "output_text", id="msg_1"),
        item("user", "So?"),
    ],
    "an id of another type": [
        item("user", "Where?"),
        item("assistant", "4", "output_text", id="x1"),
        item("user", "?"),
    ],
    "the assistant's words as input": [
        item("user", "Where?"),
        item("assistant", "Berth 4"),
        item("user", "And?"),
    ],
    "an empty message": [{"type": "message", "role": "user", "content": []}, item("user", "Where?")],
}
GEMINI: dict[str, list[Any]] = {
    "a response without its call": [
        turn("user", {"text": "Where?"}),
        turn("user", gresponse(), {"text": "And?"}),
    ],
    "a call without a response": [
        turn("user", {"text": "?"}),
        turn("model", gcall()),
        turn("user", {"text": "!"}),
    ],
    "fewer responses than calls": [
        turn("user", {"text": "Where?"}),
        turn("model", gcall(), gcall("list")),
        turn("user", gresponse()),
    ],
    "responses in two contents": [
        turn("user", {"text": "Where?"}),
        turn("model", gcall(), gcall("list")),
        turn("user", gresponse()),
        turn("user", gresponse("list")),
    ],
    "a call at the beginning": [turn("model", gcall()), turn("user", gresponse())],
    "a call after the model's own words": [
        turn("user", {"text": "Where?"}),
        turn("model", {"text": "I look."}),
        turn("model", gcall()),
        turn("user", gresponse()),
    ],
    "a content without parts": [
        turn("user", {"text": "Where?"}),
        turn("model"),
        turn("user", {"text": "And?"}),
    ],
    "the role assistant": [
        turn("user", {"text": "?"}),
        turn("assistant", {"text": "4"}),
        turn("user", {"text": "!"}),
    ],
    "a call without its signature": [
        turn("user", {"text": "?"}),
        turn("model", gcall()),
        turn("user", gresponse()),
    ],
    "a response that is a text": [
        turn("user", {"text": "Where?"}),
        turn("model", gcall()),
        turn("user", gresponse(response="Berth 4")),
    ],
    "a function name with a space": [
        turn("user", {"text": "Where?"}),
        turn("model", gcall("find ship")),
        turn("user", gresponse("find ship")),
    ],
}
BODIES: dict[str, dict[str, Body]] = {
    "openai": {name: {"model": "gpt-4.1", "messages": said} for name, said in OPENAI.items()},
    "anthropic": {
        name: {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": said}
        for name, said in ANTHROPIC.items()
    },
    "responses": {name: {"model": "gpt-5", "input": said} for name, said in RESPONSES.items()},
    "gemini": {name: {"contents": said} for name, said in GEMINI.items()},
}
VALID: dict[str, Body] = {
    "openai": {"model": "gpt-4.1", "x": 1, "messages": [HELLO, asks(chat_call()), told(), THANKS]},
    "anthropic": {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": [text("Be brief.")],
        "messages": [
            {"role": "user", "content": [text("Where?"), image()]},
            {"role": "assistant", "content": [text("I look."), use(), use("toolu_2")]},
            {"role": "user", "content": [result("toolu_2"), result(), text("And?")]},
        ],
    },
    "responses": {
        "model": "gpt-5",
        "instructions": "Be brief.",
        "input": [item("user", "Where?"), reasoning(), fc(id="fc_1"), fco(), item("user", "And?")],
    },
    "gemini": {
        "contents": [
            turn("user", {"text": "Where?"}),
            turn("model", gcall() | {"thoughtSignature": "c2ln"}, gcall("list")),
            turn("user", gresponse("list"), gresponse()),
            turn("model", {"text": "Berth 4"}),
            turn("user", {"text": "Thanks"}),
        ]
    },
}
