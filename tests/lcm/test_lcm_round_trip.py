"""After twenty compactions every message of recorded conversations comes back byte for byte.

With PLIMSOLL_LARGE=1 that is every message of every conversation; otherwise the beginning of one of each kind.
"""

import json
import os
import re
from pathlib import Path

import pytest
from lcm_host import Host
from test_lcm_tools import harbour

from plimsoll.archive.encoding import searchable, to_json
from plimsoll.context.lcm.tree import tree_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = ("dev_claudecode_entire", "dev_tau_airline", "dev_trail_research")
COMPACTIONS = 20
MAX_MESSAGES = 160
LARGE = os.environ.get("PLIMSOLL_LARGE") == "1"
PIECE = 48


def recorded(name):
    path = DATA / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"NOT MEASURED: the recorded conversations are missing ({path})")
    with path.open(encoding="utf-8") as lines:
        if LARGE:
            return [json.loads(line)["messages"] for line in lines]
        return [json.loads(next(lines))["messages"][:MAX_MESSAGES]]


def odd():
    """Shapes that occur: parts, no content, unknown keys, other scripts, half a surrogate pair, a megabyte."""
    return [
        {"role": "system", "content": [{"type": "text", "text": "You keep the log."}]},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Käpt'n 解析器"}, {"type": "text", "text": "and more"}],
        },
        {"role": "assistant", "content": "half a pair: \ud83d", "x_client": {"kept": [1, None]}},
        {"role": "user", "content": "one\r\ntwo\ttabs\u2028and a separator"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "run", "arguments": '{"broken": '}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "x" * 200_000 + "THE LAST BYTE"},
        *harbour(30)[1:],
    ]


@pytest.mark.parametrize("source", ["odd", *(pytest.param(name, marks=pytest.mark.slow) for name in FILES)])
def test_every_message_comes_back_after_twenty_compactions(source, tmp_path):
    for number, messages in enumerate([odd()] if source == "odd" else recorded(source)):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert_all_come_back(messages, folder)


def assert_all_come_back(messages, folder):
    host = Host(folder, window=6_000)
    session = host.begin()
    step = max(1, len(messages) // (COMPACTIONS + 8))
    compactions = 0
    for start in range(0, len(messages), step):
        host.say(session, messages[start : start + step])
        compactions += host.compact(session)
    assert compactions >= min(COMPACTIONS, len(messages) // 8)
    assert host.faults(session) == []
    rows = host.rows()
    host.restart()
    pages = expanded(host, session)
    leaves = tree_of(host.nodes(session)).leaves
    for one in host.log(session):
        message = messages[one.sequence - 1]
        assert to_json(one.message) == to_json(message)
        leaf = next((n for n in leaves if n.details["first"] <= one.sequence <= n.details["last"]), None)
        if leaf is not None:
            assert_is_in(message, pages[leaf.id])
        assert_is_in(message, text_at(host, session, f"m:{one.sequence}"))
        assert_is_found(host, session, one)
    assert host.rows() == rows
    host.close()


def expanded(host, session):
    return {leaf.id: text_at(host, session, leaf.id) for leaf in tree_of(host.nodes(session)).leaves}


def text_at(host, session, id):
    text, offset = "", 0
    while offset is not None:
        page = json.loads(host.call(session, "lcm_expand", id=id, offset=offset, max_tokens=8_000))
        text, offset = text + page["text"], page["next"]
    return text


def assert_is_in(message, text):
    content = message.get("content")
    if isinstance(content, str) and set(message) <= {"role", "content", "tool_calls", "tool_call_id", "name"}:
        assert content in text
        assert all(call["function"]["arguments"] in text for call in message.get("tool_calls") or ())
    elif content is not None:
        assert to_json(message) in text


def assert_is_found(host, session, one):
    """A piece from the middle of what was said, arguments included, finds the message."""
    text = searchable(one.message)
    piece = text[len(text) // 2 :][:PIECE].split("\n")[0].strip() or text.strip().split("\n")[0][:PIECE]
    if len(piece) < 3 or "\ud83d" in piece:
        return
    offset = 0
    while offset is not None:
        answer = json.loads(
            host.call(session, "lcm_grep", pattern=re.escape(piece), mode="regex", limit=50, offset=offset)
        )
        hits = [hit for group in answer["groups"] for hit in group["hits"]]
        if any(hit["id"] == f"m:{one.sequence}" and piece in hit["text"] for hit in hits):
            return
        offset = answer["next"]
    raise AssertionError(f"message {one.sequence} is not found by {piece!r}")
