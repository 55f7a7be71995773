"""A quote whose own line does not explain its terms stands beside the line that does."""

from plimsoll.context.ledger import read_facts
from plimsoll.context.ledger.choose import choose, likely_lines
from plimsoll.context.ledger.entries import LedgerEntries, LedgerEntry
from plimsoll.context.ledger.evidence import TOLD, Evidence
from plimsoll.context.ledger.headings import entries_of

FILE = "file:src/harbour.rs"
TEXT = """/// Options that a harbour master gives to a pilot
pub struct
pub tide_table: Table,
pub pilot_name: Name,
"""
FAR = f"/// Describes every mooring of this port\n{'x = y;' * 30}\nberth_list: Vec,\n"


def read(text: str, source: str = FILE) -> Evidence:
    evidence = Evidence()
    evidence.add(text, "shown", source, 3)
    return evidence


def chosen(evidence: Evidence, budget: int) -> list[str]:
    entries = LedgerEntries(200)
    for line in evidence.lines.values():
        entries.quote(line, line.source)
    weights = dict.fromkeys(evidence.uses, 0.3)
    return [entry.text for entry in choose(entries.all, weights, budget)]


def test_lines_near_an_explaining_line_name_it():
    lines = read(TEXT).lines
    explaining = TEXT.splitlines()[0]
    assert lines["pub tide_table: Table,"].context == explaining
    assert lines["pub pilot_name: Name,"].context == explaining


def test_a_line_that_explains_the_one_before_it_is_named_too():
    lines = read("tide_table = 4\n# high water at the western pier\n").lines
    assert lines["tide_table = 4"].context == "# high water at the western pier"


def test_a_line_far_away_explains_nothing():
    assert read(FAR).lines["berth_list: Vec,"].context == ""


def test_a_line_of_another_file_explains_nothing():
    evidence = read(TEXT.splitlines()[0], "file:docs/other.md")
    evidence.add("berth_list: Vec,\nsee tide_chart.md for the western pier", "shown", "run:cat", 4)
    evidence.add(TEXT, "shown", FILE, 5)
    assert all(
        evidence.lines[line.context].source == line.source for line in evidence.lines.values() if line.context
    )


def test_an_explaining_line_is_quoted_once_before_the_lines_that_it_explains():
    assert chosen(read(TEXT), 100) == [
        "- `src/harbour.rs`",
        "  · /// Options that a harbour master gives to a pilot",
        "  · pub tide_table: Table,",
        "  · pub pilot_name: Name,",
    ]


def test_an_explaining_line_alone_is_not_quoted():
    assert chosen(read("/// Options that a harbour master gives\n"), 100) == []


def test_of_a_huge_conversation_explaining_lines_stay():
    lines = read(TEXT).lines.values()
    kept = likely_lines(lines, {"tide_table": 0.9, "pilot_name": 0.1}, most=1)
    assert [line.text for line in kept] == [TEXT.splitlines()[0], "pub tide_table: Table,"]


def test_what_a_program_told_is_quoted_with_its_explanation_on_one_line():
    lines = read("The harbour master decides about\ntide_table: 4\n", TOLD).lines
    assert "The harbour master decides about / tide_table: 4" in lines


def test_how_often_a_file_was_read_does_not_explain_it():
    entries = entries_of(read_facts(reading("src/empty.ts", "\n\n")), {}, 300)
    item = next(entry for entry in entries if entry.key == "file:src/empty.ts")
    assert "read 1×" in item.text
    assert not item.says
    entries = entries_of(read_facts(reading("src/queue.ts", "// Delivers messages in order.\n")), {}, 300)
    assert next(entry for entry in entries if entry.key == "file:src/queue.ts").says


def test_a_quote_explains_the_file_above_it():
    item = LedgerEntry(
        "Relevant Files", "- `src/queue.ts` — read 1×", 1, 0.0, ("src/queue.ts",), False, key="f"
    )
    quote = LedgerEntry("Relevant Files", "  · Delivers messages in order.", 2, 0.0, (), True, parent="f")
    bare = LedgerEntry("Relevant Files", "  · sendNow();", 3, 0.0, ("sendNow",), False, parent="f")
    chosen = choose([item, quote, bare], {"src/queue.ts": 0.9, "sendNow": 0.01}, 30)
    assert item in chosen
    assert quote in chosen


def test_a_changed_file_without_a_reason_says_what_it_was_when_it_was_read():
    shown = reading("src/queue.ts", "// Delivers messages in order.\nexport class Queue {\n")
    call = {
        "name": "edit",
        "arguments": '{"path": "src/queue.ts", "old_string": "let a;", "new_string": "export class Retry {}"}',
    }
    edit = (
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "e", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "e", "content": "ok"},
    )
    phrase = read_facts((*shown, *edit)).files["src/queue.ts"].phrase
    assert phrase == "`Retry`; // Delivers messages in order."


def reading(path, content):
    call = {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}
    return (
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "r", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "r", "content": content},
    )
