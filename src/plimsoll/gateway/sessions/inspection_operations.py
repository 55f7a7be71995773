"""The operations that an inspector of sessions needs besides those of every client.

GET    /sessions/{id}/compactions/{number}
GET    /sessions/{id}/timeline
"""

from pydantic import BaseModel

from plimsoll.gateway.sessions.inspection_models import CompactionDetailResponse
from plimsoll.gateway.sessions.operation import Given, Operation
from plimsoll.gateway.sessions.owner_sessions import OwnerSessions
from plimsoll.gateway.sessions.timeline import TimelineQuery, TimelineResponse, read_timeline
from plimsoll.sessions import compaction_detail

_ONE = "/sessions/{id}"


async def _compaction(own: OwnerSessions, given: Given) -> BaseModel:
    session = await own.session(given.id)
    return CompactionDetailResponse.of(await compaction_detail(own.archive, session.id, given.number))


INSPECTION: tuple[Operation, ...] = (
    Operation(
        "read_compaction",
        "GET",
        f"{_ONE}/compactions/{{number}}",
        "A compaction: what it kept, shortened and removed, and the sources of its summary",
        CompactionDetailResponse,
        _compaction,
    ),
    Operation(
        "read_timeline",
        "GET",
        f"{_ONE}/timeline",
        "The sizes of everything in a session, without text",
        TimelineResponse,
        read_timeline,
        query=TimelineQuery,
    ),
)
