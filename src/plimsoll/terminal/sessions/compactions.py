"""Shows each compaction of a session: when, why, what it removed and what it kept.

────────────────────────────────────────────────────────────
1 · 2026-11-15 09:45 · threshold · compressor · compacted
           before     after
messages      118        27   ████▊···················   23 %
tokens     96,000    21,000   █████▌··················   22 %
went     messages 4–95, in words n:3f2a9c1b7d
stayed   messages 1–3, 96–118 and all that followed
"""

from collections.abc import Callable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from plimsoll.archive import CompactionEvent, Node, NodeLink, ShortenedReference, Span, View
from plimsoll.context.markers import is_summary, summary_body
from plimsoll.messages import text_of
from plimsoll.messages.printable import plain
from plimsoll.terminal.sessions.times import format_time
from plimsoll.terminal.tables import before_after, summary_panel


def heading(number: int, event: CompactionEvent) -> Group:
    """Time, trigger and outcome, below a rule: within a rule, a narrow terminal would cut the outcome."""
    colours = {"compacted": "green", "refused": "yellow", "edited": "cyan"}
    colour = colours.get(event.outcome, "magenta")
    author = f" · by {event.author}" if event.author else ""
    engine = event.engine or "no engine"
    title = f"{number} · {format_time(event.time)} · {event.trigger} · {engine} · {event.outcome}{author}"
    return Group(Rule(style="dim"), Text(plain(title), f"bold {colour}"))


def described(
    number: int,
    event: CompactionEvent,
    before: View | None,
    after: View | None,
    nodes: Sequence[Node],
    last: int,
) -> Group:
    """One event in full. A view is None if a deletion removed it."""
    parts: list[RenderableType] = [heading(number, event)]
    if event.reason:
        parts.append(Text(plain(event.reason)))
    if event.outcome in ("compacted", "edited"):
        parts.append(Padding(before_after(event), (0, 0, 0, 1)))
    parts += _changes(event, before, after, last)
    if event.outcome in ("compacted", "refused"):
        parts.append(Text(_effort(event), "dim"))
    parts += [summary_panel(_said(node), "model" if node.model else "deterministic") for node in nodes]
    return Group(*parts, Text(""))


def sources_of(event: CompactionEvent, place: Callable[[int, str], int | None]) -> Group:
    """Each line of the summary with its source messages; `place` finds one by number and handle."""
    stored = event.ledger.get("sources")
    lines = stored.get("lines", []) if isinstance(stored, dict) else []
    if not lines:
        return Group(Text("no sources were stored with this compaction", "dim"), Text(""))
    parts: list[RenderableType] = []
    title = ""
    for line in lines:
        if line["section"] != title:
            title = line["section"]
            parts.append(Text(plain(title), "bold"))
        places = {place(item["message"], item["handle"]) for item in line["sources"]} - {None}
        where = f"messages {_ranges(sorted(item for item in places if item))}" if places else "no message"
        parts.append(Text.assemble(plain(line["text"]), (f"  ← {where}", "dim")))
    return Group(*parts, Text(""))


def new_nodes(before: View, after: View) -> list[str]:
    """The nodes that only the second view has."""
    known = {reference.node for reference in before.references if isinstance(reference, NodeLink)}
    return [
        reference.node
        for reference in after.references
        if isinstance(reference, NodeLink) and reference.node not in known
    ]


def _changes(event: CompactionEvent, before: View | None, after: View | None, last: int) -> Iterator[Text]:
    if event.outcome in ("undone", "redone"):
        yield _line("messages", f"{event.messages_before:,} → {event.messages_after:,}")
        yield _line("tokens", f"{event.tokens_before:,} → {event.tokens_after:,}")
        yield _line("back at", f"view {event.view_after}" if event.view_after else "the whole conversation")
    if event.outcome in ("compacted", "edited") and before is not None and after is not None:
        yield from _parts(before, after, last)


def _parts(before: View, after: View, last: int) -> Iterator[Text]:
    """The messages that a compaction removed, shortened and kept."""
    had, has = _whole(before, last), _whole(after, last)
    shortened = [
        reference.sequence for reference in after.references if isinstance(reference, ShortenedReference)
    ]
    gone = _ranges(
        [n for span in had for n in range(span.first, span.last + 1) if not _inside(n, has, shortened)]
    )
    went = [f"messages {gone}"] if gone else []
    went += [f"the summary {node}" for node in sorted(new_nodes(after, before))]
    yield _line("went", ", ".join(went) or "nothing")
    if shortened:
        yield _line("shortened", f"messages {_ranges(shortened)}")
    kept = _ranges([n for span in has for n in range(span.first, min(span.last, after.through) + 1)])
    yield _line(
        "stayed",
        f"messages {kept} and all from {after.tail_from} on" if kept else f"all from {after.tail_from} on",
    )


def _whole(view: View, last: int) -> list[Span]:
    return [reference for reference in view.whole(last) if isinstance(reference, Span)]


def _inside(sequence: int, spans: Sequence[Span], shortened: Sequence[int]) -> bool:
    return sequence in shortened or any(span.first <= sequence <= span.last for span in spans)


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as ranges: 1–3, 7, 9–12."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in runs)


def _line(name: str, text: str) -> Text:
    return Text.assemble((f" {name:<10}", "dim"), text)


def _effort(event: CompactionEvent) -> str:
    parts = [f"{event.seconds:.1f} s, {event.waited:.1f} s waited"]
    if event.model:
        parts.append(f"summary by {plain(event.model)}")
    if event.money is not None:
        parts.append(f"${event.money:.4f}")
    return f" {' · '.join(parts)}"


def _said(node: Node) -> str:
    return summary_body(node.message) if is_summary(node.message) else text_of(node.message)
