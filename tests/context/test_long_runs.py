"""Conversations that go on and on: repeated compactions, odd openings, growth without end."""

import json

import pytest

from message_builders import user
from plimsoll import ContextCompressor, estimate_messages_tokens_rough, validate
from plimsoll.context.compressor import find_summary, is_summary
from plimsoll.context.ledger import parse_sections
from plimsoll.models import estimate_tokens

SYSTEM = {"role": "system", "content": "You are helpful."}


def rounds(count, start=0, words=120, command="ls"):
    said = []
    for n in range(start, start + count):
        function = {"name": "terminal", "arguments": json.dumps({"command": f"{command} {n}"})}
        said.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{n}", "type": "function", "function": function}],
            }
        )
        said.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"file_{n} " * words})
    return said


def parallel(count):
    calls = [
        {"id": f"p{n}", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        for n in range(count)
    ]
    results = [{"role": "tool", "tool_call_id": f"p{n}", "content": "ok"} for n in range(count)]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


def test_a_run_behind_parallel_calls_is_compacted_again_and_again():
    engine = ContextCompressor(context_length=32_000)
    view = engine.compress([SYSTEM, user("list it all"), *parallel(3), *rounds(60)])
    for later in range(1, 5):
        view = engine.compress([*view, *rounds(60, start=1_000 * later)])
        assert estimate_messages_tokens_rough(view) < 0.6 * engine.threshold_tokens
        assert sum(map(is_summary, view)) == 1
        assert validate(view) == []
    assert "ls 4" in view[find_summary(view)]["content"]


@pytest.mark.parametrize("opening", [[SYSTEM, user("hi")], [user("hi")]])
def test_a_greeting_before_the_real_request_does_not_stop_compaction(opening):
    request = user("Refactor the parser")
    messages = [*opening, {"role": "assistant", "content": "Hello!"}, request, *rounds(400)]
    engine = ContextCompressor(context_length=100_000)
    result = engine.compress(messages)
    assert engine.last_report.steps == ()
    assert result[-20:] == messages[-20:]
    assert request in result
    assert sum(map(is_summary, result)) == 1
    assert validate(result, "anthropic") == []


def test_many_users_in_a_row_are_compacted():
    messages = [SYSTEM, user("hi"), {"role": "assistant", "content": "Hello!"}]
    messages += [user(f"remark {n} " + "word " * 100) for n in range(200)]
    engine = ContextCompressor(context_length=20_000)
    result = engine.compress(messages)
    assert estimate_messages_tokens_rough(result) < engine.threshold_tokens
    assert result[-20:] == messages[-20:]


def test_after_a_compaction_near_the_line_growth_rearms_it():
    engine = ContextCompressor(context_length=100_000)
    said = [{"role": role, "content": "word " * 2_300} for _ in range(12) for role in ("assistant", "user")]
    engine.compress([SYSTEM, user("go"), *said])
    near = engine.last_report.tokens_after
    assert near > 0.85 * engine.threshold_tokens
    assert not engine.should_compress(engine.threshold_tokens + 10)
    assert engine.should_compress(int(engine.threshold_tokens * 1.2))


def test_a_second_compaction_soon_after_the_first_does_not_crush_the_summary():
    engine = ContextCompressor(context_length=200_000)
    talk = [m for n in range(150) for m in (user(f"Never touch file_{n}.py. " + "x " * 300), *rounds(1, n))]
    first = engine.compress([SYSTEM, *talk])
    before = engine.last_report
    engine.compress(
        [*first, *[m for n in range(12) for m in (user("and on"), *rounds(1, 900 + n, words=900))]]
    )
    after = engine.last_report
    assert estimate_tokens(after.summary) > 0.8 * estimate_tokens(before.summary)
    assert estimate_tokens(after.whole_summary) > 0.8 * estimate_tokens(before.whole_summary)


def todo(*items):
    arguments = json.dumps({"todos": [{"content": text, "status": status} for text, status in items]})
    call = {"id": "t", "type": "function", "function": {"name": "todo", "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t", "content": "ok"},
    ]


def test_open_items_stay_open_until_something_says_otherwise():
    engine = ContextCompressor(context_length=16_000, protect_last_n=2)
    opening = [SYSTEM, user("migrate"), *todo(("Migrate users", "in_progress"), ("Deploy", "pending"))]
    view = engine.compress([*opening, *rounds(60)])
    engine.compress([*view, *[m for n in range(30) for m in (user(f"q{n}"), *rounds(1, 500 + n))]])
    sections = parse_sections(engine.last_report.summary)
    assert "Migrate users" in sections["In Progress"]
    assert "Deploy" in sections["Next Steps"]
    assert "Migrate users" not in sections["Done"]
    assert "Last said" not in sections["Done"]


@pytest.mark.parametrize("focus", ["CI", "数据库访问"])
def test_short_words_and_scripts_without_spaces_can_be_a_focus(focus):
    talk = [m for n in range(60) for m in (user(f"question {n} about weather " + "w " * 40), *rounds(1, n))]
    talk += [user("The CI job needs node 22. 数据库要只读。"), *rounds(1, 99)]
    talk += [
        m for n in range(100, 160) for m in (user(f"question {n} about rain " + "w " * 40), *rounds(1, n))
    ]
    engine = ContextCompressor(context_length=8_000)
    engine.compress([SYSTEM, *talk], focus_topic=focus)
    assert "node 22" in engine.last_report.summary


@pytest.mark.parametrize(
    "odd",
    [
        {"role": "user", "content": None},
        {"role": "user"},
        {"role": "user", "content": []},
        {"role": "user", "content": ["plain"]},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": "x", "tool_calls": []},
    ],
)
def test_odd_shapes_near_the_end_come_out_valid(odd):
    messages = [SYSTEM, user("go"), *rounds(100), odd, user("and now?")]
    assert validate(ContextCompressor(context_length=16_000).compress(messages)) == []


def test_what_a_program_said_in_the_users_name_is_no_request():
    noise = user("<command-name>/exit</command-name>\n<local-command-stdout>Bye!</local-command-stdout>")
    engine = ContextCompressor(context_length=16_000)
    engine.compress([SYSTEM, user("build the parser"), noise, *rounds(100), user("go on")])
    assert "Bye!" not in engine.last_report.whole_summary


@pytest.mark.parametrize("place", [0.02, 0.5, 0.85])
def test_what_stands_anywhere_in_a_long_history_is_read(place):
    run, rule = rounds(2_000, words=3), user("Never open the lower sluice.")
    change = {"path": "src/sluice.py", "old_string": "a", "new_string": "b"}
    function = {"name": "patch", "arguments": json.dumps(change)}
    edit = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "e", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "e", "content": "ok"},
    ]
    at = next(n for n in range(int(len(run) * place), len(run)) if run[n]["role"] == "assistant")
    planted = [rule, *edit]
    engine = ContextCompressor(context_length=64_000)
    engine.compress(
        [
            SYSTEM,
            user("Look."),
            {"role": "assistant", "content": "I look."},
            *run[:at],
            *planted,
            *run[at:],
            user("Go on."),
        ]
    )
    assert rule["content"] in engine.last_report.summary
    assert "`src/sluice.py` — edited 1×" in engine.last_report.whole_summary
