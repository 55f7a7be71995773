"""A summary states the newest value, and nothing that people or the agent took back, refuted or fixed."""

import tomllib
from itertools import count
from pathlib import Path

import pytest

from plimsoll.context.ledger import read_facts
from plimsoll.context.ledger.attributes import change_in
from plimsoll.context.ledger.statements import refuted_in
from plimsoll.context.ledger.write import SummaryRoom, write_summary

CASES = tomllib.loads(Path(__file__).with_name("changes_of_mind.toml").read_text("utf-8"))["conversation"]


def messages_of(text):
    messages = [{"role": "system", "content": "You are a helpful assistant."}]
    ids = count(1)
    for line in text.strip().splitlines():
        sign, _, rest = line.partition(" ")
        if sign in ("U:", "A:"):
            messages.append({"role": {"U:": "user", "A:": "assistant"}[sign], "content": rest})
        elif sign == "$":
            name, arguments = rest.split(" ", 1)
            function = {"name": name, "arguments": arguments}
            call = {"id": f"c{next(ids)}", "type": "function", "function": function}
            if messages[-1]["role"] == "assistant":
                messages[-1].setdefault("tool_calls", []).append(call)
            else:
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif sign == ">":
            called = messages[-1]["tool_calls"][-1]["id"]
            messages.append({"role": "tool", "tool_call_id": called, "content": rest})
        else:
            messages[-1]["content"] += f"\n{line}"
    return messages


def summary_of(text):
    return write_summary(read_facts(messages_of(text)), {}, SummaryRoom(2_000, 2_000)).sections


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_summary_states_what_holds_and_nothing_that_is_over(case):
    summary = "\n".join(summary_of(case["text"]).values())
    assert [words for words in case["current"] if words not in summary] == []
    assert [words for words in case["over"] if words in summary] == []


REPLACED = {
    "a clause": (
        "Actually we moved to Porto.",
        "I live in Rome, and I work as a nurse.",
        "[…] I work as a nurse.",
    ),
    "all of it": ("I sold the Golf.", "My car is an old Golf.", ""),
    "a budget for the same thing": ("We raised the budget for Japan to 9.", "My budget for Japan is 7.", ""),
    "a budget for something else": (
        "We raised the budget for shoes to 9.",
        "My budget for Japan is 7.",
        "My budget for Japan is 7.",
    ),
    "no value": (
        "The flights are on the 19th now.",
        "I get migraines from late flights.",
        "I get migraines from late flights.",
    ),
    "another attribute": ("I moved to Porto.", "I drink my coffee black.", "I drink my coffee black."),
}


@pytest.mark.parametrize(("newer", "earlier", "left"), REPLACED.values(), ids=REPLACED)
def test_a_later_value_replaces_the_clause_with_the_earlier_one(newer, earlier, left):
    assert change_in(newer).leaves(earlier) == left


def test_a_sentence_that_states_no_change_replaces_nothing():
    assert change_in("I live in Lisbon with my partner Ana.") is None


def test_a_guess_is_dropped_when_the_agent_says_that_it_was_wrong():
    guesses = ["It is very likely an expired certificate.", "Perhaps the session store is full."]
    assert refuted_in("The certificate is fine.", guesses) == guesses[:1]
    assert refuted_in("Not that either.", guesses) == guesses[1:]
    assert refuted_in("The root cause: a missing variable.", guesses) == guesses
    assert refuted_in("Let me look at the log.", guesses) == []


def test_a_failed_call_is_over_when_it_is_made_again_with_another_argument():
    text = """
U: Book it.
$ book_flight {"no": "LX 340", "bags": 2}
> {"error": "payment declined"}
$ book_flight {"no": "LX 340", "bags": 2, "card": "7781"}
> {"ok": true, "booking": "QX81LM"}
A: Booked.
U: And the receipt?
"""
    assert "declined" not in summary_of(text).get("Blocked", "")


def test_the_goal_is_not_what_the_person_had_undone():
    text = "U: Rename getUser everywhere.\nA: Done.\nU: Undo that.\nA: Undone.\nU: Add a note to getUser."
    assert "everywhere" not in summary_of(text)["Goal"]
