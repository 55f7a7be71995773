"""Which conversations have the recall tool, and the exchanges with it that their clients do not see.

    first request of a conversation   `gateway.recall` decides; the choice is recorded with its hash
    later requests                    the recorded choice applies, even if the setting has changed

A conversation without a record began without the tool and stays without it: adding a tool later would invalidate the
provider's cache. Exchanges are stored in their owner's archive (`archive/replies.py`).
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace

from plimsoll.archive import Owner
from plimsoll.archive.replies import ReplyArchive
from plimsoll.errors import InvalidConversation, PlimsollError
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.conversation_index import ConversationIndex
from plimsoll.gateway.dropin.recall_definition import DEFINITION, NAME
from plimsoll.gateway.dropin.recall_exchanges import HiddenExchange, with_exchanges
from plimsoll.gateway.dropin.recognition import chain_for
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.body import LARGE_BYTES

log = logging.getLogger(__name__)
_MAX_REQUESTS = 1_024  # requests whose exchanges are kept in memory


class RecallStore:
    """Adds the tool and the hidden exchanges to requests. `replies_of` opens an owner's stored replies."""

    def __init__(
        self, index: ConversationIndex, replies_of: Callable[[Owner], ReplyArchive], is_on: bool
    ) -> None:
        self._index, self._replies_of, self._is_on = index, replies_of, is_on
        self._is_used = is_on  # some conversation may have the tool
        self._known: OrderedDict[bytes, list[HiddenExchange]] = OrderedDict()

    async def open(self) -> None:
        """Check whether earlier conversations have the tool."""
        self._is_used = self._is_on or await self._index.has_recalls()

    async def prepared(self, request: ClientRequest) -> ClientRequest:
        """The request with the tool and its exchanges, if its conversation has the tool."""
        if not self._is_used or request.is_switched_off or not _can_have_tool(request):
            return request
        try:
            chain = chain_for(request)
            found = await self._index.recalls(chain)
            if not chain or not await self._has_tool(request, chain, found):
                return request
            if chain[-1] not in found:
                await self._index.put_recall(chain[-1])
            known = {key: await self._exchanges(request, key, count) for key, count in found.items() if count}
        except InvalidConversation:
            return request  # the upstream reports what is wrong with it
        except PlimsollError as error:
            log.warning("the recall tool was not added: %s", error)
            return request
        if len(request.raw) < LARGE_BYTES:
            return _expanded(request, chain, known)
        return await asyncio.to_thread(_expanded, request, chain, known)

    async def keep(self, request: ClientRequest, exchange: HiddenExchange) -> None:
        """Store an exchange that the answer to this request hides from its client."""
        key = request.recall_key
        try:
            count = (await self._index.recalls([key])).get(key, 0)
            body = jsontext.write(exchange.as_record()).decode()
            await self._replies_of(request.owner).keep(_name(key, count), "", body)
            await self._index.put_recall(key, count + 1)
        except PlimsollError as error:
            log.warning("an exchange with the recall tool was not kept: %s", error)
        self._known.pop(key, None)

    async def _has_tool(
        self, request: ClientRequest, chain: Sequence[bytes], found: dict[bytes, int]
    ) -> bool:
        if _has_answers(request):
            return bool(found)
        if not self._is_on and chain[-1] in found:
            await self._index.drop_recall(chain[-1])  # another conversation with the same prefix had it
        return self._is_on

    async def _exchanges(self, request: ClientRequest, key: bytes, count: int) -> list[HiddenExchange]:
        known = self._known.get(key)
        if known is None or len(known) != count:
            replies = self._replies_of(request.owner)
            bodies = [body for number in range(count) for body in await replies.history(_name(key, number))]
            known = self._known[key] = [HiddenExchange(**jsontext.read(body.encode())) for body in bodies]
            while len(self._known) > _MAX_REQUESTS:
                self._known.popitem(last=False)
        return known


def _expanded(
    request: ClientRequest, chain: Sequence[bytes], known: dict[bytes, list[HiddenExchange]]
) -> ClientRequest:
    """The request with the tool and the exchanges restored."""
    dialect, body, analysis = request.dialect, request.body, request.analysis
    if known:
        messages = with_exchanges(dialect, request.messages, chain, known, request.model)
        if len(messages) != len(request.messages) or messages != request.messages:
            body, analysis = dialect.with_messages(body, messages), None
    body = dialect.with_tool(body, DEFINITION) or body
    if analysis is not None:
        analysis = replace(analysis, frame=None)  # the tools have changed
    return replace(
        request,
        body=body,
        raw=jsontext.write(body),
        analysis=analysis,
        original=request,
        recall_key=chain[-1],
    )


def _can_have_tool(request: ClientRequest) -> bool:
    """Whether a request can have the tool: it asks for one answer, and has no tool of this name."""
    dialect, body = request.dialect, request.body
    if dialect.with_tool(body, DEFINITION) is None or dialect.choices(body) > 1:
        return False
    tools = dialect.canonical_tools(dialect.tools(body))
    functions = [tool.get("function") for tool in tools]
    return all(function.get("name") != NAME for function in functions if isinstance(function, dict))


def _has_answers(request: ClientRequest) -> bool:
    """Whether the conversation already has an answer of the model."""
    if request.analysis is not None:
        groups = iter(request.analysis.canonical)
    else:
        messages = request.messages
        groups = (request.dialect.canonical(messages, place) for place in range(len(messages)))
    return any(message.get("role") == "assistant" for group in groups for message in group)


def _name(key: bytes, number: int) -> str:
    return f"recall/{key.hex()}/{number}"
