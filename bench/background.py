"""How long compactions make a person wait, with and without preparing them in the background.

A conversation of 300 tokens a turn, over a real wire and on a real archive. A turn takes about 0.1 s and a summary
0.5 s: the seconds of an ordinary chat divided by ten. The bar: with background on, a person waits at most a tenth
of the time for compactions. That the whole run is no longer than one without compactions is a test on a virtual
clock (`tests/agent/test_background_timing.py`); here shorter prompts make it faster.
"""

import asyncio
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from figures import report
from plimsoll.agent import Compacted, CompactionRules, Event, ModelConnection
from plimsoll.archive import OPERATOR, CompactionEvent
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.caching import caching_policy
from plimsoll.context import ContextCompressor
from plimsoll.dialects import ChatRequest
from plimsoll.models import card_for
from plimsoll.providers import Client, Endpoint
from plimsoll.sessions import Conversation, ConversationParts
from plimsoll.testing.scripted_server import ScriptedAnswer, ScriptedServer, say
from plimsoll.tools import ToolBox, ToolContext, Workspace

ANSWERING, SUMMARISING = 0.05, 0.5  # seconds; the wire and the archive take their part of a turn too
WINDOW, TURNS, WORDS = 32_000, 200, 140
MAX_SHARE = 0.1
JITTER = 0.1  # seconds by which the waits of two runs of the same code differ
MODEL = "claude-sonnet-5"
RULES = {
    "background: false": CompactionRules(background=False),
    "background: true": CompactionRules(background=True),
}


class Writer:
    """A summary model that takes its time."""

    context_length = 200_000

    def summarize(self, prompt: str, max_tokens: int) -> str:
        """Always the same summary."""
        time.sleep(SUMMARISING)
        return "## Goal\nTalk about words.\n## Progress\n### Done\nMany of them were said.\n"


@dataclass(frozen=True, slots=True)
class Run:
    """The seconds that the turns took, and the compactions among them."""

    seconds: float
    compactions: list[CompactionEvent]

    @property
    def waited(self) -> float:
        """Seconds that a person waited for compactions."""
        return sum(event.waited for event in self.compactions)


async def talk(server: ScriptedServer, folder: Path, rules: CompactionRules) -> Run:
    """One whole conversation."""
    headers = (("anthropic-version", "2023-06-01"),)
    endpoint = Endpoint("anthropic", server.anthropic_url, "anthropic", "any", MODEL, headers=headers)
    connection = ModelConnection(
        Client(endpoint), card_for(MODEL), caching_policy(MODEL, "anthropic"), time.monotonic
    )
    events: list[Event] = []
    async with await SqliteStore.open(folder / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        session = await archive.create_session(model=MODEL, engine="compressor")
        equipment = ConversationParts(
            connection=connection,
            engine=ContextCompressor(MODEL, WINDOW, summarizer=Writer()),
            rules=rules,
            toolbox=ToolBox(()),
            tool_context=ToolContext(Workspace(folder)),
            clock=time.monotonic,
        )
        conversation = await Conversation.open(archive, session.id, "bench", equipment)
        await conversation.begin("You talk about words.")
        taken = 0.0
        for turn in range(TURNS):
            started = time.perf_counter()
            await conversation.say(
                {"role": "user", "content": f"Turn {turn}: " + "word " * WORDS}, events.append
            )
            taken += time.perf_counter() - started
        await conversation.close()
    return Run(taken, [event.event for event in events if isinstance(event, Compacted)])


def answer(_request: ChatRequest) -> ScriptedAnswer:
    """What the model says to everything."""
    time.sleep(ANSWERING)
    return say("word " * WORDS)


def measured(rules: CompactionRules) -> Run:
    """A conversation under these rules."""
    with tempfile.TemporaryDirectory() as folder, ScriptedServer(answer, model=MODEL) as server:
        return asyncio.run(talk(server, Path(folder), rules))


def main() -> int:
    """Measure, print, and say whether the bar holds."""
    runs = {name: measured(rules) for name, rules in RULES.items()}
    table = Table("rules", "turns, s", "compactions", "waited, s", "longest, s", title=f"{TURNS} turns")
    for name, run in runs.items():
        longest = max(event.waited for event in run.compactions)
        cells = f"{run.seconds:.2f}", f"{len(run.compactions)}", f"{run.waited:.2f}", f"{longest:.2f}"
        table.add_row(name, *cells)
        per_turn = run.seconds / TURNS * 1_000
        report("background", f"turn, {name}", per_turn, "ms", resolution=JITTER * 1_000 / TURNS)
        report("background", f"waited, {name}", run.waited, "s", resolution=JITTER)
        report("background", f"longest wait, {name}", longest, "s", resolution=JITTER)
    Console().print(table)
    without, background = runs.values()
    share = background.waited / without.waited
    print(f"the wait is {share:.1%} of what it is without background; at most {MAX_SHARE:.0%}")
    return 0 if share <= MAX_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
