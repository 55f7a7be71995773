"""Which sentences of people hold until they are taken back, and which only say what to do now."""

import pytest

from message_builders import assistant as said
from message_builders import user
from plimsoll.context.ledger import SummaryRoom, read_facts, without_invented_constraints, write_sections

CONSTRAINTS = "Constraints & Preferences"


def ruled(*texts: str) -> list[str]:
    """The limits and wishes that hold after these messages of a person."""
    messages = [message for text in texts for message in (user(text), said("Done."))]
    facts = read_facts([user("Port the importer to the new schema."), said("I begin."), *messages])
    return [*facts.constraints, *facts.wishes]


@pytest.mark.parametrize(
    "order",
    [
        "Build it.",
        "Tariffs, please.",
        "Commit and push.",
        "just fix it",
        "ok, let's implement this",
        "open a pr",
        "The build took nine minutes.",
        "Baue es.",
        "Las tarifas, por favor.",
        "As tarifas, por favor.",
        "开始构建吧",
        "料金表をお願いします",
    ],
)
def test_an_order_for_the_moment_is_no_standing_rule(order: str) -> None:
    assert ruled(order) == []


@pytest.mark.parametrize(
    "wish",
    [
        "let's store the ids in metadata",
        "I'd rather have one branch for both",
        "put it in settings.py",
        "write the test first",
        "panics are not great in a library",
        "we need a distinct method for that lookup",
        "use the British spelling",
        "Kommentare bitte nur auf Englisch",
        "Los mensajes de commit en inglés",
        "新代码一律用 TypeScript",
        "ログには必ず時刻を付けること",
    ],
)
def test_how_the_work_should_be_done_holds(wish: str) -> None:
    assert ruled(wish) == [wish]


def test_a_wish_before_a_question_in_the_same_sentence_holds() -> None:
    text = "let's store the ids in metadata, can you show me an example?"
    assert ruled(text) == [text]


def test_answers_to_numbered_questions_hold_and_a_bare_yes_does_not() -> None:
    assert ruled("1. no\n2. the branch that is checked out counts as open\n3. yes") == [
        "the branch that is checked out counts as open"
    ]


@pytest.mark.parametrize(
    "description",
    [
        "The parser never throws, it returns an empty list.",
        "Der Server antwortet immer mit JSON.",
        "El sistema nunca borra registros.",
        "O servidor sempre devolve JSON.",
        "这个接口从不返回空值",
        "この関数は常に空のリストを返します",
        'The old manual said "never restart on Fridays", which made me laugh.',
    ],
)
def test_what_a_program_does_and_what_a_manual_said_bind_nobody(description: str) -> None:
    assert ruled(description) == []


def test_a_rule_about_a_part_of_a_program_still_binds() -> None:
    assert ruled("The parser must never throw.") == ["The parser must never throw."]


def test_taking_something_out_again_leaves_older_wishes_alone() -> None:
    found = ruled("I think by file is too much", "how about a link?", "no, remove this again")
    assert "I think by file is too much" in found


def test_a_rule_that_is_forgotten_on_request_is_gone() -> None:
    assert ruled("Never use tabs in this project.", "Forget the rule about tabs.") == []


def test_a_sentence_that_calls_a_rule_void_is_no_rule_itself() -> None:
    assert ruled("Never use tabs.", "The rule to never use tabs is void, I changed my mind.") == []


def test_a_new_rule_beside_a_change_of_mind_holds() -> None:
    new = "Tabs are no longer wanted, always use four spaces."
    assert ruled("Always use tabs.", new) == [new]


def test_a_long_request_is_shown_with_its_end() -> None:
    long = "You work for the harbour office. " * 60 + "Wire the tide table into the booking page."
    sections = write_sections(read_facts([user(long), said("I begin.")]), {}, SummaryRoom(2_000))
    assert "Wire the tide table into the booking page." in sections["Goal"]
    assert sections["Goal"].startswith("- You work for the harbour office.")


def test_a_link_does_not_take_the_place_of_the_question_about_it() -> None:
    link = "https://example.org/harbour/tides/discussions/4720"
    asked = f"does the tide table have this bug? {link}"
    sections = write_sections(
        read_facts([user(asked), said("I look."), user(f"{link}#comment-17"), said("Yes.")]),
        {},
        SummaryRoom(2_000),
    )
    assert "does the tide table have this bug?" in sections["Goal"]


def test_a_model_cannot_turn_round_a_sentence_that_is_no_limit_by_its_words() -> None:
    facts = read_facts([user("the ids of both ledgers are not stable links yet"), said("I see.")])
    told = ("the ids of both ledgers are not stable links yet",)
    for line in (
        "* the ids of both ledgers are stable links yet",
        "* No longer valid: the ids of both ledgers are not stable links yet",
    ):
        kept = without_invented_constraints({CONSTRAINTS: line}, facts, told, "", "")
        assert kept[CONSTRAINTS] == ""
    same = "* the ids of both ledgers are not stable links"
    assert without_invented_constraints({CONSTRAINTS: same}, facts, told, "", "")[CONSTRAINTS] == same


def test_a_sentence_of_the_person_stands_in_one_section_only() -> None:
    rule = "I want the nightly report to never include customer names."
    facts = read_facts(
        [user("Port the importer."), said("I begin."), user(rule), said("Understood."), user("Go on.")]
    )
    sections = write_sections(facts, {}, SummaryRoom(2_000))
    assert rule in sections[CONSTRAINTS]
    assert rule not in sections["Critical Context"]


def test_what_a_person_says_of_themselves_in_a_chat_stands_once_with_its_speaker() -> None:
    habit, rule = "I never eat fish or shellfish at home.", "Always answer me in short French sentences."
    messages = [user("Hello there!"), said("Hi."), user(f"{habit} {rule}"), said("Noted."), user("Thanks")]
    sections = write_sections(read_facts(messages), {}, SummaryRoom(2_000))
    assert f"User: {habit}" in sections["Critical Context"]
    assert habit not in sections[CONSTRAINTS]
    assert rule in sections[CONSTRAINTS]
    assert rule not in sections["Critical Context"]


@pytest.mark.parametrize("empty", ["let's go back", "let's try that instead", "I'd like to do two things:"])
def test_a_wish_that_does_not_say_what_it_is_about_is_not_kept(empty: str) -> None:
    assert ruled(empty) == []


def test_a_wish_that_is_said_again_stands_once_in_its_newest_words() -> None:
    first, again = (
        "Put the helpers into shared/dates.py instead, please.",
        "Put the helpers into shared/dates.py instead.",
    )
    assert ruled(first, again) == [again]


def test_a_wish_that_opens_a_later_subject_stands_under_constraints_too() -> None:
    wish = "keep each commit of the migration with working code in every module and test please"
    called = {
        "id": "1",
        "type": "function",
        "function": {"name": "write_file", "arguments": '{"path": "a.py", "content": "x"}'},
    }
    work = [
        {"role": "assistant", "content": "", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
    ]
    facts = read_facts(
        [user("Port the importer."), *work, said("Done."), user(wish), said("Yes."), user("Go on.")]
    )
    assert wish in write_sections(facts, {}, SummaryRoom(2_000))[CONSTRAINTS]
