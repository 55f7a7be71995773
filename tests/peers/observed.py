"""What a provider saw of a client's conversation: what was asked, what was kept, what its cache could read."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cases import Case
from script import newest_part

from plimsoll.context.markers import NOTE
from plimsoll.testing.prefix import prefix_parts
from plimsoll.testing.pressure import window_usage_mentions
from plimsoll.testing.scripted_server import CapturedRequest

MARKER = "cache_control"
# Providers cache nothing shorter than 1,024 tokens and may round down to a multiple of 128.
WORTH_CACHING = 2_048
# What a client writes about a command that it ran and that differs from run to run: of Codex, of Gemini CLI.
# Gemini CLI lists what still runs when a command ends as a background process.
VOLATILE = re.compile(
    r"Chunk ID: \w+|Wall time: [\d.]+ seconds|(Background PIDs: [\d, ]+\n)?Process Group PGID: \d+"
)
WARM = 0.8  # of the request before; OpenAI's wire carries no marker on a tool result


def conversation(case: Case, requests: Sequence[CapturedRequest]) -> list[CapturedRequest]:
    """The requests without side requests such as titles, which bring no tools."""
    return [seen for seen in requests if not case.uses_tools or (seen.body or {}).get("tools")]


def asked(case: Case, requests: Sequence[CapturedRequest]) -> list[list[tuple[str, str]]]:
    """What each request wants answered. Reminders may name the model, so they count only for the same one."""
    hidden = re.compile(
        r"<system-reminder>.*?</system-reminder>" if case.direct_model else r"(?!)", re.DOTALL
    )
    return [
        [(role, VOLATILE.sub("", hidden.sub("", text))) for role, text in newest_part(seen.request.messages)]
        for seen in requests
        if seen.request
    ]


def fields_of(requests: Sequence[CapturedRequest]) -> set[str]:
    """The fields that every one of the requests has."""
    return set.intersection(*[set(seen.body or {}) for seen in requests])


def cached_share(requests: Sequence[CapturedRequest]) -> float:
    """The share of the prompt tokens that the provider read from its cache."""
    usages = [seen.usage for seen in requests if seen.usage]
    return sum(usage.cache_read_tokens or 0 for usage in usages) / sum(
        usage.prompt_tokens for usage in usages
    )


def pressure(requests: Sequence[CapturedRequest]) -> set[str]:
    """What the requests tell the model about how full its window is, without numbers."""
    return {
        re.sub(r"\d+", "N", told)
        for told in window_usage_mentions(seen.body for seen in requests if seen.body)
    }


def breaks(requests: Sequence[CapturedRequest]) -> list[int]:
    """The requests that do not extend the one before."""
    parts = [prefix_parts(seen.body or {}) for seen in requests]
    return [n for n in range(1, len(parts)) if parts[n][: len(parts[n - 1])] != parts[n - 1]]


def cold(requests: Sequence[CapturedRequest]) -> list[str]:
    """The requests that extend the one before and yet do not read it from the cache."""
    broken, found = set(breaks(requests)), []
    for number in range(1, len(requests)):
        before, now = requests[number - 1].usage, requests[number].usage
        assert before
        assert now
        read = now.cache_read_tokens or 0
        if (
            number not in broken
            and before.prompt_tokens >= WORTH_CACHING
            and read < WARM * before.prompt_tokens
        ):
            found.append(
                f"request {number} read {read:,} tokens; the one before had {before.prompt_tokens:,}"
            )
    return found


def system_texts(body: Mapping[str, Any]) -> list[str]:
    """The blocks of Anthropic's system prompt, without the note of a compaction."""
    texts = [block["text"] for block in _blocks(body.get("system"))]
    return texts[:-1] if texts and texts[-1] == NOTE else texts


def marked_places(body: Mapping[str, Any]) -> list[str]:
    """The positions of the client's cache markers: blocks of the system prompt, tools, the last message, others."""
    places = [
        f"{name} {n}"
        for name in ("system", "tools")
        for n, block in enumerate(_blocks(body.get(name)))
        if MARKER in block
    ]
    messages = body.get("messages") or []
    for number, message in enumerate(messages):
        where = "last message" if number == len(messages) - 1 else "earlier message"
        places += [where for block in _blocks(message.get("content")) if MARKER in block]
    return places


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content or []
