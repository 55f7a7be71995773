"""`GET /sessions/{id}/timeline`: the sizes of everything in a session, for the page that draws it.

The response has columns and no text: 10,000 messages and 50 compactions are about 200 KB. The page derives each
request from it: the view that was in force, and the messages after it.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from plimsoll.archive import Node, ReferenceOutline, SessionOutline, UsageRecord, ViewOutline
from plimsoll.gateway.sessions.models import Count, MessageNumber, SessionModel, SessionResponse
from plimsoll.gateway.sessions.owner_sessions import OwnerSessions
from plimsoll.sessions.compaction_detail import parts_of_summary

EVENTS_SHOWN = 1_000
REQUESTS_SHOWN = 20_000
_LETTERS = {"system": "s", "developer": "s", "user": "u", "assistant": "a", "tool": "t"}


class TimelineQuery(SessionModel):
    """The query of `GET /sessions/{id}/timeline`."""

    first: MessageNumber = 1


class MessageColumns(SessionModel):
    """One entry per message, beginning with message `first`; times are seconds after the session's creation."""

    first: MessageNumber
    roles: Annotated[str, Field(description="s, u, a, t or o: system, user, assistant, tool, other.")]
    tokens: list[Count]
    times: list[float]


class ReferenceResponse(SessionModel):
    """Whole messages `first` to `last`; with `tokens`, one message in a shorter form; with `node`, a summary."""

    first: Count
    last: Count
    tokens: int | None
    node: str
    evidence: Annotated[int, Field(description="How many of a summary's tokens are its evidence.")]


class ViewOutlineResponse(SessionModel):
    """A view; `log_length` is the length of the log when it came into force."""

    number: Count
    previous: Count
    through: Count
    log_length: Count
    time: float
    references: list[ReferenceResponse]


class TimelineEvent(SessionModel):
    """A compaction attempt, an edit or an undo, with the views between which it lies."""

    number: Count
    trigger: str
    engine: str
    outcome: str
    reason: str
    messages_before: Count
    messages_after: Count
    tokens_before: Count
    tokens_after: Count
    model: str
    money: float | None
    seconds: float
    waited: float
    time: float
    view_before: Count
    view_after: Count


class RequestColumns(SessionModel):
    """One entry per request that was sent to a model, oldest first.

    `model` is an index into `models`. `input` counts neither what was read from the cache nor what was written to it.
    """

    models: list[str]
    model: list[Count]
    times: list[float]
    input: list[Count]
    cache_read: list[Count]
    cache_write: list[Count]
    output: list[Count]
    money: list[float | None]
    purpose: list[str]


class TimelineResponse(SessionModel):
    """The sizes of everything in a session."""

    session: SessionResponse
    view: Count
    window: Count
    threshold: Count
    messages: MessageColumns
    views: list[ViewOutlineResponse]
    events: list[TimelineEvent]
    requests: RequestColumns
    pins: list[MessageNumber]


async def read_timeline(own: OwnerSessions, given: Any) -> TimelineResponse:
    """The timeline of a session from message `first` on."""
    outline = await own.outline(given.id, given.query.first)
    session, archive = outline.session, own.archive
    events = await archive.compactions(session.id, limit=EVENTS_SHOWN)
    evidence = {node.id: _evidence_tokens(node) for node in await archive.nodes(session.id, inherited=True)}
    window, threshold = own.limits_for(session.model)
    return TimelineResponse(
        session=SessionResponse.model_validate(session),
        view=session.view,
        window=window,
        threshold=threshold,
        messages=_columns(outline),
        views=[_view(one, evidence) for one in outline.views],
        events=[TimelineEvent.model_validate(one) for one in events],
        requests=_requests(await archive.usage(session.id, limit=REQUESTS_SHOWN), session.created),
        pins=await archive.pins(session.id),
    )


def _columns(outline: SessionOutline) -> MessageColumns:
    begin = outline.session.created
    return MessageColumns(
        first=outline.first,
        roles="".join(_LETTERS.get(role, "o") for role in outline.roles),
        tokens=list(outline.tokens),
        times=[round(time - begin, 1) for time in outline.times],
    )


def _requests(records: Sequence[UsageRecord], begin: float) -> RequestColumns:
    models = list(dict.fromkeys(one.model for one in records))
    return RequestColumns(
        models=models,
        model=[models.index(one.model) for one in records],
        times=[round(one.time - begin, 1) for one in records],
        input=[one.input for one in records],
        cache_read=[one.cache_read for one in records],
        cache_write=[one.cache_write for one in records],
        output=[one.output for one in records],
        money=[one.money for one in records],
        purpose=[one.purpose for one in records],
    )


def _evidence_tokens(node: Node) -> int:
    """The share of a summary that is evidence."""
    summary, evidence = parts_of_summary([node])
    return round(node.tokens * len(evidence) / max(1, len(summary) + len(evidence)))


def _view(view: ViewOutline, evidence: Mapping[str, int]) -> ViewOutlineResponse:
    return ViewOutlineResponse(
        number=view.number,
        previous=view.previous,
        through=view.through,
        log_length=view.log_length,
        time=view.created,
        references=[_reference(one, evidence.get(one.node, 0)) for one in view.references],
    )


def _reference(one: ReferenceOutline, evidence: int) -> ReferenceResponse:
    return ReferenceResponse(
        first=one.first, last=one.last, tokens=one.tokens, node=one.node, evidence=evidence
    )
