"""Compacts one request and stores nothing: any dialect in, the same dialect out.

    {"model": …, "messages": [1 2 3 4 5 6], "tools": […]}
    {"model": …, "messages": [1 {summary} 5 6], "tools": […]}    and a report

Kept messages are returned unchanged, including unknown fields. The caller keeps the result as its new history, so
that the provider's cache still matches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.context import CompactionReport, ContextCompressor, SummaryWriter
from plimsoll.context.compressor.assemble import with_note
from plimsoll.context.markers import NOTE, has_note
from plimsoll.dialects import Dialect, dialect_named, dialects, drop_bound_thinking
from plimsoll.dialects.rewriting import KeptMessage, wire_segments
from plimsoll.errors import SettingError
from plimsoll.messages import SYSTEM_ROLES, Message, match_messages, text_of
from plimsoll.models import card_for, estimate_messages_tokens_rough, estimate_tools_tokens


class WireRequest:
    """A request in a client's dialect, and its conversation in canonical form. Raises `InvalidConversation`."""

    def __init__(self, dialect: Dialect, body: Mapping[str, Any]) -> None:
        self.dialect, self.body = dialect, dict(body)
        self.lead = _with_note_first(dialect.lead(self.body))
        self._said = dialect.messages(self.body)
        parts = [dialect.canonical(self._said, place) for place in range(len(self._said))]
        self.log: list[Message] = [message for part in parts for message in part]
        self._ends: list[int] = []
        for part in parts:
            self._ends.append(len(part) + (self._ends[-1] if self._ends else 0))
        self.tools_tokens = estimate_tools_tokens(dialect.canonical_tools(dialect.tools(self.body)))

    @property
    def model(self) -> str:
        """The model that it names; empty if none."""
        return self.dialect.model_of(self.body, "")

    @property
    def messages(self) -> list[Message]:
        """The whole conversation, system prompt first."""
        return [*self.lead, *self.log]

    @property
    def tokens(self) -> int:
        """Estimated tokens of the whole request."""
        return estimate_messages_tokens_rough(self.messages) + self.tools_tokens

    def with_messages(self, compacted: Sequence[Message]) -> dict[str, Any]:
        """The same request with a compacted conversation."""
        if card_for(self.model).preserved_thinking:
            # The provider rejects thinking blocks whose preceding messages have changed.
            compacted = drop_bound_thinking(compacted, 0)
        lead = [message for message in compacted[: len(self.lead)] if message.get("role") in SYSTEM_ROLES]
        after = compacted[len(lead) :]
        places = match_messages(self.log, after)
        kept = [
            KeptMessage(message, place if place is not None and self.log[place] == message else None)
            for message, place in zip(after, places, strict=True)
        ]
        segments = list(wire_segments(kept, self._ends, self.dialect, self.model))
        written = [self._said[segment] if isinstance(segment, int) else segment for segment in segments]
        settled = self.dialect.settled(written, len(written))
        return self.dialect.with_messages(self.body, settled, has_note=any(map(has_note, lead)))


@dataclass(frozen=True, slots=True)
class CompactedRequest:
    """The request to send from now on, and the report."""

    request: dict[str, Any]
    messages: Any  # of the request, in its wire format
    report: CompactionReport


def compact(
    messages: Sequence[Mapping[str, Any]] | Mapping[str, Any],
    *,
    dialect: str = "openai",
    model: str = "",
    window: int | None = None,
    threshold: float = 0.5,
    target_tokens: int | None = None,
    protect_last_n: int = 20,
    current_tokens: int | None = None,
    focus: str | None = None,
    only_if_due: bool = False,
    summarizer: SummaryWriter | None = None,
) -> CompactedRequest:
    """Compact messages, or a whole request with its system prompt and tools, in the named dialect.

    `window` overrides the model's window. `current_tokens` is the provider's count for the request, if known. With
    `only_if_due`, a conversation below the threshold is returned unchanged. Without a `summarizer`, the summary is
    extracted without a model.
    """
    spoken = wire_dialect(dialect)
    body = dict(messages) if isinstance(messages, Mapping) else {spoken.messages_field: list(messages)}
    request = WireRequest(spoken, body)
    engine = ContextCompressor(
        model or request.model,
        window,
        threshold,
        protect_last_n=protect_last_n,
        target_tokens=target_tokens,
        summarizer=summarizer,
    )
    tokens = request.tokens if current_tokens is None else current_tokens
    if only_if_due and not engine.should_compress(tokens):
        reason = f"{tokens:,} tokens are below the threshold of {engine.threshold_tokens:,}"
        return CompactedRequest(body, body[spoken.messages_field], unchanged(request, tokens, reason))
    compacted = engine.compress(request.messages, tokens, focus, request.tools_tokens)
    report = engine.last_report
    assert report is not None  # every call sets one
    if report.outcome == "compacted":
        body = request.with_messages(compacted)
    return CompactedRequest(body, body[spoken.messages_field], report)


def unchanged(request: WireRequest, tokens: int, reason: str) -> CompactionReport:
    """The report of an unchanged request."""
    count = len(request.messages)
    return CompactionReport("unchanged", reason, count, count, tokens, tokens)


def _with_note_first(lead: Sequence[Message]) -> tuple[Message, ...]:
    """The system prompt with the note in its first message: some dialects have it in a separate message."""
    if len(lead) < 2 or text_of(lead[-1]).strip() != NOTE:
        return tuple(lead)
    return (with_note(lead[0]), *lead[1:-1])


def wire_dialect(name: str) -> Dialect:
    """The dialect with this name; raises `SettingError` if there is none."""
    known = [dialect.name for dialect in dialects()]
    if name not in known:
        raise SettingError(f"dialect must be one of {', '.join(known)}, not {name[:80]!r}.")
    return dialect_named(name)
