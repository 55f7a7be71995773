"""One user turn: prepare, ask the model, run its tools, repeat. Also decides when to compact."""

from plimsoll.agent.agent import INTERRUPTED, LEFT, UNANSWERED, Agent
from plimsoll.agent.compaction import Attempt, Compactor
from plimsoll.agent.compaction_record import SummaryAccount, on_this_loop
from plimsoll.agent.engine_host import EngineHost, can_draft
from plimsoll.agent.engine_tools import engine_tools
from plimsoll.agent.events import (
    Compacted,
    Event,
    Notice,
    ReasoningReceived,
    SummaryProgress,
    TextReceived,
    ToolCalled,
    ToolReturned,
    UsageReported,
)
from plimsoll.agent.hooks import Hooks
from plimsoll.agent.journal import Journal
from plimsoll.agent.large_results import largest_result
from plimsoll.agent.limits import TurnLimits
from plimsoll.agent.model_connection import Emit, ModelConnection, Reserve
from plimsoll.agent.preparation import SharedPreparations
from plimsoll.agent.trigger import CLEARING, CompactionRules
from plimsoll.agent.workers import Workers

__all__ = [
    "CLEARING",
    "INTERRUPTED",
    "LEFT",
    "UNANSWERED",
    "Agent",
    "Attempt",
    "Compacted",
    "CompactionRules",
    "Compactor",
    "Emit",
    "EngineHost",
    "Event",
    "Hooks",
    "Journal",
    "ModelConnection",
    "Notice",
    "ReasoningReceived",
    "Reserve",
    "SharedPreparations",
    "SummaryAccount",
    "SummaryProgress",
    "TextReceived",
    "ToolCalled",
    "ToolReturned",
    "TurnLimits",
    "UsageReported",
    "Workers",
    "can_draft",
    "engine_tools",
    "largest_result",
    "on_this_loop",
]
