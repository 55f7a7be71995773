"""Decides whether and how a model's requests have cache markers, and reports it in one line.

    Claude + Anthropic's API   ─► on, markers also on tool messages
    Claude + OpenRouter        ─► on, markers on content parts only, with their TTL
    Claude + unknown server    ─► on if `prompt_caching.strategy` names a strategy, off with `auto`
    anything else              ─► off; its provider may still cache automatically

`prompt_caching.strategy` fixes how markers are placed; `auto` plans them. Of the servers that offer Claude in
OpenAI's format, some accept markers (LiteLLM, Portkey) and some reject requests with them; they cannot be told apart.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from plimsoll.caching.blocks import BlockChain
from plimsoll.caching.breakpoints import LIFETIMES, apply_anthropic_cache_control, apply_plan, without_markers
from plimsoll.caching.planner import CacheMemory, plan_breakpoints, plan_system_and_3, remember
from plimsoll.errors import SettingError
from plimsoll.messages import Message

Route = Literal["anthropic", "openrouter", "openai", "other"]
Strategy = Literal["none", "system_and_3", "planned"]
# openrouter.ai/docs/guides/best-practices/prompt-caching. Earlier versions of that page only had 5m, and rules
# derived from them still say that OpenRouter drops the TTL.
OPENROUTER_HOUR = (
    "OpenRouter passes the 1h TTL on to every provider of Claude; a cache write costs 2x the input price."
)
UNKNOWN_SERVER = "prompt_caching.strategy auto sends no cache breakpoints to unknown servers"
# Styles of cache rules at providers that cache by themselves.
_AUTOMATIC = ("openai_automatic", "openai_breakpoints", "gemini_implicit")
STRATEGIES = ("auto", "system_and_3", "planned", "none")
_HOSTS: dict[str, Route] = {
    "anthropic.com": "anthropic",
    "openrouter.ai": "openrouter",
    "openai.com": "openai",
}
_HOST = re.compile(r"[a-zA-Z][\w+.-]*://(?:[^/?#@]*@)?([^/?#:]+)")
_VIA: dict[Route, str] = {
    "anthropic": "native Anthropic",
    "openrouter": "Claude via OpenRouter",
    "other": "Claude via this server",
}


@dataclass(frozen=True, slots=True)
class CachingPolicy:
    """How one model's requests are cached."""

    enabled: bool
    route: Route
    strategy: Strategy
    ttl: str = "5m"
    reason: str = ""  # why it is off
    unwanted: bool = False  # off because of the user's setting, not because markers are unsupported
    notices: tuple[str, ...] = ()

    @property
    def native_anthropic(self) -> bool:
        """Whether requests go to Anthropic's own API."""
        return self.route == "anthropic"


@dataclass(frozen=True, slots=True)
class MarkedRequest:
    """A request's messages with their markers, and the memory for the next request."""

    messages: list[Message]
    memory: CacheMemory


def caching_policy(
    model: str,
    provider: str = "auto",
    base_url: str | None = None,
    *,
    cache_ttl: str = "5m",
    strategy: str = "auto",
) -> CachingPolicy:
    """The policy for this model at this provider under these settings."""
    if cache_ttl not in LIFETIMES:
        raise SettingError(
            f"prompt_caching.cache_ttl is {cache_ttl!r}; it must be one of {', '.join(LIFETIMES)}."
        )
    if strategy not in STRATEGIES:
        raise SettingError(
            f"prompt_caching.strategy is {strategy!r}; it must be one of {', '.join(STRATEGIES)}."
        )
    route = _route(provider, base_url)
    if strategy == "none":
        return CachingPolicy(
            False, route, "none", cache_ttl, "prompt_caching.strategy is none", unwanted=True
        )
    if "claude" not in model.lower():
        return CachingPolicy(False, route, "none", cache_ttl, f"{model} accepts no cache breakpoints")
    if route == "openai":
        return CachingPolicy(False, route, "none", cache_ttl, "OpenAI accepts no cache breakpoints")
    if route == "other" and strategy == "auto":
        return CachingPolicy(False, route, "none", cache_ttl, UNKNOWN_SERVER)
    notices = (OPENROUTER_HOUR,) if route == "openrouter" and cache_ttl == "1h" else ()
    placed: Strategy = "system_and_3" if strategy == "system_and_3" else "planned"
    return CachingPolicy(True, route, placed, cache_ttl, notices=notices)


def start_line(policy: CachingPolicy, style: str = "none") -> str:
    """The line that the terminal shows when a conversation starts; `style` is that of the model's cache rules."""
    if not policy.enabled and not policy.unwanted and style in _AUTOMATIC:
        return "💾 Prompt caching: automatic (by the provider, without cache breakpoints)"
    if not policy.enabled:
        return f"💾 Prompt caching: off ({policy.reason})"
    return f"💾 Prompt caching: ENABLED ({_VIA[policy.route]}, {policy.ttl} TTL)"


def request_extras(policy: CachingPolicy, conversation_id: str) -> dict[str, Any]:
    """Request fields that route a conversation to the server with its cache."""
    if policy.unwanted:
        return {}
    field = {"openrouter": "session_id", "openai": "prompt_cache_key"}.get(policy.route)
    # The id itself is not sent; the key only has to be stable.
    return {field: "plimsoll-" + sha256(conversation_id.encode()).hexdigest()[:32]} if field else {}


def mark(
    messages: Sequence[Message],
    policy: CachingPolicy,
    chain: BlockChain,
    memory: CacheMemory | None = None,
    *,
    now: float = 0.0,
    minimum: int = 0,
    volatile: int = 0,
) -> MarkedRequest:
    """A deep copy of the messages with the policy's markers."""
    if not policy.enabled:
        return MarkedRequest(without_markers(messages), memory or CacheMemory())
    prompt = chain.prompt(messages)
    if policy.strategy == "system_and_3":
        plan = plan_system_and_3(prompt, policy.ttl, policy.native_anthropic)
        marked = apply_anthropic_cache_control(messages, policy.ttl, policy.native_anthropic)
    else:
        plan = plan_breakpoints(
            prompt,
            memory,
            now=now,
            minimum=minimum,
            ttl=policy.ttl,
            native_anthropic=policy.native_anthropic,
            volatile=volatile,
        )
        marked = apply_plan(messages, plan)
    return MarkedRequest(marked, remember(memory, prompt, plan, now=now, minimum=minimum))


def _route(provider: str, base_url: str | None) -> Route:
    """Where requests really go: a known host takes precedence over the provider's name."""
    found = _HOST.match(base_url or "")
    host = found[1].lower() if found else ""
    for domain, route in _HOSTS.items():
        if host == domain or host.endswith("." + domain):
            return route
    named = provider.lower()
    if named == "anthropic":
        return "anthropic"
    if named == "openrouter":
        return "openrouter"
    # Many servers speak OpenAI's protocol but reject fields that only OpenAI accepts.
    return "openai" if named == "openai" and not host else "other"
