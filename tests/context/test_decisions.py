"""Which sentences of an agent are decisions, and which are guesses."""

import pytest

from plimsoll.context.ledger.statements import decisions_in, guesses_in


@pytest.mark.parametrize(
    "sentence",
    [
        "The cleanest path is to teach the loader the variable before templates are rendered.",
        "Option 2 seems simplest, since both callers already pass the reader.",
        "The reason it runs twice is that the workflow is triggered by pushes and by pull requests.",
        "The schema has no review threads, so I’m switching to the GraphQL endpoint.",
        "The more robust approach is to compare hashes.",
        "Since the reader imports the cache, option 1 (a new interface) seems cleanest.",
    ],
)
def test_a_sentence_that_weighs_ways_or_gives_a_reason_is_a_decision(sentence):
    assert list(decisions_in(sentence)) == [sentence]


def test_a_guess_after_a_stated_cause_does_not_make_the_cause_a_guess():
    sentence = (
        "This wasn’t caused by a commit; it is a newer build image, possibly amplified by dependencies."
    )
    assert list(decisions_in(sentence)) == [sentence]
    assert list(guesses_in(sentence)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "The failure is probably caused by the newer image, because nothing else changed.",
        "The root cause is likely the newer build image.",
    ],
)
def test_a_cause_that_is_only_guessed_is_not_a_decision(sentence):
    assert list(decisions_in(sentence)) == []
    assert list(guesses_in(sentence)) == [sentence]


def test_a_decision_that_introduces_a_list_includes_the_list():
    text = (
        "The cleanest approach is to:\n\n1. Add a reader for one row.\n2. Use it in both.\n\nNow the tests."
    )
    assert list(decisions_in(text)) == [
        "The cleanest approach is to: Add a reader for one row; Use it in both"
    ]


def test_a_choice_that_a_block_of_code_shows_is_a_decision():
    text = "The simplest robust fix is a lock around the write:\n\n```python\nwith lock:\n    write()\n```"
    assert list(decisions_in(text)) == ["The simplest robust fix is a lock around the write"]


@pytest.mark.parametrize(
    "sentence",
    [
        "I’m monitoring the rerun to see whether the original failure is gone.",
        "Now I'll read the discussion and give you a concrete take on the trade-off.",
    ],
)
def test_what_an_agent_looks_at_next_is_no_decision(sentence):
    assert list(decisions_in(sentence)) == []


def test_a_line_that_announces_a_decision_and_no_list_is_none():
    assert list(decisions_in("Two problems are confirmed:\n\nHere is the table of all runs.")) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "I’m checking the parser first, because the report names two versions.",
        "The job failed twice, so I’ll read its log instead of guessing from the status.",
        "I’m going to rerun the suite rather than trusting the earlier result.",
        "Let me verify the schema before I edit it, because it is generated.",
        "Next I’m tracing the loader so that the patch follows the existing flow instead of a second path.",
        "I’m using the release workflow skill because this is about a tag.",
    ],
)
def test_an_agent_that_only_announces_its_next_look_or_message_decides_nothing(sentence):
    assert list(decisions_in(sentence)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "I’m going to support both markers rather than document the gap.",
        "I’ll keep the old option working instead of forcing everyone to rewrite it.",
        "I confirmed that the parser ignores the block, because the header ends before it.",
        "I’ll use the slower image because the faster one lacks the compiler.",
    ],
)
def test_an_agent_that_announces_what_it_will_change_and_why_decides(sentence):
    assert list(decisions_in(sentence)) == [sentence]
