"""Where the provider's prompt cache cuts, what it costs, and what it would have cost otherwise. Pure."""

from plimsoll.caching.anthropic_rules import FIRST_TOKEN, LOOK_BACK, MAX_BREAKPOINTS
from plimsoll.caching.bill import Bill, total
from plimsoll.caching.blocks import Block, BlockChain, Prompt, RequestOptions
from plimsoll.caching.breakpoints import (
    Breakpoint,
    Plan,
    apply_anthropic_cache_control,
    apply_plan,
    breakpoints_in,
    cache_marker,
    marker_ttl,
    without_markers,
)
from plimsoll.caching.compaction_pays import Course, Terms, Verdict, compaction_pays, terms_of
from plimsoll.caching.planner import (
    CacheMemory,
    plan_breakpoints,
    plan_reading,
    plan_system_and_3,
    remember,
)
from plimsoll.caching.policy import (
    STRATEGIES,
    CachingPolicy,
    Marked,
    caching_policy,
    mark,
    request_extras,
    start_line,
)
from plimsoll.caching.replay import (
    Compaction,
    Replay,
    Step,
    SummaryCall,
    cold_summary_cost,
    replay,
    warm_summary_cost,
)
from plimsoll.caching.simulator import CacheSimulator, uncached
from plimsoll.caching.summary_choice import SummaryChoice, choose_summary

__all__ = [
    "FIRST_TOKEN",
    "LOOK_BACK",
    "MAX_BREAKPOINTS",
    "STRATEGIES",
    "Bill",
    "Block",
    "BlockChain",
    "Breakpoint",
    "CacheMemory",
    "CacheSimulator",
    "CachingPolicy",
    "Compaction",
    "Course",
    "Marked",
    "Plan",
    "Prompt",
    "Replay",
    "RequestOptions",
    "Step",
    "SummaryCall",
    "SummaryChoice",
    "Terms",
    "Verdict",
    "apply_anthropic_cache_control",
    "apply_plan",
    "breakpoints_in",
    "cache_marker",
    "caching_policy",
    "choose_summary",
    "cold_summary_cost",
    "compaction_pays",
    "mark",
    "marker_ttl",
    "plan_breakpoints",
    "plan_reading",
    "plan_system_and_3",
    "remember",
    "replay",
    "request_extras",
    "start_line",
    "terms_of",
    "total",
    "uncached",
    "warm_summary_cost",
    "without_markers",
]
