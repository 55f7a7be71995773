"""Claude Agent SDK: a session store that mirrors whole sessions into an archive, without loss.

    options = ClaudeAgentOptions(session_store=PlimsollSessionStore("sessions.db"), resume=session_id)

    claude process ── lines of the transcript ──► append ──► archive      searchable, one session for each transcript
                   ◄── the same lines ─────────── load ◄────┘

The agent's loop runs inside the `claude` process, which compacts by itself: no hook of the SDK can change that. To
let Plimsoll compact, send the SDK's requests through the gateway.
"""

import asyncio
import uuid
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from plimsoll.archive import OPERATOR, Archive, Owner, Session
from plimsoll.dialects import dialect_named
from plimsoll.integrations.archived_items import LazyArchive
from plimsoll.messages import Message
from plimsoll.providers.auxiliary.bridge import LoopThread

T = TypeVar("T")
_ENGINE = "claude-agent-sdk"  # marks the sessions of this store in the archive
_LINE = "transcript_line"  # the field of a stored message with the original line
_PAGE = 200  # sessions or messages per read


class PlimsollSessionStore:
    """Stores the transcripts of the SDK's sessions. Any event loop may use it."""

    def __init__(self, archive: str, *, owner: Owner = OPERATOR) -> None:
        """`archive` is a file, or the URL of an archive."""
        self._owner, self._opened = owner, LazyArchive(archive)
        self._ids: dict[str, str] = {}  # archive sessions by title
        self._writing = asyncio.Lock()
        self._loop = LoopThread(self._opened.close, "plimsoll-session-store", "the session store was closed")
        self._loop.end_with(self)

    def close(self) -> None:
        """Finish writing and close the archive."""
        self._loop.close()

    async def append(self, key: Mapping[str, str], entries: Sequence[dict[str, Any]]) -> None:
        """Mirror lines of a transcript. A line with a `uuid` is stored once, however often it arrives."""
        await self._on_loop(self._append(key, entries))

    async def load(self, key: Mapping[str, str]) -> list[dict[str, Any]] | None:
        """Every line, unchanged; None if the transcript is not stored."""
        return await self._on_loop(self._load(key))

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        """The sessions of a project and when they were last written, in milliseconds since 1970."""
        found = await self._on_loop(self._below(f"{project_key}/"))
        return [
            {"session_id": rest, "mtime": int(item.updated * 1000)} for rest, item in found if "/" not in rest
        ]

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        """The transcripts of a session's sub-agents."""
        return [rest for rest, _ in await self._on_loop(self._below(f"{_title(key)}/"))]

    async def delete(self, key: Mapping[str, str]) -> None:
        """Remove a transcript; with a session, those of its sub-agents."""
        await self._on_loop(self._delete(key))

    async def _on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(self._loop.start(work))

    async def _archive(self) -> Archive:
        return (await self._opened.store()).for_owner(self._owner)

    async def _append(self, key: Mapping[str, str], entries: Sequence[dict[str, Any]]) -> None:
        async with self._writing:
            archive = await self._archive()
            session = await self._find(_title(key))
            if session is None and entries:
                made = await archive.create_session(title=_title(key), engine=_ENGINE)
                session = self._ids[_title(key)] = made.id
            for entry in entries:
                turn = str(entry.get("uuid") or uuid.uuid4())
                await archive.append(str(session), _messages(entry), turn=turn)

    async def _load(self, key: Mapping[str, str]) -> list[dict[str, Any]] | None:
        archive, session = await self._archive(), await self._find(_title(key))
        if session is None:
            return None
        lines, first = [], 1
        while page := await archive.messages(session, first, first + _PAGE - 1):
            lines += [entry.message[_LINE] for entry in page if _LINE in entry.message]
            first += _PAGE
        return lines

    async def _delete(self, key: Mapping[str, str]) -> None:
        below = [] if key.get("subpath") else [item.id for _, item in await self._below(f"{_title(key)}/")]
        own = await self._find(_title(key))
        for session in [*below, *([own] if own else [])]:
            await (await self._archive()).delete(session)
        self._ids.clear()

    async def _find(self, title: str) -> str | None:
        if title not in self._ids:
            self._ids |= {item.title: item.id for _, item in await self._below("")}
        return self._ids.get(title)

    async def _below(self, prefix: str) -> list[tuple[str, Session]]:
        """The store's sessions whose titles start with a prefix, each with the rest of its title."""
        archive, found, offset = await self._archive(), list[tuple[str, Session]](), 0
        while page := await archive.sessions(limit=_PAGE, offset=offset):
            own = (entry for entry in page if entry.engine == _ENGINE and entry.title.startswith(prefix))
            found += [(our.title.removeprefix(prefix), our) for our in own]
            offset += _PAGE
        return found


def _title(key: Mapping[str, str]) -> str:
    return "/".join(key[name] for name in ("project_key", "session_id", "subpath") if key.get(name))


def _messages(entry: dict[str, Any]) -> list[Message]:
    """A line as searchable messages; the first one has the line itself."""
    message = entry.get("message")
    messages: list[Message] = []
    if isinstance(message, dict) and message.get("role") in ("user", "assistant"):
        messages = dialect_named("anthropic").canonical([message], 0)
    first, *rest = messages or [{"role": "system", "content": ""}]
    return [{**first, _LINE: entry}, *rest]
