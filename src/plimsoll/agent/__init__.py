"""One user turn: prepare → ask → run tools → repeat; and the one place that decides when to compact."""

from plimsoll.agent.agent import INTERRUPTED, UNANSWERED, Agent
from plimsoll.agent.asking import Emit, Line
from plimsoll.agent.compaction import Attempt, CompactionRules, Compactor
from plimsoll.agent.events import Called, Compacted, Event, Noticed, Returned, Said, Thought, Used
from plimsoll.agent.journal import Journal
from plimsoll.agent.limits import Limits

__all__ = [
    "INTERRUPTED",
    "UNANSWERED",
    "Agent",
    "Attempt",
    "Called",
    "Compacted",
    "CompactionRules",
    "Compactor",
    "Emit",
    "Event",
    "Journal",
    "Limits",
    "Line",
    "Noticed",
    "Returned",
    "Said",
    "Thought",
    "Used",
]
