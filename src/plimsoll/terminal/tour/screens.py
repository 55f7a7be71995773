"""The screens of the tour. Every step fits 80×24, including heading and key line."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from plimsoll.caching import Bill
from plimsoll.context import CompactionReport
from plimsoll.messages.printable import plain
from plimsoll.terminal.tables import before_after, folded
from plimsoll.terminal.tour.recorded_session import (
    GAP_SECONDS,
    MODEL,
    QUESTION,
    SEARCH,
    WINDOW,
    GrowthStep,
    RecalledFact,
    TourCosts,
)
from plimsoll.transcripts import counted

STEPS = 5
_BAR = 48
_SECTIONS = ("Goal", "Constraints & Preferences", "Done", "Key Decisions")
_ITEMS = 2


def heading(number: int, title: str) -> RenderableType:
    """The line above a step."""
    return Group(Text(), Rule(Text(f"{number}/{STEPS} {title}", "bold cyan"), align="left", style="dim"))


def introduction(messages: int, threshold: int) -> Text:
    """What the tour is."""
    return Text(
        f"An agent's messages add up until they fill the model's context window. Here a recorded coding session "
        f"of {messages} messages grows in a window of {WINDOW:,} tokens. Compaction is due at {threshold:,}. "
        "Nothing leaves your machine, and no key is needed."
    )


def growth(step: GrowthStep, threshold: int, width: int) -> Group:
    """The conversation so far, as a bar with the threshold marked, and the newest message."""
    filled = min(_BAR, round(step.tokens / WINDOW * _BAR))
    mark = round(threshold / WINDOW * _BAR)
    bar = Text()
    for cell in range(_BAR):
        sign = "│" if cell == mark else "█" if cell < filled else "·"
        bar.append(sign, "bold yellow" if cell == mark else "cyan" if cell < filled else "dim")
    newest = plain(step.line)
    return Group(
        Text(),
        Text.assemble(bar, f" {step.tokens / WINDOW:4.0%}"),
        Text(" " * mark + f"│ compaction is due at {threshold:,}", "yellow"),
        Text(f"{counted(step.messages, 'message', 'messages')}, {step.tokens:,} tokens", "bold"),
        Text(newest if len(newest) < width else f"{newest[: width - 1]}…", "dim"),
    )


def growth_end(step: GrowthStep, threshold: int) -> Text:
    """Why the growth stops here."""
    return Text(
        f"The next request would have {step.tokens:,} tokens, more than {threshold:,}: compaction is due."
    )


def compaction(report: CompactionReport, width: int) -> Group:
    """Sizes before and after, and the beginning of the summary."""
    cleared = report.cleared
    lines: list[RenderableType] = [
        Text(),
        before_after(report),
        Text(),
        Text(
            f"The system prompt, the first request and the newest messages stay word for word. A summary replaces "
            f"the {report.messages_before - report.messages_after + 1} messages between them, including {cleared} "
            "long tool results. It was written without a model. Some of its lines:"
        ),
        Text(),
    ]
    for section, items in folded(plain(report.summary), _ITEMS):
        name = section.lstrip("# ")
        if name in _SECTIONS:
            lines.append(_cut(Text.assemble((name, "bold"), "  ", " · ".join(_plain_items(items))), width))
    return Group(*lines)


def _plain_items(items: Sequence[str]) -> list[str]:
    return [item.removeprefix("- ").strip("*") for item in items]


def _cut(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    return text


def recall(fact: RecalledFact, messages: int) -> Group:
    """The question, and where the answer is."""
    where = "still in" if fact.in_view else "no longer in"
    return Group(
        Text(),
        Text.assemble(("Question  ", "bold"), QUESTION),
        Text(),
        Text(f"The model now sees {messages} messages. The answer is {where} them; it was in a test run."),
        Text("The archive keeps every message. A search finds it:"),
        Text(),
        Text(f"  search {SEARCH}", "cyan"),
        Text(f"    message {fact.sequence}, tool result, handle {fact.handle}"),
        Text(f"  recall {fact.handle}", "cyan"),
        Text(f"    {plain(fact.line)}", "green"),
        Text(),
        Text(
            "In a chat, the model can call recall by itself (behind the gateway with gateway.recall: true). You use "
            "/search and /recall, or plimsoll sessions search."
        ),
    )


def undone(messages: int, tokens: int, same: bool) -> Group:
    """The view after the undo."""
    word = "word for word as before" if same else "NOT as before; please report this"
    return Group(
        Text(),
        Text(
            "A compaction changes what the model sees, never what is stored. Undo restores the earlier view:"
        ),
        Text(),
        Text.assemble("  ", (f"{messages} messages, {tokens:,} tokens, {word}", "green" if same else "red")),
        Text(),
        Text("In a chat it is /undo; for a stored session it is plimsoll sessions undo ID."),
    )


def costs(found: TourCosts) -> Group:
    """The recording priced three ways."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("the whole recording")
    table.add_column("input tokens", justify="right", no_wrap=True)
    table.add_column("USD", justify="right", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    rows: tuple[tuple[str, Bill], ...] = (
        ("no prompt cache, no compaction", found.uncached),
        ("prompt cache", found.cached),
        (f"prompt cache and {found.compactions} compactions", found.compacted),
    )
    for name, bill in rows:
        share = f"{bill.money / found.uncached.money:.0%}"
        table.add_row(name, f"{bill.prompt_tokens:,}", f"{bill.money:.2f}", share)
    return Group(
        Text(),
        table,
        Text(
            f"{found.requests} requests at the prices of {MODEL}, {GAP_SECONDS:g} s apart; tokens are estimated. "
            f"Without compaction, {found.too_large} of the requests do not fit a {WINDOW // 1000}K window at all."
        ),
    )


def next_commands(command: str) -> Group:
    """What to do after the tour."""
    lines = [
        Text.assemble((f"  {command} {arguments}", "cyan"), f"\n      {purpose}")
        for arguments, purpose in (
            ("chat", "talk to a model; the chat compacts itself"),
            (
                "inspect --latest claude",
                "see your newest Claude Code session in the browser (also: codex, gemini)",
            ),
            ("compress --latest claude", "compact it"),
            ("gateway", "put Plimsoll in front of the agent that you use"),
        )
    ]
    return Group(Text(), Text("Next:", "bold"), *lines)
