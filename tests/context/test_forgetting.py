"""What a person asks to forget is gone from every section and from the evidence, and stays gone."""

import pytest

from message_builders import user
from plimsoll import ContextCompressor
from plimsoll.context.ledger import read_facts

ANSWER = "That is a fine thing to do, and there is much to say about it in general. " * 12
HARBOUR = "I moved with my two dogs to a quiet district near the harbour last spring."


def chat(*said: str, answers: dict[int, str] | None = None, first: int = 0) -> list[dict[str, str]]:
    """A long chat in which the user says these things early; `answers` by their place."""
    messages = [{"role": "system", "content": "You are a personal assistant."}] if not first else []
    for number in range(60):
        text = said[number] if number < len(said) else f"What about the weather in town {first + number}?"
        reply = (answers or {}).get(number, ANSWER)
        messages += [user(text), {"role": "assistant", "content": reply}]
    return messages


def compacted(messages, engine=None, **options):
    """The whole summary of a chat, and the engine and view to go on with."""
    engine = engine or ContextCompressor(context_length=16_000, protect_last_n=4, **options)
    view = engine.compress(messages)
    assert engine.last_report is not None
    return engine.last_report.whole_summary, engine, view


@pytest.mark.parametrize(
    ("fact", "request_to_forget", "secret"),
    [
        ("I earn 2,900 a month at the clinic.", "Forget what I said about my salary.", "2,900"),
        ("I earn only 2,900 a month.", "Please forget my income.", "2,900"),
        ("I live in Harrogate, close to the old market.", "Please forget my address.", "Harrogate"),
        ("I am 47 years old and run every week.", "Can you forget my age?", "47 years"),
        ("I was diagnosed with diabetes by 3 doctors.", "Forget everything about my health.", "diabetes"),
        (
            "Ich verdiene 2.900 Euro im Monat.",
            "Vergiss bitte, was ich über mein Gehalt gesagt habe.",
            "2.900",
        ),
        ("Gano 2.900 euros al mes en la clínica.", "Olvida lo que dije sobre mi sueldo.", "2.900"),
        ("Moro em Setúbal, perto do mercado velho.", "Por favor, esqueça o meu endereço.", "Setúbal"),
        ("J'ai 47 ans et je cours chaque semaine.", "Oublie mon âge.", "47 ans"),
        ("我每个月挣12900元，在诊所上班。", "请忘记我的工资。", "12900"),
        ("私の月収は29万円で、病院で働いています。", "給料のことは忘れてください。", "29万"),
        ("I earn 2,900 a month at the clinic.", "Vergiss mein Gehalt.", "2,900"),
    ],
)
def test_a_fact_is_forgotten_by_its_topic_without_the_word_of_the_request(fact, request_to_forget, secret):
    answers = {1: f"Good to know: {fact} That is plenty. " + ANSWER}
    summary, _, _ = compacted(chat("Plan a trip.", fact, HARBOUR, "And?", request_to_forget, answers=answers))
    assert secret not in summary
    assert "harbour" in summary


def test_what_was_forgotten_stays_forgotten_at_the_next_compaction():
    fact = "I earn 2,900 a month as a night nurse at the clinic."
    summary, engine, view = compacted(chat("Plan a trip.", fact, HARBOUR))
    assert "2,900" in summary
    later = [*view, *chat("Forget what I said about my salary.", first=60)]
    summary, engine, view = compacted(later, engine)
    assert "2,900" not in summary
    summary, _, _ = compacted([*view, *chat(first=120)], engine)
    assert "2,900" not in summary
    assert "harbour" in summary


class Repeats:
    """A summary model that repeats what it has read."""

    context_length = 100_000

    def summarize(self, prompt, max_tokens):
        return (
            "## Goal\n- Plan a trip.\n## Constraints & Preferences\n- The user earns 2,900 a month.\n"
            "## Progress\n### In Progress\n- The weather in town 50.\n## Critical Context\n"
            "- The user has a salary of 2,900 a month.\n- The user moved to a quiet district near the harbour.\n"
        )


def test_a_summary_model_cannot_bring_back_what_is_forgotten():
    said = ("Plan a trip.", "I earn 2,900 a month at the clinic.", HARBOUR, "Forget my salary.")
    summary, engine, _ = compacted(chat(*said), summarizer=Repeats())
    assert engine.last_report.summary_source == "model"
    assert "2,900" not in summary
    assert "near the harbour" in summary


def test_forgetting_what_was_just_said_takes_the_message_before():
    said = ("Plan a trip.", HARBOUR, "My locker at the pool has the code 48213.", "Forget what I just said.")
    summary, _, _ = compacted(chat(*said))
    assert "48213" not in summary
    assert "harbour" in summary


def test_rules_on_the_topic_stay_and_so_does_what_is_asked_beside_the_request():
    said = (
        "Plan a trip.",
        "Never mention my salary to my colleagues.",
        "I earn 2,900 a month at the clinic.",
        "Forget what I said about my salary. Which trains go to Lisbon on Sunday?",
    )
    summary, _, _ = compacted(chat(*said))
    assert "Never mention my salary to my colleagues." in summary
    assert "2,900" not in summary
    assert "Forget what I said" not in summary


def test_what_the_person_says_again_after_the_request_holds():
    said = (
        "I earn 2,900 a month at the clinic.",
        "Forget my salary.",
        "I earn 3,450 a month at the new clinic now.",
    )
    summary, _, _ = compacted(chat("Plan a trip.", *said))
    assert "2,900" not in summary
    assert "3,450" in summary


def test_forget_it_withdraws_the_request_before_where_tools_are_used():
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "terminal", "arguments": '{"command": "make"}'},
    }
    facts = read_facts(
        [
            user("Port the importer to the new schema."),
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "ok"},
            user("Rename the schema file in docs."),
            {"role": "assistant", "content": "Which name?"},
            user("Forget it."),
        ]
    )
    assert [one.text for one in facts.requests] == [
        "Port the importer to the new schema.",
        "Rename the schema file in docs.",
    ]
    assert facts.newest_request is facts.requests[0]
