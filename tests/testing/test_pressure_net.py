"""The net that catches a request which tells the model how full its window is."""

import pytest

from plimsoll.testing.pressure import window_usage_mentions


def body(text):
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]}


@pytest.mark.parametrize(
    "text",
    [
        "You have 4,000 tokens left.",
        "Tokens remaining: 12", "The remaining context is small.", "82% of your context window is used",
        "The context is 85 % full.", "Your context window is nearly full, so finish soon.",
        "context window is 200000 tokens", "Context usage: high", "You are running out of context.",
        "90% of context",
    ],
)  # fmt: skip
def test_a_sentence_about_the_window_is_found(text):
    assert window_usage_mentions([body("harmless"), body(text)])


@pytest.mark.parametrize(
    "text",
    [
        "[Note: Some earlier conversation turns have been compacted into a summary to save context space.]",
        "[Old tool output cleared to save context space]",
        "The window is open; 20% of the tests fail.", "Use at most 2,000 tokens for the summary.",
        "the disk is 93% used", "## Critical Context",
        "Close the window when 3 of 4 steps remain.",
    ],
)  # fmt: skip
def test_other_sentences_pass(text):
    assert window_usage_mentions([body(text)]) == []


def test_what_stands_in_tools_and_the_system_prompt_is_looked_at():
    told = {"system": "10 tokens left", "tools": [{"description": "context window is full"}], "messages": []}
    assert len(window_usage_mentions([told, told])) == 2
