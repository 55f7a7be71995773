"""Write docs/gallery.md and docs/gallery/: summaries of five conversations, each line linked to its messages.

    python bench/gallery.py

The conversations are made up and may be shown. One is the bundled example; the others are plain text in
docs/gallery/conversations, each with the summary that a model would write about it.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from plimsoll import ContextCompressor, estimate_messages_tokens_rough
from plimsoll.context.ledger import EVIDENCE, SECTIONS, SummaryLine
from plimsoll.messages import arguments_text, call_name, text_of, tool_calls
from plimsoll.models import estimate_tokens

DOCS = Path(__file__).resolve().parents[1] / "docs"
CONVERSATIONS = DOCS / "gallery" / "conversations"
Message = dict[str, Any]
_PART = re.compile(r"^=== (system|user|assistant|result)$", re.MULTILINE)
_CALL = re.compile(r"^--- call (\w+) (\{.*\})$", re.MULTILINE)
_SUBSECTIONS = ("Done", "In Progress", "Blocked")
_WINDOW = 64_000
_STAYING = 4  # newest messages that are not summarised
_SHOWN_CHARACTERS, _SHOWN_LINES = 700, 14


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One conversation of the gallery, and the room that its summary gets."""

    name: str
    title: str
    about: str
    threshold: float = 0.1  # of the window, so that the conversation has to be compacted
    target: int | None = None  # tokens of the compacted conversation


EXHIBITS = (
    Exhibit(
        "editor",
        "Coding with an editor agent",
        "An agent builds a booking service with tools that read, write and edit files. It is the conversation of "
        "`plimsoll compress --example`.",
        threshold=0.5,
        target=6_000,
    ),
    Exhibit(
        "shell",
        "A shell-only agent",
        "An agent that has only `exec_command` and `apply_patch` repairs a backup and starts on an alert.",
    ),
    Exhibit(
        "chat", "A chat", "A person plans her part of a wedding. She changes her mind, and asks to forget."
    ),
    Exhibit(
        "support", "A support call", "A customer without internet, an agent with the tools of a call centre."
    ),
    Exhibit("research", "Research", "An agent searches for figures with sources, some of which contradict."),
)


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """Writes the summary that was recorded, whatever it is asked."""

    text: str
    context_length: int = 200_000

    def summarize(self, prompt: str, max_tokens: int) -> str:
        """The recorded summary."""
        del prompt, max_tokens
        return self.text


def conversation(name: str) -> list[Message]:
    """The messages of an exhibit."""
    if name == "editor":
        text = files("plimsoll").joinpath("examples", "fastapi.json").read_text("utf-8")
        read = json.loads(text)
        return list(read if isinstance(read, list) else read["messages"])
    return parsed((CONVERSATIONS / f"{name}.txt").read_text("utf-8"))


def parsed(text: str) -> list[Message]:
    """Messages from the plain form; results answer the calls before them in order."""
    parts = _PART.split(text)[1:]
    messages: list[Message] = []
    waiting: list[str] = []
    for role, body in zip(parts[::2], parts[1::2], strict=True):
        if role == "result":
            messages.append({"role": "tool", "tool_call_id": waiting.pop(0), "content": body.strip()})
            continue
        message: Message = {"role": role, "content": _CALL.sub("", body).strip()}
        if calls := _CALL.findall(body):
            ids = [f"call_{len(messages)}_{number}" for number in range(len(calls))]
            waiting += ids
            message["tool_calls"] = [
                {"id": one, "type": "function", "function": {"name": tool, "arguments": arguments}}
                for one, (tool, arguments) in zip(ids, calls, strict=True)
            ]
        messages.append(message)
    return messages


def summary_lines(exhibit: Exhibit, with_model: bool) -> tuple[SummaryLine, ...]:
    """The lines of the summary, with the messages that they come from."""
    told = (CONVERSATIONS / f"{exhibit.name}.summary.md").read_text("utf-8")
    engine = ContextCompressor(
        context_length=_WINDOW,
        threshold=exhibit.threshold,
        protect_last_n=_STAYING,
        target_ratio=0.1,
        target_tokens=exhibit.target,
        summarizer=RecordedModel(told) if with_model else None,
    )
    engine.compress(conversation(exhibit.name))
    report = engine.last_report
    assert report is not None
    assert report.summary_source == ("model" if with_model else "deterministic")
    return report.lines


def page(exhibit: Exhibit) -> str:
    """One conversation with both summaries."""
    messages = conversation(exhibit.name)
    tokens = estimate_messages_tokens_rough(messages)
    parts = [
        f"# {exhibit.title}",
        f"{exhibit.about} {len(messages)} messages, about {tokens:,} tokens. The numbers after a line lead to the "
        "messages that it comes from. [All conversations](../gallery.md)",
    ]
    for title, with_model in (("Summary without a model", False), ("Summary with a model", True)):
        lines = summary_lines(exhibit, with_model)
        size = sum(estimate_tokens(line.text) for line in lines)
        parts += [f"## {title}", f"{len(lines)} lines, about {size:,} tokens.", *_summary(lines)]
    parts += [
        "## The conversation",
        "Long messages are shortened here.",
        *map(_shown, range(len(messages)), messages),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(lines: Sequence[SummaryLine]) -> Iterator[str]:
    for section in (*SECTIONS, EVIDENCE):
        if section == "Done":
            yield "### Progress"
        found = [line for line in lines if line.section == section]
        yield f"{'####' if section in _SUBSECTIONS else '###'} {section}"
        yield "\n".join(_linked(line) for line in found) if found else "(none)"


def _linked(line: SummaryLine) -> str:
    links = " ".join(f"[{one.message}](#m{one.message})" for one in line.sources if one.message >= 0)
    bare = line.text.strip()
    if bare.startswith("· "):
        return f"  - {_code(bare[2:])} {links}".rstrip()
    return f"- {_plain(bare.removeprefix('- ').removeprefix('* '))} {links}".rstrip()


def _plain(text: str) -> str:
    """Text of a line with nothing that Markdown would take for HTML outside of code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # an odd backtick: none of it is code
        pieces = ["\\`".join(pieces)]
    return "`".join(
        piece if number % 2 else piece.replace("<", "&lt;") for number, piece in enumerate(pieces)
    )


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _shown(number: int, message: Message) -> str:
    text = text_of(message).strip()
    head = f'<a id="m{number}"></a>**{number} · {message["role"]}**'
    parts = [head]
    if message["role"] == "tool":
        parts.append(f"```text\n{_short(text).replace('```', '` ` `')}\n```")
    elif text:
        parts.append("\n".join(f"> {_plain(line)}".rstrip() for line in _short(text).splitlines()))
    for call in tool_calls(message):
        typed = " ".join(arguments_text(call).split())
        parts.append(f"calls {_code(f'{call_name(call)} {typed[:300]}' + ('…' if len(typed) > 300 else ''))}")
    return "\n\n".join(parts)


def _short(text: str) -> str:
    lines = text[:_SHOWN_CHARACTERS].splitlines()[:_SHOWN_LINES]
    shown = "\n".join(lines)
    return shown if shown == text else f"{shown}\n… ({len(text):,} characters)"


def index() -> str:
    """The page that leads to all others."""
    rows = [
        f"| [{one.title}](gallery/{one.name}.md) | {one.about} | {len(conversation(one.name))} |"
        for one in EXHIBITS
    ]
    return "\n".join([
        "# Gallery: what summaries look like",
        "",
        "Five conversations, each summarised twice: by code alone, and with a model. Every line of a summary is",
        "linked to the messages that it comes from, so you can check it. The conversations are made up; the model's",
        "summaries are recorded. `python bench/gallery.py` writes these pages.",
        "",
        "| conversation | what happens | messages |",
        "|---|---|--:|",
        *rows,
        "",
        "With a model, the headings are the model's text. Code adds the few lines that the model left out and that",
        "must not be missing, and the evidence: exact quotes.",
        "",
    ])  # fmt: skip


def pages() -> dict[Path, str]:
    """Every page of the gallery by its path."""
    found = {DOCS / "gallery" / f"{one.name}.md": page(one) for one in EXHIBITS}
    return {DOCS / "gallery.md": index(), **found}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, "utf-8")
        print(path.relative_to(DOCS.parent))
