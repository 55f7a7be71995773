"""Session hygiene: compacts a session that grew too large before the agent handles the next message.

    message ─► stored ─► 85 % of the window? ─┬─ no ──────────────────────────► agent
                                              └─ yes ─► compacted view ───────► agent

The threshold is fixed and far above the agent's (`compression.threshold`): hygiene is a safety net
for sessions that grew between turns; at the agent's threshold it would compact on every turn.
The message is stored first and always reaches the agent: a compaction that times out, is
rejected or fails leaves the view unchanged and reports why.
"""

from dataclasses import dataclass, replace

from plimsoll.agent import Agent, Compacted, Emit
from plimsoll.archive import Archive, CompactionEvent, UsageRecord
from plimsoll.errors import PlimsollError, StaleLease
from plimsoll.messages import Message
from plimsoll.models import estimate_messages_tokens_rough

TRIGGER = "hygiene"
PERCENT = 85  # of the model's window; no setting
MIN_MESSAGES = 4  # stored messages, without the system prompt and the incoming message
_PAGE = 64  # messages per read
_RECENT = 50  # events and requests to examine


@dataclass(frozen=True, slots=True)
class Hygiene:
    """The host's options for hygiene."""

    deadline: float = 90.0  # seconds that a message may wait for hygiene


@dataclass(frozen=True, slots=True)
class SessionSize:
    """The size of a session with its incoming message."""

    tokens: int
    window: int
    stored: int  # messages before the incoming one, without the system prompt
    reported: int | None = None  # the part of `tokens` that the API reported for the last turn
    enabled: bool = True

    @property
    def is_due(self) -> bool:
        """Whether the session must be compacted first."""
        return self.enabled and self.stored >= MIN_MESSAGES and self.tokens * 100 >= self.window * PERCENT

    @property
    def sentence(self) -> str:
        """The sizes as a sentence."""
        counted = "estimated" if self.reported is None else f"{self.reported:,} of them reported"
        share = 100 * self.tokens / self.window
        return f"{self.tokens:,} of {self.window:,} tokens ({share:.1f} %, {counted}) before the turn"


def counted_size(
    view: list[Message], since: int, reported: int | None, *, window: int, stored: int, enabled: bool
) -> SessionSize:
    """The size of a view whose last `since` messages, including the incoming one, came after the report."""
    if reported is None:
        return SessionSize(estimate_messages_tokens_rough(view), window, stored, None, enabled)
    added = estimate_messages_tokens_rough(view[len(view) - since :])
    return SessionSize(reported + added, window, stored, reported, enabled)


async def session_size(archive: Archive, id: str, agent: Agent, incoming: int) -> SessionSize:
    """The size of a session; `incoming` is the number of the incoming message, which is already stored."""
    card = agent.connection.card
    stored = await _stored(archive, id, incoming - 1)
    last = await _last_report(archive, id, card.name)
    since = await _since(archive, id, last.time) if last else 0
    reported = last.input + last.cache_read + last.cache_write if last else None
    return counted_size(
        agent.view,
        since,
        reported,
        window=card.prompt_limit,
        stored=stored,
        enabled=agent.compactor.rules.enabled,
    )


async def clean(
    archive: Archive, id: str, agent: Agent, emit: Emit, incoming: int, hygiene: Hygiene
) -> CompactionEvent | None:
    """Compact the session if that is due. Returns the event with the outcome."""
    reason = ""
    try:
        size = await session_size(archive, id, agent, incoming)
        if not size.is_due:
            return None
        reason = size.sentence
        return await agent.compact(
            emit, TRIGGER, trigger_reason=reason, deadline=hygiene.deadline, counted=size.tokens
        )
    except StaleLease:
        raise  # the turn was cancelled
    except TimeoutError:
        fault = f"compaction did not finish within {hygiene.deadline:g} s"
    except PlimsollError as error:
        fault = str(error)
    return await _refused(agent, emit, "; ".join(part for part in (reason, fault) if part))


async def _refused(agent: Agent, emit: Emit, reason: str) -> CompactionEvent:
    count, tokens = len(agent.view), agent.connection.tokens(agent.view)
    event = CompactionEvent.refused(TRIGGER, agent.compactor.engine.name, count, tokens, reason)
    try:
        event = await agent.journal.refused(event)
    except StaleLease:
        raise
    except PlimsollError as error:  # report what cannot be recorded; the message is processed anyway
        event = replace(event, reason=f"{reason}; not recorded: {error}")
    emit(Compacted(event))
    return event


async def _stored(archive: Archive, id: str, last: int) -> int:
    """The number of messages up to `last` without system prompts; stops counting at the minimum."""
    count, first = 0, 1
    while first <= last and count < MIN_MESSAGES:
        page = await archive.messages(id, first, min(last, first + _PAGE - 1))
        count += sum(stored.role != "system" for stored in page)
        first += _PAGE
    return count


async def _last_report(archive: Archive, id: str, model: str) -> UsageRecord | None:
    """The API's count for the last turn; None if the view or the model has changed since."""
    requests = [record for record in await archive.usage(id, limit=_RECENT) if record.purpose == "turn"]
    if not requests or requests[-1].model != model:
        return None
    last = requests[-1]
    changes = [event for event in await archive.compactions(id, limit=_RECENT) if event.outcome != "refused"]
    if (changes and changes[-1].time >= last.time) or not last.input + last.cache_read + last.cache_write:
        return None
    return last


async def _since(archive: Archive, id: str, time: float) -> int:
    """How many messages were stored after a report: the reply that it came with, and all later ones."""
    count, last = 0, (await archive.session(id)).messages
    while last > 0:
        page = await archive.messages(id, max(1, last - _PAGE + 1), last)
        later = sum(stored.time >= time for stored in page)
        count += later
        if later < len(page):
            break
        last -= _PAGE
    return count
