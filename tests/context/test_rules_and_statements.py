"""Which sentences of people are rules in eight languages, which only tell something, and what takes a rule back."""

import tomllib
from pathlib import Path

import pytest

from message_builders import assistant as said
from message_builders import user
from plimsoll.context.ledger import read_facts

SENTENCES = tomllib.loads(Path(__file__).with_name("sentences_of_people.toml").read_text("utf-8"))


def held(*texts):
    """The limits and wishes that hold after these messages of a person."""
    messages = [message for text in texts for message in (user(text), said("Done."))]
    facts = read_facts([user("Port the importer to the new schema."), said("I begin."), *messages])
    return [*facts.constraints, *facts.wishes]


@pytest.mark.parametrize("statement", SENTENCES["statements"])
def test_what_tells_something_or_asks_for_work_at_hand_is_no_rule(statement):
    assert held(statement) == []


@pytest.mark.parametrize("rule", SENTENCES["rules"])
def test_a_rule_holds_in_every_language(rule):
    assert held(rule) == [rule]


@pytest.mark.parametrize(("rule", "revocation"), SENTENCES["revoked"])
def test_a_rule_that_was_taken_back_does_not_hold(rule, revocation):
    assert rule in held(rule)
    assert rule not in held(rule, revocation)


@pytest.mark.parametrize(("rule", "remark"), SENTENCES["kept"])
def test_a_question_or_a_remark_about_the_same_thing_takes_nothing_back(rule, remark):
    assert rule in held(rule, remark)


@pytest.mark.parametrize("message", SENTENCES["quoted"])
def test_a_rule_that_somebody_else_or_a_program_states_is_not_the_users(message):
    assert held(message) == []


def test_a_rule_beside_a_statement_in_the_same_sentence_holds():
    sentence = "I don't have the old key, but never write a key to the log."
    assert held(sentence) == [sentence]
