"""What the archive and the agent hold, as the JSON that clients get. `schemas.py` describes exactly this."""

from typing import Any

from plimsoll.agent import Compacted, Event, Notice, ReasoningReceived, TextReceived, ToolCalled, ToolReturned
from plimsoll.archive import CompactionEvent, SearchPage, Session, StoredMessage, ViewItem
from plimsoll.messages import text_of
from plimsoll.sessions import Exchange


def session_shape(session: Session) -> dict[str, Any]:
    """A session, without what is in it."""
    return {
        "id": session.id,
        "title": session.title,
        "model": session.model,
        "engine": session.engine,
        "created": session.created,
        "updated": session.updated,
        "messages": session.messages,
        "tokens": session.tokens,
        "parent": session.parent,
        "forked_at": session.forked_at,
    }


def stored_shape(stored: StoredMessage) -> dict[str, Any]:
    """A message of the log."""
    return {
        "number": stored.sequence,
        "time": stored.time,
        "tokens": stored.tokens,
        "handle": stored.handle,
        "message": stored.message,
    }


def item_shape(item: ViewItem) -> dict[str, Any]:
    """A message as the model sees it; `number` is null for a summary."""
    return {
        "number": item.sequence or None,
        "shortened": item.shortened,
        "summary": bool(item.node),
        "tokens": item.tokens,
        "message": item.message,
    }


def exchange_shape(exchange: Exchange) -> dict[str, Any]:
    """The answer to a message. All of it is read from the log, so it is the same whenever it is asked for."""
    return {
        "session": exchange.session,
        "first": exchange.first,
        "last": exchange.last,
        "ending": exchange.ending,
        "repeated": exchange.is_repeat,
        "text": text_of(exchange.answer),
        "message": exchange.answer,
    }


def compaction_shape(event: CompactionEvent) -> dict[str, Any]:
    """An attempt to make the view lighter, or its undoing."""
    return {
        "trigger": event.trigger,
        "engine": event.engine,
        "outcome": event.outcome,
        "reason": event.reason,
        "messages_before": event.messages_before,
        "messages_after": event.messages_after,
        "tokens_before": event.tokens_before,
        "tokens_after": event.tokens_after,
        "model": event.model,
        "money": event.money,
        "seconds": event.seconds,
        "waited": event.waited,
        "time": event.time,
    }


def page_shape(page: SearchPage) -> dict[str, Any]:
    """Hits, and where the next page begins."""
    hits = [
        {
            "session": hit.session,
            "number": hit.sequence,
            "role": hit.role,
            "time": hit.time,
            "snippet": hit.snippet,
            "marks": [list(mark) for mark in hit.marks],
        }
        for hit in page.hits
    ]
    return {"hits": hits, "next": page.next, "complete": page.complete}


def event_shape(event: Event) -> tuple[str, dict[str, Any]] | None:
    """What happens during a turn, as the name and the data of a server-sent event; None for what is not told."""
    match event:
        case TextReceived(text):
            return "text", {"text": text}
        case ReasoningReceived(text):
            return "thinking", {"text": text}
        case ToolCalled(call_id, line):
            return "tool_call", {"id": call_id, "line": line}
        case ToolReturned(call_id, line, seconds, is_error):
            return "tool_result", {"id": call_id, "line": line, "seconds": seconds, "is_error": is_error}
        case Compacted(compaction):
            return "compaction", compaction_shape(compaction)
        case Notice(sentence):
            return "notice", {"text": sentence}
        case _:  # what a request used stands in the archive
            return None
