"""One user turn: prepare, ask the model, run its tools, repeat. Also decides when to compact.

The names load on first use: a worker process, which imports two modules of this package, needs no HTTP client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plimsoll.agent.agent import INTERRUPTED, PROCESS_ENDED, UNANSWERED, Agent
    from plimsoll.agent.compaction import Compactor
    from plimsoll.agent.compaction_record import Attempt, SummaryAccount, on_this_loop
    from plimsoll.agent.engine_host import EngineHost, can_draft
    from plimsoll.agent.events import (
        Compacted,
        Event,
        Notice,
        ReasoningReceived,
        RetryWaiting,
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
    from plimsoll.agent.preparation import CompactionTerms, SharedPreparations
    from plimsoll.agent.trigger import CLEARING, CompactionRules
    from plimsoll.agent.workers import Workers

_HOME_OF = {
    "Agent": "agent",
    "Attempt": "compaction_record",
    "CLEARING": "trigger",
    "Compacted": "events",
    "CompactionRules": "trigger",
    "CompactionTerms": "preparation",
    "Compactor": "compaction",
    "Emit": "model_connection",
    "EngineHost": "engine_host",
    "Event": "events",
    "Hooks": "hooks",
    "INTERRUPTED": "agent",
    "Journal": "journal",
    "PROCESS_ENDED": "agent",
    "ModelConnection": "model_connection",
    "Notice": "events",
    "ReasoningReceived": "events",
    "RetryWaiting": "events",
    "Reserve": "model_connection",
    "SharedPreparations": "preparation",
    "SummaryAccount": "compaction_record",
    "SummaryProgress": "events",
    "TextReceived": "events",
    "ToolCalled": "events",
    "ToolReturned": "events",
    "TurnLimits": "limits",
    "UNANSWERED": "agent",
    "UsageReported": "events",
    "Workers": "workers",
    "can_draft": "engine_host",
    "largest_result": "large_results",
    "on_this_loop": "compaction_record",
}

__all__ = [
    "CLEARING",
    "INTERRUPTED",
    "PROCESS_ENDED",
    "UNANSWERED",
    "Agent",
    "Attempt",
    "Compacted",
    "CompactionRules",
    "CompactionTerms",
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
    "RetryWaiting",
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
    "largest_result",
    "on_this_loop",
]


def __getattr__(name: str) -> Any:
    """Load a name from the module that defines it."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'plimsoll.agent' has no attribute {name!r}")
    return getattr(import_module(f"plimsoll.agent.{_HOME_OF[name]}"), name)
