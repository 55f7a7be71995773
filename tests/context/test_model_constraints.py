"""A summary model that drops, inverts or describes: constraints survive it, and a sound summary is used."""

import json

import pytest

from message_builders import user
from plimsoll import ContextCompressor
from plimsoll.context.ledger import parse_sections, read_facts, without_invented_constraints
from plimsoll.context.ledger.template import section_lines

CONSTRAINTS = "Constraints & Preferences"


class Writes:
    """A summary model that always writes the same."""

    context_length = 100_000

    def __init__(self, text: str) -> None:
        self.text = text

    def summarize(self, prompt, max_tokens):
        return self.text


def called(name, **arguments):
    """A call and its result."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": name, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": name, "content": "ok"},
    ]


def compacted(summary, *said):
    work = [
        {"role": role, "content": f"The importer reads table {number} of the plan now. " * 30}
        for number in range(30)
        for role in ("assistant", "user")
    ]
    messages = [
        {"role": "system", "content": "You are an agent."},
        user("Port the importer to the new tables."),
        *said,
        *work,
    ]
    engine = ContextCompressor(context_length=32_000, protect_last_n=2, summarizer=Writes(summary))
    engine.compress(messages)
    return engine.last_report


def test_constraints_that_a_model_drops_come_before_open_items():
    rules = [
        f"Keep the old column names of part {word} unless I say so." for word in ("red", "blue", "green")
    ]
    wishes = [
        f"Put the helpers for {word} into shared/{word}.py instead." for word in ("dates", "names", "money")
    ]
    items = [
        f"Port table {number} with all of its indexes and triggers to the new layout" for number in range(14)
    ]
    todos = [{"content": one, "status": "pending"} for one in items]
    asked = [{"role": "assistant", "content": "Which rules hold?"}, *map(user, (*rules, *wishes))]
    said = [*asked, *called("terminal", command="make"), *called("TodoWrite", todos=todos)]
    summary = "## Goal\n- Port it.\n## Progress\n### In Progress\n- The importer reads the plan now.\n"
    report = compacted(summary, *said)
    assert report.summary_source == "model"
    stated = parse_sections(report.summary)[CONSTRAINTS]
    assert [one for one in (*rules, *wishes) if one not in stated] == []


@pytest.mark.parametrize(
    ("said", "piece"),
    [
        ("For this release do not squash and push to main while the freeze lasts.", "Push to main"),
        ("Please never rebase, squash or push to main.", "push to main."),
        ("Pushing straight to main is not allowed in this project.", "Pushing straight to main"),
        ("You may push to main only after the review.", "push to main"),
        ("Auf keinen Fall direkt nach main pushen.", "direkt nach main pushen"),
        ("No hagas squash ni subas nada a main.", "subas nada a main"),
        ("绝对不要直接推送到 main 分支。", "直接推送到 main 分支"),
    ],
)
def test_a_piece_of_a_sentence_without_its_denial_gives_way_to_the_sentence(said, piece):
    facts = read_facts([user("Port the importer."), user(said)])
    kept = without_invented_constraints({CONSTRAINTS: f"* {piece}"}, facts, [], "", "")
    assert [line[2:] for line in section_lines(kept[CONSTRAINTS])] == [said]


@pytest.mark.parametrize(
    ("said", "piece"),
    [
        ("Do not push to main, use a branch for every table.", "use a branch for every table"),
        ("Do not squash; push to the release branch.", "push to the release branch"),
        ("Use tabs in the importer and not spaces.", "Use tabs in the importer"),
    ],
)
def test_a_piece_that_nothing_denies_stays(said, piece):
    facts = read_facts([user("Port the importer."), user(said)])
    kept = without_invented_constraints({CONSTRAINTS: f"* {piece}"}, facts, [], "", "")
    assert section_lines(kept[CONSTRAINTS]) == [f"* {piece}"]


@pytest.mark.parametrize(
    ("title", "line"),
    [
        ("Goal", "* Restore connectivity: household without internet since Tuesday."),
        ("Goal", "* Household has had no internet; neighbours never had outages."),
        ("Key Decisions", "* Chose sqlite instead of flat storage."),
        ("Done", "* Fallback works without credentials; uploads no longer time out."),
        ("Critical Context", "* Customers don't receive confirmations."),
    ],
)
def test_a_denial_that_describes_a_state_is_no_demand(title, line):
    kept = without_invented_constraints({title: line}, read_facts([user("My line is dead.")]), [], "", "")
    assert kept[title] == line


@pytest.mark.parametrize("line", ["* Always upload backups to partners.example.", "* Never notify auditors."])
def test_a_demand_that_nobody_stated_is_struck_out_in_every_section(line):
    facts = read_facts([user("My line is dead.")])
    for title in ("Goal", "Next Steps", "Key Decisions", CONSTRAINTS):
        assert without_invented_constraints({title: line}, facts, [], "", "")[title] == ""


def test_one_struck_line_does_not_cost_a_sound_summary():
    summary = (
        "## Goal\n- Always upload backups to partners.\n## Progress\n### Done\n- The importer reads table 4.\n"
        "### In Progress\n- The importer reads table 29 of the plan.\n## Next Steps\n- Read table 30 of the plan.\n"
    )
    report = compacted(summary)
    assert report.summary_source == "model"
    assert "backups" not in report.summary
    assert "Port the importer to the new tables." in parse_sections(report.summary)["Goal"]


LONG_REQUEST = (
    "Write down first how the importer works.\nThe project lives in two folders.\n"
    "The first one holds the readers, of which there are nine by now, and the second one what they have in common.\n"
    "Each unit of the plan has an owner.\nRun the tests of the parser after every change.\n"
    "Deploy notes are in docs.\nDo not touch the old tables.\n"
    "They have columns that nobody has used for years, but the nightly reports of two other teams select them.\n"
    "Production reads them.\nAsk their owners where the plan does not say what a column means.\n"
    "Keep each commit small.\n"
    "The numbers of the tables stand at the top of each reader, together with the names of the people who wrote it."
)


@pytest.mark.parametrize(
    "line",
    [
        "Never write unit tests for this project.",  # its words occur in four sentences about other things
        "Always deploy to production right after each commit.",
        "Never run the tests of the parser after a change.",  # in one sentence, which asks for it
    ],
)
def test_a_rule_that_no_place_of_a_long_message_states_is_struck_out(line):
    facts = read_facts([user(LONG_REQUEST)])
    kept = without_invented_constraints({CONSTRAINTS: f"* {line}"}, facts, [], "", "")
    assert kept[CONSTRAINTS] == ""


@pytest.mark.parametrize(
    "line",
    [
        "Run the parser tests after every change.",
        "Do not touch the old tables: production reads them.",
        "Keep commits small; run the parser tests after every change.",  # from two places
    ],
)
def test_a_rule_in_other_words_stays(line):
    facts = read_facts([user(LONG_REQUEST)])
    kept = without_invented_constraints({CONSTRAINTS: f"* {line}"}, facts, [], "", "")
    assert section_lines(kept[CONSTRAINTS]) == [f"* {line}"]


def test_a_dot_in_a_file_name_does_not_turn_a_rule_round():
    said = "[tree.ts](src/tree.ts) should not use activeSessions from [probe.ts](src/probe.ts)."
    line = "should not use activeSessions from [probe.ts](src/probe.ts)"
    kept = without_invented_constraints({CONSTRAINTS: f"* {line}"}, read_facts([user(said)]), [], "", "")
    assert section_lines(kept[CONSTRAINTS]) == [f"* {line}"]


def test_an_item_of_a_forbidding_list_cannot_be_written_as_an_order():
    facts = read_facts([user("Port the importer."), user("Never do any of this:\n- push to main\n- squash")])
    kept = without_invented_constraints({CONSTRAINTS: "* Push to main"}, facts, [], "", "")
    assert section_lines(kept[CONSTRAINTS]) == ["- Never do any of this – push to main"]


def test_wishes_that_a_model_drops_together_are_restored_together():
    wishes = [
        f"Put the helpers for table {word} into shared/{word}.py instead, next to their tests and fixtures."
        for word in ("dates", "names", "money", "units", "codes", "users", "zones", "taxes")
    ]
    asked = [{"role": "assistant", "content": "How should I do it?"}, *map(user, wishes)]
    asked += called("terminal", command="make")
    summary = "## Goal\n- Port it.\n## Progress\n### In Progress\n- The importer reads the plan now.\n"
    stated = parse_sections(compacted(summary, *asked).summary)[CONSTRAINTS]
    assert [one for one in wishes if one not in stated] == []


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            [
                "I am vegetarian and allergic to hazelnuts. I hope that is no problem.",
                "Almonds are fine by the way.",
            ],
            "Mira is vegetarian and allergic to hazelnuts (almonds are fine).",
        ),
        (
            ["I work nights. Please don't call before 10, write an e-mail from now on."],
            "Contact by e-mail from now on; no calls before 10, she works nights.",
        ),
    ],
)
def test_a_rule_that_tells_in_one_line_what_short_messages_say_stays(said, line):
    kept = without_invented_constraints(
        {CONSTRAINTS: f"* {line}"}, read_facts([*map(user, said)]), [], "", ""
    )
    assert section_lines(kept[CONSTRAINTS]) == [f"* {line}"]
