"""Answers a client that asks for a compaction of its conversation: one readable text that it sends back later.

    client's list    1  2  3  4  5  6  [please compact]
    answer           the summary of 1–4, and 5 and 6 as text

The client keeps only this text, and perhaps its user's messages. So the text contains the whole compacted view: the
summary and the messages that the view keeps, as far as they fit.
"""

import secrets
from collections.abc import Callable, Sequence

from plimsoll.context.markers import SUMMARY_PREFIX, is_summary
from plimsoll.dialects import Usage
from plimsoll.dialects.interfaces import CompactionReply
from plimsoll.gateway.asgi import Send
from plimsoll.gateway.dropin.compaction import ConversationCompactor
from plimsoll.gateway.dropin.recognition import Recognizer
from plimsoll.gateway.dropin.upstream_request import UpstreamRequest
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.body import bad_request
from plimsoll.gateway.http.responses import EVENTS, JSON, send_whole
from plimsoll.messages import SYSTEM_ROLES, Message, arguments_text, call_name, excerpt, text_of, tool_calls
from plimsoll.models import estimate_tokens

# Longest message in characters, and characters of all messages per token of the window: a token has about four, so
# the messages take at most an eighth of the window, in addition to the summary's twentieth.
_LONGEST, _PER_TOKEN = 4_000, 0.5


class ClientCompaction:
    """Compacts conversations for clients. `clock` is the time of day in seconds."""

    def __init__(
        self, recognizer: Recognizer, compactor: ConversationCompactor, clock: Callable[[], float]
    ) -> None:
        self._recognizer, self._compactor, self._clock = recognizer, compactor, clock

    async def answer(self, out: UpstreamRequest, reply: CompactionReply, send: Send) -> None:
        """Compact the conversation of a request and send the text."""
        async with self._recognizer.recognised(out) as conversation:
            if conversation is None or not conversation.log:
                raise bad_request("There is no conversation to compact in this request.")
            await self._recognizer.update_from_archive(conversation, out.model)
            tokens = out.prompt_tokens(conversation)
            await self._compactor.compact(conversation, tokens, out.facts, "manual", out.model)
            text = compaction_text(conversation.view(), int(out.facts.window * _PER_TOKEN))
        reply_id, created = f"resp_{secrets.token_hex(16)}", int(self._clock())
        # No request was sent upstream. The summary model's usage is charged separately.
        size = estimate_tokens(text)
        usage = Usage(0, size, size)
        if out.client_request.is_stream:
            events = reply.events(text, reply_id, created, usage)
            await send_whole(send, 200, [EVENTS], b"".join(event.encode() for event in events))
        else:
            body = reply.body(text, reply_id, created, usage)
            await send_whole(send, 200, [JSON], jsontext.write(body))


def compaction_text(view: Sequence[Message], room: int) -> str:
    """A view as one text: its summary, then its other messages, newest first until `room` characters are used.

    The text of an earlier compaction is kept whole, because it is all that is left of the messages that it replaced.
    """
    messages = [message for message in view if message.get("role") not in SYSTEM_ROLES]
    summaries = [text_of(message) for message in messages if _is_compaction(message)]
    lines = [_as_text(message) for message in messages if not _is_compaction(message)]
    kept: list[str] = []
    for line in reversed(lines):
        room -= len(line)
        if room < 0 and kept:
            break
        kept.append(line)
    left_out = len(lines) - len(kept)
    parts = summaries or [SUMMARY_PREFIX]
    if kept:
        parts = [*parts, "## Messages that were not summarised"]
    if left_out:
        parts.append(f"[{left_out} earlier messages left out]")
    return "\n\n".join([*parts, *reversed(kept)])


def _is_compaction(message: Message) -> bool:
    return is_summary(message) or text_of(message).startswith(SUMMARY_PREFIX)


def _as_text(message: Message) -> str:
    """A message as text."""
    role = str(message.get("name") or "tool") if message.get("role") == "tool" else str(message.get("role"))
    calls = [f"[calls {call_name(call)} {arguments_text(call)}]" for call in tool_calls(message)]
    text = "\n".join(filter(None, [text_of(message), *calls]))
    return f"{role}: {excerpt(text, _LONGEST)}"
