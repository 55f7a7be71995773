"""One client for every provider: sends a request, returns the reply or its steps, and retries where that may help.

    ask ─► answer ─► passed on
     ▲       │ refused for now, cut off, malformed, empty, late
     └ wait ─┘ only while nothing was passed on

Every failure is a `ProviderError`. Clock, sleep and randomness are arguments.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self, TypeAlias

from plimsoll.dialects import ChatRequest, Delta, Reply, Usage
from plimsoll.dialects.interfaces import ReplyDecoder
from plimsoll.errors import ProviderError
from plimsoll.providers.endpoint import Endpoint
from plimsoll.providers.retry import Retries
from plimsoll.providers.spending import estimated_prompt, has_begun, used_so_far
from plimsoll.providers.transport import Timeouts, Transport

Wasted: TypeAlias = Callable[[Usage], None]  # called with the usage of an attempt that failed
OnRetry: TypeAlias = Callable[[ProviderError, float], None]  # called with the error and the seconds to wait


class Client:
    """Sends requests to one endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.endpoint = endpoint
        self._retries = retries or Retries()
        self._clock, self._sleep, self._chance = clock, sleep, chance
        self._transport = Transport(endpoint, timeouts or Timeouts(), clock, wall_clock)

    def __repr__(self) -> str:
        return f"Client({self.endpoint!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()

    async def complete(
        self,
        request: ChatRequest,
        *,
        deadline: float | None = None,
        on_delta: Callable[[Delta], None] | None = None,
        wasted: Wasted | None = None,
    ) -> Reply:
        """The whole reply at once; `deadline` is the maximum seconds, waits included.

        With `on_delta`, the reply is streamed and `on_delta` gets each step. An interrupted reply is requested again,
        so the steps may start again. `wasted` gets the usage of each interrupted or abandoned streamed reply.
        """
        ends = None if deadline is None else self._clock() + deadline
        attempt = 0
        while True:
            attempt += 1
            try:
                if on_delta is None:
                    return await self._transport.ask(request, ends)
                return await self._listen(request, ends, on_delta, wasted)
            except ProviderError as error:
                await self._wait_or_raise(error, attempt, ends)

    async def _listen(
        self,
        request: ChatRequest,
        ends: float | None,
        on_delta: Callable[[Delta], None],
        wasted: Wasted | None,
    ) -> Reply:
        decoder = self._transport.decoder()
        try:
            async with aclosing(self._transport.stream(request, decoder, ends)) as steps:
                async for delta in steps:
                    on_delta(delta)
        except BaseException:
            _report_wasted(wasted, request, decoder)
            raise
        return decoder.reply()

    def stream(
        self,
        request: ChatRequest,
        *,
        deadline: float | None = None,
        wasted: Wasted | None = None,
        on_retry: OnRetry | None = None,
    ) -> "ReplyStream":
        """The reply step by step, as it arrives; `deadline` as in `complete`.

        `wasted` is called with the usage of attempts that yielded nothing, `on_retry` with the error and the seconds
        before each further attempt.
        """
        return ReplyStream(self, request, deadline, wasted, on_retry)

    async def _steps(
        self,
        stream: "ReplyStream",
        request: ChatRequest,
        deadline: float | None,
        wasted: Wasted | None,
        on_retry: OnRetry | None,
    ) -> AsyncGenerator[Delta, None]:
        ends = None if deadline is None else self._clock() + deadline
        attempt = 0
        while True:
            attempt += 1
            given_out = False
            stream._decoder = self._transport.decoder()
            try:
                async with aclosing(self._transport.stream(request, stream._decoder, ends)) as steps:
                    async for delta in steps:
                        given_out = True
                        yield delta
                return
            except ProviderError as error:
                if given_out:
                    raise
                _report_wasted(wasted, request, stream._decoder)
                await self._wait_or_raise(error, attempt, ends, on_retry)

    async def _wait_or_raise(
        self, error: ProviderError, attempt: int, ends: float | None, on_retry: OnRetry | None = None
    ) -> None:
        """Sleep before the next attempt; raise the error if there is none."""
        wait = self._retries.wait(error, attempt, self._chance())
        if wait is None or (ends is not None and self._clock() + wait >= ends):
            raise error
        if on_retry is not None:
            on_retry(error, wait)
        await self._sleep(wait)


class ReplyStream:
    """The steps of one reply, for `async for`; `reply` is what has arrived so far.

    Leaving an `async with` around it closes the connection, even in the middle of the reply.
    """

    def __init__(
        self,
        client: Client,
        request: ChatRequest,
        deadline: float | None,
        wasted: Wasted | None = None,
        on_retry: OnRetry | None = None,
    ) -> None:
        self._decoder: ReplyDecoder | None = None
        self._steps = client._steps(self, request, deadline, wasted, on_retry)

    @property
    def reply(self) -> Reply:
        """The reply so far; complete when the steps have ended."""
        return self._decoder.reply() if self._decoder else Reply({"role": "assistant", "content": ""})

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        return await anext(self._steps)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop here and close the connection."""
        await self._steps.aclose()


def _report_wasted(wasted: Wasted | None, request: ChatRequest, decoder: ReplyDecoder) -> None:
    reply = decoder.reply()
    if wasted is not None and has_begun(reply):
        wasted(used_so_far(reply, estimated_prompt(request)))
