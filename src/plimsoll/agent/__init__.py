"""One user turn: prepare → ask → run tools → repeat; and the one place that decides when to compact."""

from plimsoll.agent.accounts import SummaryAccount, on_this_loop
from plimsoll.agent.agent import INTERRUPTED, LEFT, UNANSWERED, Agent
from plimsoll.agent.asking import Emit, Line, Reserve
from plimsoll.agent.compaction import Attempt, CompactionRules, Compactor
from plimsoll.agent.engine_tools import engine_tools
from plimsoll.agent.events import (
    Called,
    Compacted,
    Event,
    Noticed,
    Returned,
    Said,
    Summarising,
    Thought,
    Used,
)
from plimsoll.agent.hooks import Hooks
from plimsoll.agent.hosting import HostedEngine, drafts
from plimsoll.agent.journal import Journal
from plimsoll.agent.large import largest_result
from plimsoll.agent.limits import Limits
from plimsoll.agent.trigger import CLEARING
from plimsoll.agent.workers import Workers

__all__ = [
    "CLEARING",
    "INTERRUPTED",
    "LEFT",
    "UNANSWERED",
    "Agent",
    "Attempt",
    "Called",
    "Compacted",
    "CompactionRules",
    "Compactor",
    "Emit",
    "Event",
    "Hooks",
    "HostedEngine",
    "Journal",
    "Limits",
    "Line",
    "Noticed",
    "Reserve",
    "Returned",
    "Said",
    "Summarising",
    "SummaryAccount",
    "Thought",
    "Used",
    "Workers",
    "drafts",
    "engine_tools",
    "largest_result",
    "on_this_loop",
]
