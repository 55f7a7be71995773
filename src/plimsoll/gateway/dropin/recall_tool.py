"""The recall tool that the gateway offers to a client's model and answers itself.

    {"query": "billing port"}   ─► messages of this conversation that match, each with its handle
    {"handle": "h:3f2a9c1b7d"}  ─► the original text, a page at a time

It reads one session of one owner's archive, up to the message at which a branch left it; no argument can
reach beyond it. Definition: `recall_definition.py`.
"""

import json
import logging
from collections.abc import Callable
from typing import Any

from plimsoll.archive import Archive, Owner
from plimsoll.archive.query import SearchHit, SearchQuery
from plimsoll.errors import PlimsollError, UserError
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.recall_definition import NAME, recall_calls
from plimsoll.messages import Message, arguments_of, handle_of, text_of
from plimsoll.models import estimate_tokens
from plimsoll.sessions.recall import page_of

log = logging.getLogger(__name__)
_NOTHING_REMOVED = "Nothing has been removed from this conversation: all of it is in your context."
_NEEDS_ARGUMENT = "Give `handle` to read content, or `query` to search for words."
_UNAVAILABLE = "The stored conversation cannot be read at the moment."
_LIMIT_REACHED = "The limit for recalled content in this answer is reached. Answer with what you have."
_MAX_HITS = 5  # messages per search
_PAGE_CHARACTERS = 32_000
_MIN_TOKENS = 32  # with less room, no page is sent


class RecallTool:
    """Answers recall calls. `archive_of` opens an owner's archive."""

    def __init__(self, archive_of: Callable[[Owner], Archive]) -> None:
        self._archive_of = archive_of

    async def results(
        self, message: Message, conversation: ClientConversation | None, tokens: int
    ) -> list[Message]:
        """The results of the recall calls in a message, together at most `tokens` tokens."""
        results: list[Message] = []
        for call in recall_calls(message):
            text = _LIMIT_REACHED
            if tokens >= _MIN_TOKENS:
                text = await self._answer(arguments_of(call) or {}, conversation, tokens)
            tokens -= estimate_tokens(text)
            results.append(
                {"role": "tool", "tool_call_id": str(call.get("id")), "name": NAME, "content": text}
            )
        return results

    async def _answer(
        self, arguments: dict[str, Any], conversation: ClientConversation | None, tokens: int
    ) -> str:
        handle, query = str(arguments.get("handle") or ""), str(arguments.get("query") or "").strip()
        if not handle and not query:
            return _NEEDS_ARGUMENT
        stored = conversation.stored if conversation is not None else None
        if conversation is None or stored is None:
            return _NOTHING_REMOVED
        archive = self._archive_of(conversation.owner)
        try:
            if handle:
                return await _read(archive, stored, handle, arguments.get("offset"), tokens)
            return await _search(archive, stored, query, tokens)
        except UserError as error:
            return str(error)
        except PlimsollError as error:
            log.warning("a recall was not answered: %s", error)
            return _UNAVAILABLE


async def _read(archive: Archive, stored: tuple[str, int], handle: str, offset: Any, tokens: int) -> str:
    session, last = stored
    found = await archive.find_by_handle(handle, id=session, last=last, limit=1)
    if not found:
        return f"No content in this conversation has the handle {handle[:40]!r}."
    start = offset if isinstance(offset, int) and offset > 0 else 0
    return page_of(text_of(found[0].message), start, tokens, _PAGE_CHARACTERS)


async def _search(archive: Archive, stored: tuple[str, int], query: str, tokens: int) -> str:
    """The best matches for all words or, if no message has them all, for the longest words one by one."""
    session, last = stored
    attempts = [query, *sorted(set(query.split()), key=lambda word: (-len(word), word))[:_MAX_HITS]]
    for attempt in attempts:
        page = await archive.search(
            SearchQuery(attempt[:1_000], session=session, last=last, order="relevance", limit=_MAX_HITS)
        )
        if page.hits:
            return await _listed(archive, session, page.hits, tokens)
    return f"No message of this conversation matches {query[:80]!r}."


async def _listed(archive: Archive, session: str, hits: tuple[SearchHit, ...], tokens: int) -> str:
    matches: list[dict[str, Any]] = []
    for hit in hits:
        stored = await archive.messages(session, hit.sequence, hit.sequence)
        handle = handle_of(stored[0].message) if stored else ""
        matches.append({"handle": handle, "role": hit.role, "text": hit.snippet})
        if estimate_tokens(json.dumps(matches, ensure_ascii=False)) > tokens and len(matches) > 1:
            matches.pop()
            break
    return json.dumps({"matches": matches}, ensure_ascii=False)
