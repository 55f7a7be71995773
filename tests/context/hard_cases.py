"""Conversations that are hard to compact, each with the window that it must fit into."""

import copy

from plimsoll import ContextCompressor, validate


def call(n, name="terminal", arguments='{"command": "ls"}'):
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        ],
    }


def result(n, text):
    return {"role": "tool", "tool_call_id": f"c{n}", "content": text}


SYSTEM = {"role": "system", "content": "You are helpful."}
FIRST = {"role": "user", "content": "Count the files."}


def talk(count, words=100):
    said = []
    for n in range(count):
        said += [
            {"role": "user", "content": f"question {n} " + "word " * words},
            {"role": "assistant", "content": f"answer {n} " + "word " * words},
        ]
    return said


def compacted(messages, window, **options):
    engine = ContextCompressor(context_length=window, **options)
    before = copy.deepcopy(messages)
    result_ = engine.compress(messages)
    assert messages == before
    assert validate(result_) == []
    assert validate(result_, "anthropic") == []
    return engine, result_


HARD = {
    "a 4K window": ([SYSTEM, *talk(60)], 4_096),
    "a tail that alone exceeds the budget": ([SYSTEM, FIRST, *talk(14, words=900)], 16_000),
    "a tool result larger than the window": (
        [SYSTEM, *talk(15), {"role": "user", "content": "read it"}, call(1), result(1, "data " * 40_000)],
        16_000,
    ),
    "an old user message larger than the window": (
        [
            SYSTEM,
            {"role": "user", "content": "paste " * 30_000},
            {"role": "assistant", "content": "ok"},
            *talk(15),
        ],
        16_000,
    ),
    "an assistant message larger than the window": (
        [
            SYSTEM,
            *talk(3),
            {"role": "assistant", "content": "text " * 30_000},
            {"role": "user", "content": "and?"},
        ],
        16_000,
    ),
    "arguments larger than the window": (
        [
            SYSTEM,
            FIRST,
            call(1, "write_file", '{"path": "a.py", "content": "' + "x = 1 " * 30_000 + '"}'),
            result(1, "ok"),
            {"role": "user", "content": "next"},
        ],
        16_000,
    ),
    "one user turn and 500 tool calls": (
        [SYSTEM, FIRST, *(m for n in range(500) for m in (call(n), result(n, f"file_{n}.txt " * 40)))],
        16_000,
    ),
    "a request in the middle and 300 tool calls after it": (
        [
            SYSTEM,
            *talk(10),
            {"role": "user", "content": "now list everything"},
            *(m for n in range(300) for m in (call(n), result(n, f"file_{n}.txt " * 40))),
        ],
        16_000,
    ),
    "one assistant message with 200 parallel calls": (
        [
            SYSTEM,
            FIRST,
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call(n)["tool_calls"][0] for n in range(200)],
            },
            *(result(n, "line " * 200) for n in range(200)),
            {"role": "user", "content": "summarise"},
        ],
        16_000,
    ),
    "a huge first exchange": (
        [
            SYSTEM,
            {"role": "user", "content": "spec " * 9_000},
            {"role": "assistant", "content": "plan " * 9_000},
            *talk(12),
        ],
        16_000,
    ),
    "images in every message": (
        [
            SYSTEM,
            *(
                {
                    "role": role,
                    "content": [
                        {"type": "text", "text": "look"},
                        {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
                    ],
                }
                for _ in range(20)
                for role in ("user",)
            ),
            {"role": "user", "content": "what was it?"},
        ],
        8_000,
    ),
    "no system prompt": (talk(60), 8_000),
    "CJK all through": (
        [
            SYSTEM,
            *(
                {"role": r, "content": "请检查解析器的错误并修复测试 " * 40}
                for _ in range(30)
                for r in ("user", "assistant")
            ),
            FIRST,
        ],
        8_000,
    ),
}
