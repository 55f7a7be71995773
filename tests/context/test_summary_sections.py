"""A heading of the summary is one table in `sections.toml`, and nothing else."""

import json
from pathlib import Path

from changed_package import run_with_additions
from plimsoll.context.compressor.prompt import SummaryPrompt
from plimsoll.context.ledger import SECTIONS, asked_headings, parse_sections, render_sections
from plimsoll.context.ledger.template import BY_PRIORITY

TABLE = """
[[section]]
title = "Open Risks"
ask = "what may still go wrong"
priority = 2
"""
ASK = """
import json
from plimsoll import ContextCompressor
from plimsoll.context.compressor.prompt import SummaryPrompt
from plimsoll.context.ledger import completed, for_model, parse_sections, render_sections
from plimsoll.providers.auxiliary.grammar import summary_grammar

messages = [{"role": "system", "content": "Be brief."}]
for number in range(60):
    messages.append({"role": "user", "content": f"Please look at part {number}. " + "word " * 300})
    messages.append({"role": "assistant", "content": f"Part {number} is done. " + "word " * 300})
engine = ContextCompressor(context_length=32_000)
engine.compress(messages)
written = parse_sections("## Goal\\nShip it.\\n## Progress\\n### Done\\n- a\\n## Open Risks\\n* The disk is full.")
kept = for_model(render_sections(completed(written, {})), 1_000)
print(json.dumps({
    "by code": engine.last_report.summary,
    "prompt": SummaryPrompt(1_000).prompt("…"),
    "parsed": written["Open Risks"],
    "shown to the model again": kept,
    "grammar": summary_grammar(1_000),
}))
"""


def test_a_table_in_the_data_file_is_all_that_a_new_heading_needs(tmp_path: Path):
    seen = json.loads(run_with_additions(tmp_path, {"context/ledger/sections.toml": TABLE}, ASK))
    assert "## Open Risks\n(none)" in seen["by code"]
    assert "## Open Risks\nwhat may still go wrong\n\nRules" in seen["prompt"]
    assert seen["parsed"] == "* The disk is full."
    assert "## Open Risks\n* The disk is full." in seen["shown to the model again"]
    assert '"## Open Risks\\n"' in seen["grammar"]


def test_the_model_is_asked_for_exactly_the_headings_that_code_writes():
    asked, empty = asked_headings(), render_sections({})
    assert [line for line in asked.splitlines() if line.startswith("#")] == [
        line for line in empty.splitlines() if line.startswith("#")
    ]
    assert asked in SummaryPrompt(1_000).prompt("…")
    assert all(parse_sections(asked)[title] for title in SECTIONS)
    assert sorted(BY_PRIORITY) == sorted(SECTIONS)
