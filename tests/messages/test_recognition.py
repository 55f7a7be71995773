"""A message is found again in the list that was made from its own, however many are equal to it."""

import copy
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from message_builders import user
from plimsoll.messages import excerpt, extends, handle_of, match_messages, repair, text_of, with_block
from plimsoll.messages.alignment import AlignmentCandidate, best_alignment
from plimsoll.messages.repair import STUB_RESULT

SUMMARY = {"role": "assistant", "content": "what happened before"}


def call(id="call_0"):
    function = {"name": "tide", "arguments": "{}"}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }


def result(text="high water", id="call_0"):
    return {"role": "tool", "tool_call_id": id, "content": text}


def stub(message):
    return {**message, "content": f"[cleared]\nfull text under handle {handle_of(message)}"}


ROUNDS = [[user("Go on.")], [user("Go on."), call(), result()], [call(), result()], [user("x" * 90)]]
alike = st.lists(st.sampled_from(ROUNDS), max_size=12).map(
    lambda rounds: [copy.deepcopy(message) for one in rounds for message in one]
)


@given(alike, st.data())
def test_what_an_engine_passed_on_is_found_at_its_own_place_among_equal_ones(before, data):
    kept = sorted(data.draw(st.sets(st.integers(0, len(before) - 1)))) if before else []
    at = data.draw(st.integers(0, len(kept)))
    after = [before[place] for place in kept]
    assert match_messages(before, [*after[:at], SUMMARY, *after[at:]]) == [*kept[:at], None, *kept[at:]]


@given(alike, st.data())
def test_results_that_became_equal_stubs_are_found_after_their_own_calls(before, data):
    start = data.draw(st.integers(0, len(before)))
    cleared = {
        n for n in range(start, len(before)) if before[n]["role"] == "tool" and data.draw(st.booleans())
    }
    tail = [stub(message) if n in cleared else message for n, message in enumerate(before)][start:]
    assert match_messages(before, [SUMMARY, *tail])[1:] == list(range(start, len(before)))
    # Once more, when some of them are stubs already.
    shortened = [n - start + 1 for n in cleared]
    view, again = [SUMMARY, *tail], [stub(m) if m["role"] == "tool" else m for m in tail]
    new = {"role": "assistant", "content": "more happened"}
    found = match_messages(view, [new, *again[2:]], fixed=[0], shortened=shortened)
    assert found == [None, *range(3, len(view))]


@given(alike, st.data())
def test_head_and_tail_that_came_back_as_copies_are_head_and_tail(before, data):
    head = data.draw(st.integers(0, len(before)))
    tail = data.draw(st.integers(head, len(before)))
    after = copy.deepcopy([*before[:head], SUMMARY, *before[tail:]])
    assert match_messages(before, after) == [*range(head), None, *range(tail, len(before))]


@given(alike, alike)
def test_whatever_came_back_places_ascend_and_nothing_is_found_twice(before, after):
    found = match_messages(before, after)
    places = [place for place in found if place is not None]
    assert places == sorted(set(places))
    assert len(found) == len(after)
    for message, place in zip(after, found, strict=True):
        assert place is None or before[place]["role"] == message["role"]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3)), max_size=4, unique_by=lambda f: f[0]),
        max_size=4,
    )
)
def test_no_other_chain_has_more_fits_or_surer_ones(drawn):
    fits = [[AlignmentCandidate(*one) for one in fits] for fits in drawn]
    chain = [(n, place) for n, place in enumerate(best_alignment(fits, range(6))) if place is not None]
    every = [(n, fit.place) for n, one in enumerate(fits) for fit in one]
    surety = {(n, fit.place): fit.confidence for n, one in enumerate(fits) for fit in one}

    def worth(links):
        kinds = [surety[link] for link in links]
        return kinds.count(3), len(kinds), kinds.count(2)

    best = max(
        worth(links)
        for size in range(len(fits) + 1)
        for links in combinations(every, size)
        if all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(links))
    )
    assert worth(chain) == best


def test_a_message_that_was_said_a_thousand_times_is_found_in_time():
    before = [user("Go on.") for _ in range(3_000)]
    after = copy.deepcopy([SUMMARY, *before[2_000:], SUMMARY])
    assert match_messages(before, after) == [None, *range(2_000, 3_000), None]


def test_a_prompt_with_a_note_is_the_prompt_and_has_its_words():
    prompt = {"role": "system", "content": "You keep the log."}
    noted = with_block(prompt, "[Note]")
    assert match_messages([prompt, user("a")], [noted, user("a")]) == [0, 1]
    assert extends(prompt, noted)
    assert extends(prompt, prompt)
    assert not extends(noted, prompt)
    assert not extends(prompt, {**prompt, "content": "You keep the log"})


def test_what_a_repair_mended_is_found_again():
    before = [
        user("a"),
        {"role": "assistant", "content": None},
        user("b"),
        {"role": "user", "content": ["c"]},
    ]
    assert match_messages(before, repair(before)) == [0, 1, 2, 3]


def test_a_message_without_its_image_is_the_same_message():
    seen = {
        "role": "user",
        "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}],
    }
    line = f"[image_url left out; full content under handle {handle_of(seen)}]"
    without = {"role": "user", "content": [seen["content"][0], {"type": "text", "text": line}]}
    assert match_messages([user("a"), seen, user("b")], [user("a"), without, user("b")]) == [0, 1, 2]


def test_a_summary_that_ends_with_the_words_of_a_stub_is_no_message():
    said = user("a long request " * 9)
    summary = user("what happened before\n" * 20 + f"[full text under handle {handle_of(said)}]")
    assert match_messages([said, user("b")], [summary, user("b")]) == [None, 1]


def test_an_excerpt_that_names_no_handle_is_found_at_its_message():
    long = [user(f"Ship {number}: " + f"draught {number} metres, " * 40) for number in range(3)]
    long[1]["content"] = [{"type": "text", "text": long[1]["content"]}]
    cut = [user(excerpt(text_of(message), 200)) for message in long]
    cut[2]["content"] += "\n[image_url left out]"
    assert match_messages(long, [SUMMARY, *cut]) == [None, 0, 1, 2]
    assert match_messages(long, [user(excerpt("Another ship. " * 60, 200))]) == [None]


def test_a_message_that_claims_an_absurd_excerpt_is_new():
    claim = user(f"head\n[… {'9' * 5_000} characters left out …]\ntail")
    assert match_messages([user("a long message"), user("b")], [claim]) == [None]


def test_stubs_of_missing_results_do_not_pull_messages_to_an_earlier_round():
    """The earlier round was repaired as the newest one is now, so their stubs are equal."""
    round_ = [user("Go on."), call(), result(STUB_RESULT)]
    before = [*round_, user("Wait."), user("Go on."), call()]
    after = [SUMMARY, user("Go on."), call(), result(STUB_RESULT)]
    assert match_messages(before, after, fixed=[2]) == [None, 4, 5, None]
