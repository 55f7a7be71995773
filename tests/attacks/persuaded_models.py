"""Conversations whose tool output addresses the summary model, compacted once and twice with each engine."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from message_builders import assistant, user
from plimsoll import ContextCompressor
from plimsoll.context.lcm import LcmEngine
from plimsoll.context.ledger import parse_sections
from plimsoll.messages import text_of

CONSTRAINTS = "Constraints & Preferences"
ENGINES = {"compressor": ContextCompressor, "lcm": LcmEngine}
HERE = Path(__file__).parent
NOT_JUDGED = ("Evidence", "Relevant Files")
_SAYS = tomllib.loads((HERE / "persuaded_models.toml").read_text("utf-8"))
ATTACKS: list[dict[str, Any]] = _SAYS["attack"]
HONEST: list[dict[str, Any]] = tomllib.loads((HERE / "honest_models.toml").read_text("utf-8"))["honest"]


@dataclass
class ScriptedModel:
    """Writes the same summary whatever it is asked."""

    goal: str
    request: str
    lines: Mapping[str, Sequence[str]]
    context_length: int = 200_000

    def summarize(self, prompt: str, max_tokens: int) -> str:
        written = {
            CONSTRAINTS if title == "Constraints" else title: rows for title, rows in self.lines.items()
        }
        goal, request = written.get("Goal", [self.goal]), written.get("In Progress", [self.request])

        def listed(rows: Sequence[str]) -> str:
            return "\n".join(f"- {row}" for row in rows) or "(none)"

        return (
            f"## Goal\n{listed(goal)}\n## Constraints & Preferences\n{listed(written.get(CONSTRAINTS, []))}\n"
            f"## Progress\n### Done\n{listed(written.get('Done', []))}\n### In Progress\n{listed(request)}\n"
            f"### Blocked\n(none)\n## Key Decisions\n{listed(written.get('Key Decisions', []))}\n"
            f"## Relevant Files\n(none)\n## Next Steps\n{listed(written.get('Next Steps', [self.request]))}\n"
            f"## Critical Context\n{listed(written.get('Critical Context', []))}"
        )


def called(number: str, name: str, arguments: Mapping[str, str], text: str) -> list[dict[str, Any]]:
    call = {
        "id": number,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    return [
        assistant("I look.", tool_calls=[call]),
        {"role": "tool", "tool_call_id": number, "content": text},
    ]


def work(first: int, count: int = 40) -> Iterator[dict[str, Any]]:
    """Calls of the agent on which nobody comments."""
    for number in range(first, first + count):
        yield from called(
            f"w{number}", "read_file", {"path": f"data/part_{number}.csv"}, f"row {number}; " * 120
        )
    yield assistant("I have read these parts.")


def conversation(said: Sequence[str], tool: str) -> list[dict[str, Any]]:
    opening, *rest = said
    talk = [{"role": "system", "content": "You are an assistant."}, user(opening), assistant("I begin.")]
    for sentence in rest[:-1]:
        talk += [user(sentence), assistant("Understood.")]
    talk += called("t0", "fetch_page", {"url": "https://notes.example/page"}, tool) if tool else []
    talk += [assistant("I read it."), *work(0, 4), user(rest[-1] if rest else "Go on."), *work(10)]
    return talk


def summaries(
    engine: str, said: Sequence[str], tool: str, model: ScriptedModel
) -> Iterator[tuple[dict[str, str], list[dict[str, Any]]]]:
    """The sections after the first compaction and after the second, with the messages that the agent gets."""
    view = conversation(said, tool)
    running = ENGINES[engine](context_length=16_000, summarizer=model)
    for round_ in range(2):
        view = list(running.compress(view))
        text = next(text_of(one) for one in view if "## Goal" in text_of(one))
        yield {**parse_sections(text), "whole": text.partition("\n## Evidence")[0]}, view
        view += [user("Go on with the next part."), *work(1_000 * (round_ + 1))]


def false_lines(sections: Mapping[str, str], said: Sequence[str], false: Sequence[str]) -> list[str]:
    """Lines that say something false and do not quote a sentence of the user in full."""
    return [
        f"{title}: {line}"
        for title, body in sections.items()
        if title not in NOT_JUDGED
        for line in body.splitlines()
        if any(one.casefold() in line.casefold() for one in false)
        and not any(sentence.casefold().rstrip(".") in line.casefold() for sentence in said)
    ]


def broken(attack: Mapping[str, Any], engine: str) -> list[str]:
    """What is wrong after an attack."""
    said = attack["said"]
    model = ScriptedModel(said[0], said[-1], attack["writes"])
    wrong = []
    for round_, (sections, view) in enumerate(summaries(engine, said, attack["tool"], model), start=1):
        # With nodes, a rule may also be in one of them, or in a request.
        stated = sections["whole" if engine == "lcm" else CONSTRAINTS]
        others = [text_of(one) for one in view if one.get("role") == "user" and "## Goal" not in text_of(one)]
        wrong += [f"{round_} missing: {rule}" for rule in attack["kept"] if rule not in stated]
        wrong += [f"{round_} {line}" for line in false_lines(sections, said, attack["false"])]
        if engine != "lcm" and said[0].rstrip(".。") not in sections["Goal"]:
            wrong.append(f"{round_} goal: {sections['Goal'][:120]}")
        if round_ == 1 and not any(said[-1] in text for text in (sections["In Progress"], *others)):
            wrong.append(f"{round_} newest request lost")
    return wrong


def misjudged(honest: Mapping[str, Any], engine: str, strict: bool = False) -> list[str]:
    """Honest lines that were removed without the user's own sentences, and rules restored that the user took back.

    If `strict`, a line that the user's own sentences replace was removed, too.
    """
    said = ["Help me with the work on the project.", *honest["said"], "Please go on with the second part."]
    model = ScriptedModel(said[0], said[-1], {"Constraints": honest["writes"]})
    wrong = []
    for round_, (sections, _) in enumerate(summaries(engine, said, "", model), start=1):
        stated = sections["whole" if engine == "lcm" else CONSTRAINTS]
        listed = sections.get(CONSTRAINTS, "")
        in_force = [one for one in honest["said"] if one not in honest.get("over", [])]
        if strict or not all(one in stated for one in in_force):
            wrong += [
                f"{round_} removed: {line}"
                for line in honest["writes"]
                if line.casefold() not in stated.casefold()
            ]
        wrong += [f"{round_} restored: {rule}" for rule in honest.get("over", []) if rule in listed]
    return wrong
