"""What people say about themselves in a chat: whose it is, what replaces it, what they ask to forget."""

import pytest

from plimsoll import ContextCompressor
from plimsoll.context.ledger import read_facts
from plimsoll.context.ledger.personal import PersonalStatements, forgotten_in, statements_in


def read(*said: str) -> PersonalStatements:
    """A chat in which the user says these things, one a message."""
    found = PersonalStatements()
    for number, text in enumerate(said):
        found.read(text, number)
    return found


def lines(*said: str) -> list[str]:
    """What is left of it."""
    return [one.line for one in read(*said).said]


def test_a_statement_is_kept_in_its_own_words_with_its_speaker() -> None:
    assert lines("I started baking rye bread on Sundays.") == ["User: I started baking rye bread on Sundays."]


def test_a_request_for_help_says_nothing_about_the_person() -> None:
    said = "Could you help me polish this note?\n\nI started baking rye bread on Sundays with my sister."
    assert lines(said) == ["User: I started baking rye bread on Sundays with my sister."]


@pytest.mark.parametrize(
    "said",
    [
        "Hi, I got this email from a colleague, can you break it down?",
        "Can you help me understand what my friend meant in this email they sent me?",
    ],
)
def test_words_that_the_user_received_are_somebody_elses(said: str) -> None:
    message = f"{said}\n\nDear Ana, I always cycle to the harbour office."
    assert [one.about for one in statements_in(message, 0)][-1] == "quoted"


@pytest.mark.parametrize(
    "said",
    [
        "My neighbour keeps twelve hives of bees behind the old garage.",
        "Mariama found comfort in quiet Sunday mornings with her jazz radio.",
        "He told me about problems with financing for the harbour retreat.",
        "She welcomed the slow start and sketched ideas for another project.",
    ],
)
def test_what_is_said_about_others_is_not_credited_to_the_user(said: str) -> None:
    assert [one.about for one in statements_in(said, 0)] == ["other"]


def test_a_person_who_is_meant_stays_meant_until_the_user_speaks_of_themselves() -> None:
    said = (
        "My friend Mia gets headaches during lessons. Skipping breakfast probably makes everything worse. "
        "I refill my own bottle between classes."
    )
    assert [one.about for one in statements_in(said, 0)] == ["other", "other", "user"]


def test_a_sentence_with_both_persons_is_about_the_one_who_was_named() -> None:
    said = (
        "My old friend Tomas feels drained at work. I know he's also sorting out the farm with his brother."
    )
    assert {one.about for one in statements_in(said, 0)} == {"other"}


@pytest.mark.parametrize("signature", ["Written by: Ida Holm", "From: Ida Holm", "— Signed by Ida Holm"])
def test_a_text_with_a_name_under_it_is_that_persons(signature: str) -> None:
    update = f"Our garden series returns with new voices this spring.\n\n{signature}"
    said = f"Could you refine this update?\n\n---\n\n{update}\n---"
    assert {one.about for one in statements_in(said, 0)} == {"quoted"}


def test_what_the_user_denies_later_is_no_longer_said_of_them() -> None:
    before = "The family photos on my office desk cheer me up every day."
    now = "I am one of those people without family photos on the office desk."
    assert lines(before, "I walk to the harbour bakery in the early morning.", now) == [
        "User: I walk to the harbour bakery in the early morning.",
        f"User: {now}",
    ]


def test_a_denial_about_something_else_takes_nothing_back() -> None:
    before = "The family photos on my office desk cheer me up every day."
    assert f"User: {before}" in lines(before, "I never eat breakfast at the office on weekdays.")


def test_what_the_user_asks_to_forget_is_gone_and_so_is_the_request() -> None:
    left = lines(
        "Lately I keep baking rye bread and pastries on Sundays.",
        "We moved to the harbour district with our two dogs.",
        "Please forget that I like baking bread and pastries.",
    )
    assert left == ["User: We moved to the harbour district with our two dogs."]


def test_a_text_about_something_forgotten_is_recognised() -> None:
    found = read("I keep baking rye bread on Sundays.", "Please forget that I enjoy baking rye bread.")
    assert found.holds_forgotten("User asked about baking rye bread at home")
    assert not found.holds_forgotten("User asked about the train to Lisbon")


@pytest.mark.parametrize(
    ("said", "is_request"),
    [
        ("Please forget that I bake bread.", True),
        ("Forget my preference for window seats.", True),
        ("Bitte vergiss, dass ich Brot backe.", True),
        ("Por favor, olvida que soy vegetariano.", True),
        ("Por favor, esqueça que moro em Lisboa.", True),
        ("请忘记我住在上海这件事", True),
        ("パンを焼くことは忘れてください", True),
        ("Don't forget to run the tests.", False),
        ("I always forget my keys at home.", False),
        ("不要忘记运行测试", False),
    ],
)
def test_a_request_to_forget_is_told_from_a_reminder(said: str, is_request: bool) -> None:
    assert (forgotten_in(said) is not None) == is_request


def test_a_message_that_only_asks_to_forget_is_no_request_for_work() -> None:
    assert PersonalStatements().read("Please forget that I bake bread.", 0)
    assert not PersonalStatements().read("Please forget that I bake bread. Which trains go to Lisbon?", 0)


def test_a_change_of_mind_replaces_what_was_said_before() -> None:
    left = lines(
        "I drink strong black coffee every morning before work.",
        "We moved to the harbour district with our two dogs.",
        "Actually I no longer drink coffee in the morning before work, only green tea.",
    )
    assert left == [
        "User: We moved to the harbour district with our two dogs.",
        "User: Actually I no longer drink coffee in the morning before work, only green tea.",
    ]


def test_a_copy_reads_on_without_changing_the_original() -> None:
    first = read("We moved to the harbour district with our two dogs.")
    second = first.copy()
    second.read("Please forget that we moved to the harbour district.", 1)
    assert len(first.said) == 1
    assert not second.said


def chat(*said: str) -> list[dict[str, str]]:
    """A long chat in which the user says these things early."""
    answer = "That is a fine thing to do, and there is much to say about it in general. " * 12
    messages = [{"role": "system", "content": "You are a personal assistant."}]
    for number in range(90):
        text = (
            said[number]
            if number < len(said)
            else f"And what about the weather in town number {number} next week?"
        )
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]
    return messages


def test_a_compacted_chat_keeps_what_the_user_said_and_not_what_is_to_be_forgotten() -> None:
    messages = chat(
        "Which books would you recommend for a long winter on the coast?",
        "I moved to the harbour district with my two dogs last spring.",
        "I started baking rye bread and poppy rolls on Sundays.",
        "Please forget that I bake rye bread and poppy rolls.",
    )
    engine = ContextCompressor(context_length=16_000, protect_last_n=4)
    engine.compress(messages)
    assert engine.last_report is not None
    summary = engine.last_report.whole_summary
    assert "User: I moved to the harbour district with my two dogs last spring." in summary
    assert "rye bread" not in summary
    assert "poppy" not in summary


def test_the_newest_messages_of_a_chat_leave_half_of_a_small_size_to_the_summary() -> None:
    chat = [{"role": "system", "content": "You are helpful."}]
    for number in range(60):
        chat.append(
            {"role": "user", "content": f"I keep rare orchid number {number} in greenhouse {number}."}
        )
        chat.append({"role": "assistant", "content": "That sounds lovely, tell me more about it. " * 28})
    engine = ContextCompressor(context_length=64_000, target_tokens=8_000)
    engine.compress(chat)
    assert engine.last_report is not None
    summary = engine.last_report.whole_summary
    assert sum(f"orchid number {number} " in summary for number in range(45)) >= 40


def test_escape_codes_and_progress_bars_are_gone_before_anything_is_read() -> None:
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "terminal", "arguments": '{"command": "make"}'},
    }
    output = (
        "\x1b[35mresponseTime\x1b[39m of src/app/core_loop.py\n"
        "fetch 1%\rfetch 99% of data_set_a\n[32mMapped[39m x_y_z"
    )
    facts = read_facts(
        [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": output},
        ]
    )
    lines = list(facts.evidence.lines)
    assert "responseTime of src/app/core_loop.py" in lines
    assert "fetch 99% of data_set_a" in lines
    assert not any("[3" in line or "\x1b" in line or line.endswith("1%") for line in lines)
