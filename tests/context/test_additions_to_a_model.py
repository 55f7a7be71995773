"""What code adds to a model's summary, what it leaves to the evidence, and what neither repeats."""

import pytest

from message_builders import user
from plimsoll.context.ledger import EVIDENCE, SummaryRoom, read_facts, render_sections, write_summary
from plimsoll.context.ledger.additions import explained_terms
from plimsoll.context.ledger.evidence import Evidence, lines_of
from plimsoll.context.ledger.requests import task_in
from plimsoll.models import estimate_tokens

ROOM = SummaryRoom(3_000, 6_000)
CONSTRAINTS = "Constraints & Preferences"
MODEL = """## Goal
* Port the billing importer to the new queue.
## Progress
### In Progress
* The importer reads from the queue now.
"""


def beside(said, *messages, later=()):
    facts = read_facts(messages)
    now = read_facts(later, "", facts, quotes=False) if later else facts
    return write_summary(facts, {}, ROOM, model_text=said, now=now, few=True).sections


def calls(name, arguments, result, number=0, said=""):
    call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
    return (
        {"role": "assistant", "content": said, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    )


def lines_with(line):
    evidence = Evidence()
    evidence.add(line, "shown", "file:state.go", 1)
    return evidence.lines.values()


def test_a_name_is_not_explained_by_a_models_words_that_never_stood_with_it():
    line = "last_checkpoint_id holds the newest condensation of the session"
    said = "* last_checkpoint_id: next file still needs another update"
    assert explained_terms(said, lines_with(line)) == {"last_checkpoint_id": False}
    shown = calls("read_file", '{"path": "state.go"}', f"// Keeps the sessions of a user.\n{line}\n")
    assert line in beside(f"{MODEL}{said}\n", user("Port the billing importer."), *shown)[EVIDENCE]


def test_a_name_that_a_model_only_lists_is_quoted_with_the_words_that_explain_it():
    names = ", ".join(f"field_{number}" for number in range(40))
    said = f"{MODEL}## Relevant Files\n* `state.go` has {names}, last_checkpoint_id, {names}\n"
    line = "last_checkpoint_id holds the newest condensation of the session"
    assert not explained_terms(said, lines_with(line))["last_checkpoint_id"]
    shown = calls("read_file", '{"path": "state.go"}', f"// Keeps the sessions of a user.\n{line}\n")
    assert line in beside(said, user("Port the billing importer."), *shown)[EVIDENCE]


def test_a_name_that_a_model_explains_is_not_quoted_again():
    line = "last_checkpoint_id holds the newest condensation of the session"
    assert explained_terms(f"* {line}", lines_with(line)) == {"last_checkpoint_id": True}
    shown = calls("read_file", '{"path": "state.go"}', f"// Keeps the sessions of a user.\n{line}\n")
    assert line not in beside(f"{MODEL}* {line}\n", user("Port the billing importer."), *shown)[EVIDENCE]


def test_many_limits_add_no_more_than_their_share_and_the_others_open_the_evidence():
    facts = "\n".join(
        f"* The importer moved table {number} to the new queue layout." for number in range(160)
    )
    said = f"{MODEL}## Critical Context\n{facts}\n"
    rules = [
        user(f"Never write to the table of region {number}, because the accountants of that region own it.")
        for number in range(40)
    ]
    sections = beside(said, user("Port the billing importer."), *rules)
    evidence = sections.pop(EVIDENCE)
    added = "\n".join(filter(None, sections.values()))
    assert 0 < len(added.splitlines()) <= 10
    assert estimate_tokens(added) <= 0.15 * estimate_tokens(said)
    assert evidence.startswith(f"- More on {CONSTRAINTS}\n")
    assert all(f"region {number}," in added + evidence for number in range(40))


def test_limits_that_left_the_context_are_added_before_those_in_messages_that_stay():
    cities = ("Berlin", "Paris", "Oslo", "Madrid", "Vienna", "Lisbon")
    left = [user(f"I'd rather have the ledger of {city} in one file.") for city in cities]
    stay = [user(f"I'd prefer the count of {city} in the log.") for city in cities]
    edits = calls("edit_file", '{"path": "importer.py", "new_string": "retry = 3"}', "ok")
    added = beside(MODEL, user("Port the billing importer."), *edits, *left, later=stay)[CONSTRAINTS]
    assert all(f"ledger of {city} " in added for city in cities)


def test_the_newest_request_is_added_once_and_as_a_next_step_only_where_the_model_names_none():
    asked = "Rewrite the retry loop of the importer so that a message is put aside after three attempts."
    edits = calls("edit_file", '{"path": "importer.py", "new_string": "retry = 3"}', "ok")
    messages = (user("Port the billing importer."), *edits, user(asked))
    sections = beside(f"{MODEL}## Next Steps\n* Run the importer.\n", *messages)
    assert f"{render_sections(sections)}\n{sections[EVIDENCE]}".count(asked) == 1
    assert asked in beside(MODEL, *messages)["Next Steps"]


def test_the_agents_last_words_are_left_out_where_the_model_describes_the_work():
    words = {"role": "assistant", "content": "The importer is ready; I am going to run the migration next."}
    sections = beside(MODEL, user("Port the billing importer."), words)
    assert "Last said" not in render_sections(sections) + sections[EVIDENCE]


def test_line_numbers_after_a_header_are_no_part_of_a_quote():
    shown = "<path>/a/plan.md</path>\n<content>\n1: # Phase two\n2: \n3: This phase creates the panel"
    assert list(lines_of(shown))[-2:] == ["# Phase two", "This phase creates the panel"]


def test_hours_after_a_header_are_not_line_numbers():
    shown = "<log>\n12:30 started the server\n13:05 stopped the server"
    assert list(lines_of(shown))[-2:] == ["12:30 started the server", "13:05 stopped the server"]


@pytest.mark.parametrize(
    ("said", "is_kept"),
    [("I write the importer.", False), ("I write the importer with a retry for broken messages.", True)],
)
def test_a_note_that_only_says_that_a_file_is_written_is_left_out(said, is_kept):
    new = '{"path": "src/importer.py", "content": "retry = 1  # write broken messages again"}'
    facts = read_facts([user("Port it."), *calls("write_file", new, "ok", said=said)])
    assert (facts.files["src/importer.py"].note == said) is is_kept


def test_the_last_words_hold_no_box_drawing():
    drawn = "The plan:\n┌──────────┐\n│ importer │\n└──────────┘\nIt is ready."
    facts = read_facts([user("Plan the port."), {"role": "assistant", "content": drawn}])
    written = write_summary(facts, {}, ROOM).sections["In Progress"]
    assert "Last said: The plan: It is ready." in written


WRAPPER = (
    "# Context\n\nYour name is Dori, an agent of a playbook.\n\n## Response Format\n\n"
    + "Begin with a synopsis of what was done. " * 20
    + "\n\n## Tasks\n\nCheck off the open items of docs/importer-plan.md.\n"
)


def test_the_goal_of_a_prompt_that_a_program_wrapped_is_its_task():
    facts = read_facts([user(WRAPPER), {"role": "assistant", "content": "I begin."}])
    goal = write_summary(facts, {}, ROOM).sections["Goal"]
    assert goal == "- Check off the open items of docs/importer-plan.md."


def test_a_numbered_task_of_a_template_is_not_the_task():
    assert task_in("## Task N: name of the component\n\nCreate the exact path of the file.") == ""


def test_many_wishes_of_one_message_share_a_line_so_that_those_of_every_message_are_restored():
    wishes = [
        user(f"Let's put the dates of {city} into one file. I'd rather have the names of {city} sorted.")
        for city in ("Berlin", "Paris", "Oslo", "Madrid", "Vienna", "Lisbon")
    ]
    edits = calls("edit_file", '{"path": "importer.py", "new_string": "retry = 3"}', "ok")
    added = beside(MODEL, user("Port the billing importer."), *edits, *wishes)[CONSTRAINTS].splitlines()
    assert len(added) == len(wishes) - 1, "the newest request stands under In Progress"
    assert all("dates of" in line and "names of" in line for line in added)


def test_an_open_item_is_not_stated_by_a_line_about_a_file():
    todos = '{"todos": [{"content": "Add a Summary field to WriteOptions", "status": "pending"}]}'
    said = (
        f"{MODEL}## Relevant Files\n* `options.go` - `WriteOptions` struct needs `Summary *Summary` field\n"
    )
    sections = beside(said, user("Port the billing importer."), *calls("TodoWrite", todos, "ok"))
    assert "- Add a Summary field to WriteOptions" in sections["Next Steps"]
