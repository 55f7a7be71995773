"""`GET /sessions/{id}/timeline`: the sizes of everything in a session, for the page that plots it.

The response has columns and no text: 10,000 messages and 50 compactions take about 200 KB. The page derives each
request from it: the view in force, and the messages after it.
"""

from typing import Annotated, Any

from pydantic import Field

from plimsoll.archive import SessionOutline, UsageColumns, ViewOutline
from plimsoll.gateway.sessions.models import (
    CompactionResponse,
    Count,
    MessageNumber,
    SessionModel,
    SessionResponse,
)
from plimsoll.gateway.sessions.owner_sessions import OwnerSessions

_LETTERS = {"system": "s", "developer": "s", "user": "u", "assistant": "a", "tool": "t"}


class TimelineQuery(SessionModel):
    """The query of `GET /sessions/{id}/timeline`."""

    first: MessageNumber = 1


class MessageColumns(SessionModel):
    """One entry per message, starting with message `first`; times are seconds after the session's creation."""

    first: MessageNumber
    roles: Annotated[str, Field(description="s, u, a, t or o: system, user, assistant, tool, other.")]
    tokens: list[int]
    times: list[float]
    media: Annotated[
        list[tuple[int, int]],
        Field(
            description="Messages with images, sounds or files: their numbers and the bytes of their media."
        ),
    ]


# First and last message; the tokens of a shortened form or of a summary, null for whole messages; the summary's node;
# how many of its tokens are evidence. Plain lists, because validating each entry as a model takes 50 ms.
ReferenceRow = tuple[int, int, int | None, str, int]


class ViewOutlineResponse(SessionModel):
    """A view; `log_length` is the length of the log when it came into force."""

    number: Count
    previous: Count
    through: Count
    log_length: Count
    time: float
    references: list[ReferenceRow]


class RequestColumns(SessionModel):
    """One entry per model request, oldest first.

    `model` is an index into `models`. `input` excludes tokens read from the cache or written to it.
    """

    models: list[str]
    model: list[int]
    times: list[float]
    input: list[int]
    cache_read: list[int]
    cache_write: list[int]
    output: list[int]
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
    events: list[CompactionResponse]
    requests: RequestColumns
    pins: list[MessageNumber]


async def read_timeline(own: OwnerSessions, request: Any) -> TimelineResponse:
    """The timeline of a session from message `first` on."""
    outline = await own.outline(request.id, request.query.first)
    session, archive = outline.session, own.archive
    window, threshold = own.limits_for(session.model)
    return TimelineResponse(
        session=SessionResponse.model_validate(session),
        view=session.view,
        window=window,
        threshold=threshold,
        messages=_columns(outline),
        views=[_view(view) for view in outline.views],
        events=[CompactionResponse.model_validate(event) for event in outline.events],
        requests=_requests(outline.usage, session.created),
        pins=await archive.pins(session.id),
    )


def _columns(outline: SessionOutline) -> MessageColumns:
    begin = outline.session.created
    return MessageColumns(
        first=outline.first,
        roles="".join(_LETTERS.get(role, "o") for role in outline.roles),
        tokens=list(outline.tokens),
        times=[round(time - begin, 3) for time in outline.times],
        media=[(number, size) for number, size in enumerate(outline.media, outline.first) if size],
    )


def _requests(used: UsageColumns, begin: float) -> RequestColumns:
    models = {name: number for number, name in enumerate(dict.fromkeys(used.model))}
    return RequestColumns(
        models=list(models),
        model=[models[name] for name in used.model],
        times=[round(time - begin, 3) for time in used.time],
        input=list(used.input),
        cache_read=list(used.cache_read),
        cache_write=list(used.cache_write),
        output=list(used.output),
        money=list(used.money),
        purpose=list(used.purpose),
    )


def _view(view: ViewOutline) -> ViewOutlineResponse:
    return ViewOutlineResponse(
        number=view.number,
        previous=view.previous,
        through=view.through,
        log_length=view.log_length,
        time=view.created,
        references=[
            (reference.first, reference.last, reference.tokens, reference.node, reference.evidence)
            for reference in view.references
        ],
    )
