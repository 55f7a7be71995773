"""Token usage of a reply, in common terms for all providers.

    Anthropic   prompt = input + cache read + cache creation      (three separate numbers)
    OpenAI      prompt includes cached tokens                     (details are parts of it)
    Google      prompt includes cached tokens; thoughts are not included in the candidates

`prompt_tokens` is always the whole prompt, `input_tokens` the part of it that
was neither read from nor written to a cache. A missing, null or invalid field is
unknown; parsing never raises an error.
"""

from dataclasses import dataclass
from typing import Any

from plimsoll.messages.untyped import object_of

# A larger number is an error of the upstream, which must not use up the daily limit of a key. The largest windows
# have ten million tokens.
_MAX_COUNT = 100_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request; None if the provider does not report them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    # The part of `cache_write_tokens` with a TTL of one hour, which has a different price.
    cache_write_1h_tokens: int | None = None

    def as_dict(self) -> dict[str, int]:
        """The keys that engines read, without unknown ones."""
        known = {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cache_read_tokens": self.cache_read_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "reasoning_tokens": self.reasoning_tokens,
        }
        return {key: value for key, value in known.items() if value is not None}


def usage_from_openai(raw: Any) -> Usage | None:
    """The usage of a chat completion, in any compatible server's spelling; None if there is none."""
    usage = object_of(raw)
    prompt_details = _first_dict(usage, "prompt_tokens_details", "input_tokens_details")
    output_details = _first_dict(usage, "completion_tokens_details", "output_tokens_details")
    prompt = _first(usage, "prompt_tokens", "input_tokens")
    completion = _first(usage, "completion_tokens", "output_tokens")
    total = _count(usage.get("total_tokens"))
    if prompt is None and completion is None and total is None:
        return None
    read = _first(prompt_details, "cached_tokens")
    if read is None:
        read = _first(usage, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
    write = _first(prompt_details, "cache_write_tokens", "cache_creation_tokens")
    if write is None:
        write = _first(usage, "cache_creation_input_tokens")
    if prompt is None:
        prompt = max(0, (total or 0) - (completion or 0))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion or 0,
        total_tokens=prompt + (completion or 0) if total is None else total,
        input_tokens=max(0, prompt - (read or 0) - (write or 0)),
        output_tokens=completion,
        cache_read_tokens=read,
        cache_write_tokens=write,
        reasoning_tokens=_first(output_details, "reasoning_tokens"),
    )


def usage_from_anthropic(raw: Any) -> Usage | None:
    """The usage of a message; None if there is none."""
    usage = object_of(raw)
    plain = _count(usage.get("input_tokens"))
    read = _count(usage.get("cache_read_input_tokens"))
    write = _count(usage.get("cache_creation_input_tokens"))
    output = _count(usage.get("output_tokens"))
    if plain is None and read is None and write is None and output is None:
        return None
    prompt = (plain or 0) + (read or 0) + (write or 0)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=output or 0,
        total_tokens=prompt + (output or 0),
        input_tokens=plain,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=write,
        reasoning_tokens=_first(
            _first_dict(usage, "output_tokens_details"), "thinking_tokens", "reasoning_tokens"
        ),
        cache_write_1h_tokens=_count(_first_dict(usage, "cache_creation").get("ephemeral_1h_input_tokens")),
    )


def usage_from_gemini(raw: Any) -> Usage | None:
    """The `usageMetadata` of a response; None if there is none."""
    usage = object_of(raw)
    prompt, tools = _count(usage.get("promptTokenCount")), _count(usage.get("toolUsePromptTokenCount"))
    written, thought = _count(usage.get("candidatesTokenCount")), _count(usage.get("thoughtsTokenCount"))
    total = _count(usage.get("totalTokenCount"))
    if prompt is None and written is None and total is None:
        return None
    read = _count(usage.get("cachedContentTokenCount"))
    whole, output = (prompt or 0) + (tools or 0), (written or 0) + (thought or 0)
    return Usage(
        prompt_tokens=whole,
        completion_tokens=output,
        total_tokens=whole + output if total is None else total,
        input_tokens=max(0, whole - (read or 0)),
        output_tokens=output,
        cache_read_tokens=read,
        reasoning_tokens=thought,
    )


def usage_to_openai(usage: Usage) -> dict[str, Any]:
    """The `usage` object of a chat completion."""
    wire: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
    details = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens}
    if known := {key: value for key, value in details.items() if value is not None}:
        wire["prompt_tokens_details"] = known
    if usage.reasoning_tokens is not None:
        wire["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return wire


def usage_to_anthropic(usage: Usage | None) -> dict[str, Any]:
    """The `usage` object of a message; unknown values are 0, because clients add them up."""
    usage = usage or Usage()
    read, write = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    plain = usage.prompt_tokens - read - write if usage.input_tokens is None else usage.input_tokens
    wire: dict[str, Any] = {
        "input_tokens": max(0, plain),
        "cache_creation_input_tokens": write,
        "cache_read_input_tokens": read,
        "output_tokens": usage.completion_tokens,
    }
    if usage.cache_write_1h_tokens is not None:
        wire["cache_creation"] = {
            "ephemeral_5m_input_tokens": max(0, write - usage.cache_write_1h_tokens),
            "ephemeral_1h_input_tokens": usage.cache_write_1h_tokens,
        }
    if usage.reasoning_tokens is not None:
        wire["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return wire


def usage_to_gemini(usage: Usage) -> dict[str, Any]:
    """The `usageMetadata` of a response."""
    thought = usage.reasoning_tokens or 0
    wire: dict[str, Any] = {
        "promptTokenCount": usage.prompt_tokens,
        "candidatesTokenCount": max(0, usage.completion_tokens - thought),
        "totalTokenCount": usage.total_tokens,
    }
    if usage.cache_read_tokens is not None:
        wire["cachedContentTokenCount"] = usage.cache_read_tokens
    if usage.reasoning_tokens is not None:
        wire["thoughtsTokenCount"] = usage.reasoning_tokens
    return wire


def _count(value: Any) -> int | None:
    """A token count; None for anything else."""
    if type(value) is not int and type(value) is not float:  # excludes booleans, which are ints
        return None
    return int(value) if 0 <= value <= _MAX_COUNT else None


def _first(usage: dict[str, Any], *keys: str) -> int | None:
    for key in keys:
        count = _count(usage.get(key))
        if count is not None:
            return count
    return None


def _first_dict(usage: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        value = usage.get(key)
        if isinstance(value, dict):
            return value
    return {}
