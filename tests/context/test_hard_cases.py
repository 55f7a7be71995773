"""Conversations that make other compressors stop, loop or fail."""

import re

import pytest
from hard_cases import FIRST, HARD, SYSTEM, call, compacted, result, talk

from plimsoll import ContextCompressor, estimate_messages_tokens_rough, validate
from plimsoll.context.compressor import PLACEHOLDER, is_summary, prune_old_tool_results
from plimsoll.context.compressor.shorten import shorten
from plimsoll.context.compressor.shrink_results import _used_part
from plimsoll.errors import InvalidConversation
from plimsoll.messages import ToolAnswer, handle_of, without_handle


@pytest.mark.parametrize(("messages", "window"), HARD.values(), ids=HARD.keys())
def test_the_result_fits_and_keeps_the_newest_request(messages, window):
    engine, after = compacted(messages, window)
    assert estimate_messages_tokens_rough(after) <= engine.threshold_tokens
    newest = [m for m in messages if m["role"] == "user"][-1]
    assert newest in after
    assert sum(map(is_summary, after)) <= 1
    assert engine.last_report.outcome == "compacted"


@pytest.mark.parametrize(("messages", "window"), HARD.values(), ids=HARD.keys())
def test_twenty_rounds_on_the_result_change_nothing_for_the_worse(messages, window):
    engine = ContextCompressor(context_length=window)
    after = engine.compress(messages)
    weight = estimate_messages_tokens_rough(after)
    for _ in range(20):
        after = engine.compress(after)
        assert estimate_messages_tokens_rough(after) <= weight
        weight = estimate_messages_tokens_rough(after)
    assert validate(after) == []


def test_a_newest_request_larger_than_the_window_stays_and_that_is_all():
    request = {"role": "user", "content": "data " * 20_000}
    engine, after = compacted([SYSTEM, *talk(20), request], 16_000)
    assert after[-1] == request
    assert estimate_messages_tokens_rough(after) > engine.threshold_tokens
    assert "kept only the opening and the newest request" in engine.last_report.steps


def test_a_conversation_with_nothing_to_compress_comes_back_unchanged_and_says_so():
    messages = [SYSTEM, *talk(5)]
    engine, after = compacted(messages, 200_000)
    assert after == messages
    assert engine.last_report.outcome == "unchanged"
    assert "there are no messages between" in engine.last_report.reason
    assert engine.get_status()["last_outcome"] == "unchanged"
    assert engine.compression_count == 0


@pytest.mark.parametrize("messages", [[], [SYSTEM], [FIRST], [SYSTEM, FIRST]])
def test_the_shortest_conversations_come_back_unchanged(messages):
    assert ContextCompressor().compress(messages) == messages


@pytest.mark.parametrize("mistake", [{"messages": []}, ["hello"], [FIRST, None]])
def test_something_that_is_no_list_of_messages_is_told_apart(mistake):
    with pytest.raises(InvalidConversation, match="list of message objects"):
        ContextCompressor().compress(mistake)


def test_the_results_that_the_model_has_not_seen_are_the_last_to_shrink():
    unseen = result(2, "fresh " * 300)
    messages = [SYSTEM, FIRST, call(1), result(1, "old " * 9_000), call(2), unseen]
    _, after = compacted(messages, 8_000, able_to_recall=True)
    assert after[-1] == unseen
    assert len(after[3]["content"]) < 3_000
    assert handle_of(messages[3]) in after[3]["content"]


def cleared_twice(**options):
    """A conversation in which one compaction shortens results and another one follows; the engine and both lists."""
    old = [call(1), result(1, "old " * 9_000), call(2), result(2, "fresh " * 300)]
    engine, first = compacted([SYSTEM, FIRST, *old], 8_000, **options)
    handles = [one.handle for one in engine.last_report.shortened]
    second = engine.compress([*first, *talk(40)])
    return handles, first, second


def test_a_model_that_cannot_recall_is_shown_no_handle_and_the_report_has_it():
    handles, first, second = cleared_twice()
    assert handles == [handle_of(result(1, "old " * 9_000))]
    assert "h:" not in str(first) + str(second)
    named = cleared_twice(able_to_recall=True)
    assert handles[0] in str(named[1])


def test_what_somebody_said_about_a_handle_stays_word_for_word():
    quoted = {"role": "user", "content": "It says [full text under handle h:0123456789]"}
    _, after = compacted([SYSTEM, FIRST, *talk(30), quoted], 6_000)
    assert after[-1] == quoted


def test_a_stub_without_a_handle_is_known_as_a_stub_and_not_cleared_again():
    text = "collecting\n" * 100 + "2 failed, 8 passed in 0.41s\nexit code: 1"
    long = '{"command": "pytest -x ' + "tests/some/very/long/path/of/a/test.py " * 8 + '"}'
    messages = [
        SYSTEM,
        FIRST,
        call(1, arguments=long),
        result(1, text * 9),
        *talk(3),
        call(2),
        result(2, "ok"),
    ]
    engine = ContextCompressor(protect_last_n=1, context_length=3_000)
    stubbed = engine.clear(messages)
    assert stubbed[3]["content"].startswith(PLACEHOLDER)
    assert len(stubbed[3]["content"]) > 200
    assert "handle" not in stubbed[3]["content"]
    assert engine.clear(stubbed) == stubbed


# --- phase 1 by itself ----------------------------------------------------------------------------------------


def test_a_result_of_201_characters_goes_and_one_of_200_stays():
    messages = [SYSTEM, FIRST, call(1), result(1, "x" * 200), call(2), result(2, "y" * 201), FIRST]
    pruned, cleared = prune_old_tool_results(messages, 2, 6)
    assert pruned[3] == messages[3]
    assert pruned[5]["content"].startswith(PLACEHOLDER)
    assert [item.index for item in cleared] == [5]
    assert len(pruned[5]["content"]) < 201


def test_a_stub_says_what_it_was_how_it_ended_and_how_to_get_it_back():
    text = "collecting\n" * 100 + "2 failed, 8 passed in 0.41s\nexit code: 1"
    messages = [call(1, arguments='{"command": "pytest -x"}'), result(1, text)]
    pruned, cleared = prune_old_tool_results(messages, 0, 2)
    stub = pruned[1]["content"]
    for part in (PLACEHOLDER, "pytest -x", "exit 1", "2 failed, 8 passed", cleared[0].handle):
        assert part in stub
    assert pruned[1]["tool_call_id"] == "c1"


def test_results_in_head_and_tail_are_left_alone():
    messages = [call(1), result(1, "x" * 900), call(2), result(2, "y" * 900), call(3), result(3, "z" * 900)]
    pruned, _ = prune_old_tool_results(messages, 2, 4)
    assert [m == n for m, n in zip(messages, pruned, strict=True)] == [True, True, True, False, True, True]


def test_a_cleared_result_is_not_cleared_again():
    messages = [call(1), result(1, "x" * 900)]
    once, _ = prune_old_tool_results(messages, 0, 2)
    twice, cleared = prune_old_tool_results(once, 0, 2)
    assert twice == once
    assert cleared == ()


# --- the seams --------------------------------------------------------------------------------------------------


def opening(second):
    return [SYSTEM, FIRST, *second]


def test_the_head_takes_results_along_where_the_tail_starts_with_the_assistant():
    rounds = [m for n in range(2, 60) for m in (call(n), result(n, "line " * 100))]
    _, after = compacted(opening([call(1), result(1, "a"), *rounds]), 8_000, protect_last_n=4)
    assert [m["role"] for m in after[:6]] == ["system", "user", "assistant", "tool", "user", "assistant"]
    assert is_summary(after[4])


def test_the_head_ends_before_the_call_where_the_tail_starts_with_the_user():
    messages = [*opening([call(1), result(1, "a")]), *talk(8)]
    _, after = compacted(messages, 4_000, protect_last_n=2, target_ratio=0.1)
    assert [m["role"] for m in after] == ["system", "user", "assistant", "user", "assistant"]
    assert is_summary(after[2])


def test_the_tail_starts_one_group_earlier_where_no_role_fits():
    messages = [*opening([{"role": "assistant", "content": "sure"}]), *talk(12)]
    _, after = compacted(messages, 6_000, protect_last_n=2)
    assert [m["role"] for m in after[:5]] == ["system", "user", "assistant", "user", "assistant"]
    assert is_summary(after[3])
    assert after[4:] == messages[-len(after[4:]) :]


# --- when ----------------------------------------------------------------------------------------------------------


def test_a_tail_inside_of_the_run_that_the_head_asked_for_takes_that_request_along():
    asked = {"role": "user", "content": "Review every file of it."}
    steps = [one for n in range(60) for one in (call(n), result(n, f"file {n}: " + "word " * 150))]
    newest = {"role": "user", "content": "Now write the test."}
    messages = [SYSTEM, FIRST, asked, *steps, {"role": "assistant", "content": "Reviewed."}, newest]
    engine, lighter = compacted(messages, 16_000)
    at = next(n for n, message in enumerate(lighter) if is_summary(message))
    assert [lighter[at - 1], lighter[at + 1], lighter[-1]] == [FIRST, asked, newest]
    assert len(lighter) < len(messages) // 2
    assert engine.last_report.outcome == "compacted"


def test_what_the_ladder_moves_to_the_middle_is_summarised_from_what_was_said():
    lines = [f"word {n} and more words" for n in range(900)]
    large = [
        one
        for n in range(12)
        for one in (
            call(n, arguments=f'{{"command": "look {n}"}}'),
            result(n, "\n".join([*lines[:450], f"the reason is in pkg/module_{n}.py", *lines[450:]])),
        )
    ]
    newest = {"role": "user", "content": "go on"}
    messages = [SYSTEM, FIRST, {"role": "assistant", "content": "I look."}, FIRST, *large, newest]
    engine, _ = compacted(messages, 64_000, target_tokens=900)
    said = engine.last_report.whole_summary
    assert [step.split()[0] for step in engine.last_report.steps] == ["shortened", "cleared", "summarised"]
    assert "the reason is in pkg/module_" in said
    assert not [message for message in messages if handle_of(message).removeprefix("h:") in said]


def test_compacting_again_after_little_was_said_does_not_thin_out_the_summary():
    worked = [
        one
        for n in range(60)
        for one in (
            call(n, arguments=f'{{"command": "check harbour/quay_{n}.py"}}'),
            result(n, f"quay_{n} takes berth_{n} when the tide gauge shows depth_{n}\n" + "word " * 120),
        )
    ]
    view = [SYSTEM, *talk(2), {"role": "user", "content": "Check the quays."}, *worked, *talk(11, words=5)]
    sizes = []
    for _ in range(8):
        engine, view = compacted(view, 32_000)
        sizes.append(len(engine.last_report.whole_summary))
        view = [*view, *talk(11, words=5)]
    assert min(sizes) > sizes[0] * 0.85


def test_compaction_is_due_at_the_threshold_and_not_one_token_before():
    engine = ContextCompressor(context_length=100_000)
    assert not engine.should_compress(49_999)
    assert engine.should_compress(50_000)
    engine.update_from_response({"prompt_tokens": 50_000, "completion_tokens": 5, "total_tokens": 50_005})
    assert engine.should_compress()
    assert engine.last_total_tokens == 50_005


def test_after_a_compaction_that_stayed_near_the_line_it_waits_until_the_line_is_crossed_again():
    engine = ContextCompressor(context_length=16_000)
    engine.compress([SYSTEM, *talk(20), {"role": "user", "content": "data " * 20_000}])
    assert not engine.should_compress(9_000)
    assert not engine.should_compress(7_000)
    assert engine.should_compress(9_000)


def test_another_model_brings_another_threshold():
    engine = ContextCompressor(context_length=200_000)
    engine.update_model("small", 32_000)
    assert (engine.threshold_tokens, engine.tail_token_budget, engine.context_length) == (
        16_000,
        3_200,
        32_000,
    )


def test_a_count_by_the_provider_above_the_estimate_makes_the_result_smaller():
    messages = [SYSTEM, *talk(60)]
    plain = ContextCompressor(context_length=8_000, protect_last_n=1).compress(messages)
    heavier = ContextCompressor(context_length=8_000, protect_last_n=1).compress(
        messages, current_tokens=int(1.8 * estimate_messages_tokens_rough(messages))
    )
    assert estimate_messages_tokens_rough(heavier) < estimate_messages_tokens_rough(plain)


@pytest.mark.parametrize("content", ["word " * 4_000, [{"type": "text", "text": "word " * 4_000}]])
def test_a_message_that_is_shortened_again_names_its_handle_once_at_its_end(content):
    message = {"role": "user", "content": content}
    again = shorten(shorten(message, 400), 60)
    assert re.findall(r"h:[0-9a-f]{4,10}", str(again)) == [handle_of(message)]
    assert "h:" not in str(without_handle(again))


def test_a_result_that_is_shortened_again_to_what_was_used_names_its_handle_once():
    long = result(1, "\n".join(f"line {n} of the log" for n in range(900)))
    once = shorten(long, 300)
    answer = ToolAnswer(0, 1, call(1)["tool_calls"][0])
    again = _used_part([call(1), once], answer, 60)
    assert re.findall(r"h:[0-9a-f]{4,10}", str(again)) == [handle_of(long)]


def test_a_line_for_an_image_names_no_handle_to_a_reader_without_a_tool_wherever_it_stands():
    line = {"type": "text", "text": "[image removed; full content under handle h:0123456789]"}
    question = {"type": "text", "text": "What is this?"}
    shown = without_handle({"role": "user", "content": [line, question]})
    assert [part["text"] for part in shown["content"]] == ["[image removed]", "What is this?"]
