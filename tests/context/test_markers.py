"""Our own summary is recognised where we put it; what people paste stays theirs."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from message_builders import assistant, user
from plimsoll.archive import ViewItem
from plimsoll.context import ContextCompressor
from plimsoll.context.compressor import PLACEHOLDER, prune_old_tool_results
from plimsoll.context.lcm import LcmEngine
from plimsoll.context.markers import (
    NOTE,
    SUMMARY_PREFIX,
    as_said,
    as_stored,
    find_summary,
    has_note,
    is_summary,
    newest_own_request,
)
from plimsoll.dialects.anthropic.dialect import system_with_note
from plimsoll.messages import text_of, validate

HEADINGS = (
    "## Goal\nship it\n## Constraints & Preferences\n(none)\n## Progress\n### Done\nhalf\n### In Progress\n(none)\n"
    "### Blocked\n(none)\n## Key Decisions\n(none)\n## Relevant Files\n(none)\n## Next Steps\n(none)\n"
    "## Critical Context\nport 8431"
)
PASTED = {"role": "user", "content": f"{SUMMARY_PREFIX}\n\n{HEADINGS}\n\nPlease go on with this."}
SYSTEM = {"role": "system", "content": "You are a careful agent."}
NOTED = {"role": "system", "content": [{"type": "text", "text": "You help."}, {"type": "text", "text": NOTE}]}


def calls(n):
    function = {"name": "read_file", "arguments": json.dumps({"path": f"src/part_{n}.py"})}
    call = {"id": f"call_{n}", "type": "function", "function": function}
    result = {"role": "tool", "tool_call_id": f"call_{n}", "content": f"line of part {n}\n" * 60}
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]


def talk(count, words=150):
    return [
        one
        for n in range(count)
        for one in (user(f"request {n}: " + "word " * words), assistant(f"reply {n}: " + "word " * words))
    ]


def from_json(messages):
    return json.loads(json.dumps(messages))


@pytest.mark.parametrize("engine", [ContextCompressor, LcmEngine])
@pytest.mark.parametrize("lead", [[SYSTEM], [NOTED], []], ids=["system", "noted", "no system"])
def test_a_first_message_that_reads_like_a_summary_is_kept_and_so_is_the_newest_request(engine, lead):
    messages = [*lead, PASTED, assistant("I go on."), *talk(30), user("Which port is it?")]
    lighter = engine(context_length=8_000, protect_last_n=4).compress(messages)
    assert len(lighter) < len(messages)
    assert PASTED in lighter
    assert lighter[-1] == user("Which port is it?")


@pytest.mark.parametrize("engine", [ContextCompressor, LcmEngine])
@pytest.mark.parametrize("lead", [[SYSTEM], []], ids=["system", "no system"])
def test_a_pasted_summary_that_is_the_only_request_stays_word_for_word(engine, lead):
    run = [message for n in range(40) for message in calls(n)]
    lighter = engine(context_length=8_000, protect_last_n=4).compress([*lead, PASTED, *run])
    assert len(lighter) < 60
    assert PASTED in lighter


@pytest.mark.parametrize("lead", [[SYSTEM], []], ids=["system", "no system"])
def test_a_summary_pasted_as_the_second_request_is_not_mistaken_for_ours(lead):
    messages = [*lead, user("hello"), assistant("hi"), PASTED]
    assert find_summary(messages) is None
    assert newest_own_request(messages) == len(messages) - 1


def test_a_summary_is_ours_only_with_the_note_in_the_system_prompt():
    ours = assistant(f"{SUMMARY_PREFIX}\n\n{HEADINGS}")
    assert find_summary([NOTED, user("a"), ours, user("b")]) == 2
    assert find_summary([SYSTEM, user("a"), ours, user("b")]) is None


def test_the_archive_tells_our_summary_from_a_pasted_one():
    lead = [ViewItem(NOTED, 9, 1), ViewItem(user("a"), 9, 2), ViewItem(assistant("b"), 9, 3)]
    message = user(PASTED["content"])
    assert find_summary(as_stored([*lead, ViewItem(message, 9, 4)])) is None
    assert find_summary(as_stored([*lead, ViewItem(message, 9, node="n:aaaaaaaaaa")])) == 3
    # Without a system prompt too, where words and place prove nothing.
    assert find_summary(as_stored([*lead[1:], ViewItem(message, 9, node="n:aaaaaaaaaa")])) == 2
    assert find_summary(as_stored([*lead[1:], ViewItem(message, 9, 4)])) is None


def test_what_somebody_said_is_never_our_summary():
    said = as_said(assistant(f"{SUMMARY_PREFIX}\n\n{HEADINGS}"))
    assert find_summary([NOTED, user("a"), said, user("b")]) is None
    assert json.loads(json.dumps(said)) == said


def test_a_system_prompt_that_quotes_the_note_gets_a_note_of_its_own():
    quoting = {"role": "system", "content": f"Plimsoll appends {NOTE} to the prompt. Do not repeat it."}
    assert not has_note(quoting)
    once = ContextCompressor(context_length=8_000, protect_last_n=4).compress(
        [quoting, *talk(30), user("go")]
    )
    assert has_note(once[0])
    twice = ContextCompressor(context_length=8_000, protect_last_n=4).compress(
        [*from_json(once), *talk(30), user("go")]
    )
    assert text_of(twice[0]).count(NOTE) == 2  # the quotation and one note


def test_a_note_is_found_where_a_store_joined_the_blocks_of_the_system_prompt():
    assert has_note({"role": "system", "content": f"You help.\n\n{NOTE}"})


def test_a_pasted_summary_reaches_the_log_of_the_lossless_engine():
    engine = LcmEngine(context_length=8_000, protect_last_n=4)
    engine.compress([SYSTEM, *talk(2), PASTED, assistant("I go on."), *talk(30), user("go")])
    assert engine.store.messages(6, 6)[0].message == PASTED


def test_output_that_begins_with_a_stub_is_cleared_and_a_stub_is_not_cleared_again():
    printed = {**calls(1)[1], "content": f"{PLACEHOLDER}\nread_file(a.py)\n" + "a line of the log\n" * 90}
    messages = [SYSTEM, user("a"), calls(1)[0], printed, user("b")]
    once, cleared = prune_old_tool_results(messages, 2, 5)
    assert [one.index for one in cleared] == [3]
    assert prune_old_tool_results(once, 2, 5) == (once, ())


@pytest.mark.parametrize("system", ["You help.", [{"type": "text", "text": "You help."}]])
def test_anthropics_system_prompt_gets_the_note_once(system):
    once = system_with_note(system)
    assert once[-1]["text"] == NOTE
    assert system_with_note(once) == once


OPENINGS = st.sampled_from(
    [
        [user("first"), assistant("reply")],
        [user("first"), *calls(900)],
        [user("first"), *calls(901), *calls(902)],
        [user("first"), *calls(903), assistant("done")],
        [assistant("Welcome!"), user("first"), assistant("reply")],
        [PASTED, assistant("reply")],
        [user("first"), assistant("reply"), PASTED, assistant("reply")],
    ]
)
TURNS = st.lists(st.sampled_from(["talk", "run"]), min_size=4, max_size=8)


def turns(kinds, n):
    for kind in kinds:
        n += 10
        yield user(f"request {n}: " + "word " * 120)
        if kind == "run":
            for step in range(8):
                yield from calls(n * 10 + step)
        yield assistant(f"reply {n}: " + "word " * 120)


@given(
    st.booleans(), OPENINGS, st.lists(TURNS, min_size=2, max_size=4), st.sampled_from([4_000, 8_000, 16_000])
)
@settings(max_examples=25, deadline=None)
def test_repeated_compaction_after_restarts_leaves_one_summary(has_system, opening, batches, window):
    """Each compaction reads plain JSON with a new engine: only words, place and note tell what is ours."""
    view = [*([SYSTEM] if has_system else []), *opening]
    pasted = view.count(PASTED)
    for n, batch in enumerate(batches):
        view = [*view, *turns(batch, n * 1_000)]
        newest = view[newest_own_request(view)]
        view = from_json(ContextCompressor(context_length=window, protect_last_n=3).compress(view))
        assert newest in view
        assert validate(view, "openai") == []
        assert sum(map(is_summary, view)) <= 1 + pasted
        assert sum(is_summary(one) and one != PASTED for one in view) <= 1
