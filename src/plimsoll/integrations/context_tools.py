"""Tools for the agent itself: `compact_context`, and `recall` for removed content.

    assistant   compact_context(focus="the tests")
    tool        The earlier conversation is compacted …      the next request that ends with this triggers it

The messages themselves request a compaction, so a repeated request gets the same view again. A call counts only with
the result above: an agent may have a tool of its own with the same name. Recall reads only one conversation. Neither
tool states how full the context window is.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from plimsoll.archive import Archive
from plimsoll.archive.query import SearchQuery
from plimsoll.integrations.wording import COMPACT, COMPACTED, RECALL, definition_of
from plimsoll.messages import Message, arguments_of, call_name, handle_of, text_of, tool_calls
from plimsoll.sessions.recall import page_of

_NEEDS_ARGUMENT = "Give `handle` to read content, or `query` to search for words."
_HITS = 5  # messages per search
_AROUND = 120  # characters on each side of a match
_PAGE_TOKENS, _PAGE_CHARACTERS = 4_000, 32_000


def tool_definitions(recall: bool) -> list[dict[str, Any]]:
    """The tools in OpenAI's function format."""
    return [definition_of(name) for name in ((COMPACT, RECALL) if recall else (COMPACT,))]


def asked_focus(log: Sequence[Message]) -> str | None:
    """The focus of the `compact_context` call in the agent's last step; None if there is none."""
    last = len(log)
    while last and log[last - 1].get("role") == "tool":
        last -= 1
    return _focus(log[last - 1], log[last:]) if last else None


def asked_a_turn_ago(log: Sequence[Message]) -> str | None:
    """The same for a host whose history gets a turn only after it has ended, with the user's next request."""
    if not log or log[-1].get("role") != "user":
        return None
    turn = list(takewhile(lambda message: message.get("role") != "user", reversed(log[:-1])))
    return next((focus for message in turn if (focus := _focus(message, turn)) is not None), None)


def _focus(message: Message, results: Sequence[Message]) -> str | None:
    answered = {result.get("tool_call_id") for result in results if is_our_answer(result)}
    return focus_of([call for call in tool_calls(message) if call.get("id") in answered])


def is_our_answer(message: Message) -> bool:
    """Whether a message contains the result of our `compact_context`."""
    return message.get("role") == "tool" and COMPACTED in text_of(message)


def focus_of(calls: Sequence[Any]) -> str | None:
    """The focus of the first call of `compact_context`; None if there is none."""
    found = next((call for call in calls if call_name(call) == COMPACT), None)
    return None if found is None else str((arguments_of(found) or {}).get("focus") or "")


async def tool_answer(
    name: str, arguments: Mapping[str, Any], log: Sequence[Message], stored: tuple[Archive, str] | None
) -> str:
    """The result of a tool call. `stored` is the archive session with messages of the conversation."""
    if name == COMPACT:
        return COMPACTED
    if name != RECALL:
        return f"There is no tool {name[:80]!r}. The tools are {COMPACT} and {RECALL}."
    handle, query = str(arguments.get("handle") or ""), str(arguments.get("query") or "").strip()
    if handle:
        return await _read(handle, arguments.get("offset"), log, stored)
    return await _search(query, log, stored) if query else _NEEDS_ARGUMENT


async def _read(handle: str, offset: Any, log: Sequence[Message], stored: tuple[Archive, str] | None) -> str:
    found = next((message for message in log if handle_of(message) == handle), None)
    if found is None and stored is not None:
        archive, session = stored
        matches = await archive.find_by_handle(handle, id=session, limit=1)
        found = matches[0].message if matches else None
    if found is None:
        return f"No content in this conversation has the handle {handle[:40]!r}."
    start = offset if isinstance(offset, int) and offset > 0 else 0
    return page_of(text_of(found), start, _PAGE_TOKENS, _PAGE_CHARACTERS)


async def _search(query: str, log: Sequence[Message], stored: tuple[Archive, str] | None) -> str:
    """The newest matches for all words or, if no message has them all, for the longest words one by one."""
    words = sorted(set(query.casefold().split()), key=lambda word: (-len(word), word))
    for wanted in (words, *([word] for word in words[:_HITS])):
        matches = _in_memory(wanted, log)
        if not matches and stored is not None:
            matches = await _in_archive(" ".join(wanted), *stored)
        if matches:
            return json.dumps({"matches": matches}, ensure_ascii=False)
    return f"No message of this conversation matches {query[:80]!r}."


def _in_memory(words: Sequence[str], log: Sequence[Message]) -> list[dict[str, str]]:
    matches: list[dict[str, str]] = []
    # Skip the agent's own searches, which would match first.
    searches = {call.get("id") for item in log for call in tool_calls(item) if call_name(call) == RECALL}
    for message in reversed(log):
        if message.get("tool_call_id") in searches or any(
            call.get("id") in searches for call in tool_calls(message)
        ):
            continue
        text = text_of(message)
        found = [re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) for word in words]
        if all(found):
            start = max(0, min(item.start() for item in found if item) - _AROUND)
            excerpt = text[start : start + 2 * _AROUND]
            matches.append({"handle": handle_of(message), "role": str(message.get("role")), "text": excerpt})
        if len(matches) == _HITS:
            break
    return matches


async def _in_archive(query: str, archive: Archive, session: str) -> list[dict[str, str]]:
    page = await archive.search(SearchQuery(query[:1_000], session=session, order="relevance", limit=_HITS))
    matches = []
    for hit in page.hits:
        stored = await archive.messages(session, hit.sequence, hit.sequence)
        handle = handle_of(stored[0].message) if stored else ""
        matches.append({"handle": handle, "role": hit.role, "text": hit.snippet})
    return matches
