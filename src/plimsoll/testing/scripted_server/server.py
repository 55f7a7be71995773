"""The server: a thread with its own event loop, and the interface for tests.

    with ScriptedServer([say("Hello.")]) as server:
        client = openai.OpenAI(base_url=server.openai_url, api_key="any")

The server listens before `start` returns. `stop` ends it even if requests are
still waiting.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType

from plimsoll.dialects import OPENAI, ChatRequest, dialect_of
from plimsoll.testing.scripted_server.anthropic_provider import AnthropicProvider
from plimsoll.testing.scripted_server.billing import Cards
from plimsoll.testing.scripted_server.captured import CapturedRequest
from plimsoll.testing.scripted_server.clock import Clock
from plimsoll.testing.scripted_server.connection import BadHttp, HttpConnection, HttpRequest
from plimsoll.testing.scripted_server.faults import fault
from plimsoll.testing.scripted_server.gemini_provider import GeminiProvider
from plimsoll.testing.scripted_server.openai_provider import OpenAiProvider
from plimsoll.testing.scripted_server.provider import ScriptedProvider
from plimsoll.testing.scripted_server.request_handler import ScriptedExchange, ScriptedRequestHandler
from plimsoll.testing.scripted_server.responses_provider import ResponsesProvider
from plimsoll.testing.scripted_server.script import Computed, Item, Script, ScriptLike, checked

_TIMEOUT = 60.0  # timeout of `wait_until` and `stop` in seconds; only reached if something hangs


class ScriptedServer:
    """A model API on loopback, in every dialect."""

    def __init__(
        self,
        script: ScriptLike = None,
        model: str = "claude-sonnet-4.5",
        window: int | None = None,
        *,
        output_cap: int | None = None,
        api_key: str | None = None,
        models: tuple[str, ...] = (),
        strict_models: bool = False,
        max_bytes: int = 32_000_000,
        max_images: int | None = None,
        clock: Clock | None = None,
        keep_requests: bool = True,
        providers: Sequence[ScriptedProvider] = (),
    ) -> None:
        """`model` is the first of the listed `models`; names without a card get its card.

        Without `keep_requests`, `requests` and `lookups` stay empty, for runs of many hours. `providers` are served
        in addition to OpenAI, Anthropic and Google. A request with more than `max_bytes` or `max_images` is rejected.
        """
        built_in = (OpenAiProvider(), AnthropicProvider(), GeminiProvider(), ResponsesProvider())
        self._providers: dict[str, ScriptedProvider] = {
            provider.dialect.name: provider for provider in (*built_in, *providers)
        }
        self.clock = clock or Clock()
        self._script = Script(script)
        self._handler = ScriptedRequestHandler(
            script=self._script,
            cards=Cards(model, window, output_cap),
            clock=self.clock,
            models=(model, *models),
            api_key=api_key,
            strict_models=strict_models,
            max_bytes=max_bytes,
            max_images=max_images,
            in_thread=self._in_thread,
        )
        self._changed = threading.Condition()
        self._requests: list[CapturedRequest] = []
        self._lookups: list[CapturedRequest] = []
        self._keep_requests = keep_requests
        self._tasks: set[asyncio.Task[None]] = set()
        self._port: int | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._ready = threading.Event()

    def __enter__(self) -> "ScriptedServer":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> "ScriptedServer":
        """Listen on a free loopback port."""
        if self._thread is not None:
            raise RuntimeError("this server is already running; create another one")
        listening = socket.create_server(("127.0.0.1", 0))
        # Connections inherit this option. Without it, small chunks of a stream wait 40 ms for an acknowledgement.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._port = listening.getsockname()[1]
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening)), name="scripted-server", daemon=True
        )
        self._thread.start()
        self._ready.wait(_TIMEOUT)
        return self

    def stop(self) -> None:
        """Close all connections and end the thread; safe to call twice."""
        if self._thread is None or self._loop is None or self._stopping is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop is already closed
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_TIMEOUT)

    @property
    def url(self) -> str:
        """The root URL."""
        if self._port is None:
            raise RuntimeError("the server is not running; use `with ScriptedServer(...) as server:`")
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai_url(self) -> str:
        """The `base_url` for OpenAI clients."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """The `base_url` for Anthropic clients."""
        return self.url

    @property
    def gemini_url(self) -> str:
        """The `base_url` for Gemini clients, without the API version."""
        return self.url

    @property
    def requests(self) -> list[CapturedRequest]:
        """Every request for a reply, in order of arrival."""
        with self._changed:
            return list(self._requests)

    @property
    def lookups(self) -> list[CapturedRequest]:
        """Every other request: token counts, lists of models, unknown paths."""
        with self._changed:
            return list(self._lookups)

    def extend(self, *items: Item | Computed) -> None:
        """Append items to the script; a function stays last."""
        self._script.extend(items)

    def inject(self, *items: Item | Computed) -> None:
        """Insert items for the next requests."""
        self._script.inject(items)

    def wait_until(self, condition: Callable[[], bool], seconds: float = _TIMEOUT) -> bool:
        """Wait until the condition holds; it is checked whenever a request arrives or ends."""
        with self._changed:
            return self._changed.wait_for(condition, seconds)

    async def _serve(self, listening: socket.socket) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, sock=listening)
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = HttpConnection(reader, writer)
        try:
            while connection.is_open and (http := await connection.read(self._handler.max_bytes)):
                await self._handle(http, connection)
                if http.headers.get("connection", "").lower() == "close":
                    connection.close()
        except BadHttp as error:
            with contextlib.suppress(ConnectionError):
                await self._refuse(error, connection)
        except ConnectionError:
            pass  # the client disconnected
        finally:
            if connection.is_open:
                writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _refuse(self, error: BadHttp, connection: HttpConnection) -> None:
        """Answer what is not an HTTP request with the error of the provider that it names."""
        provider, http = self._provider(error.request), error.request
        captured = CapturedRequest(provider.dialect.name, http.path, http.headers, b"", self.clock.now())
        refusal = replace(provider.usual_refusal(400), status=error.status, message=f"Bad request: {error}.")
        await self._handler.exchange(captured, provider, connection).refuse(refusal)
        await connection.end_after_error()

    async def _handle(self, http: HttpRequest, connection: HttpConnection) -> None:
        provider = self._provider(http)
        dialect = provider.dialect
        captured = CapturedRequest(dialect.name, http.path, http.headers, http.body, self.clock.now())
        with self._changed:
            if self._keep_requests:
                (self._requests if dialect.is_answer_path(http.path) else self._lookups).append(captured)
            self._changed.notify_all()
        try:
            await self._route(http, self._handler.exchange(captured, provider, connection))
        except ConnectionError:
            captured.is_abandoned = True
            raise
        finally:
            with self._changed:
                captured.is_done = True
                self._changed.notify_all()

    async def _route(self, http: HttpRequest, exchange: ScriptedExchange) -> None:
        dialect = exchange.provider.dialect
        is_asked = dialect.is_answer_path(http.path) or dialect.is_count_path(http.path)
        if http.method == "POST" and is_asked:
            await self._handler.serve(http, exchange)
        elif http.method == "GET" and http.path.startswith(dialect.models_paths):
            await self._handler.list_models(http, exchange)
        else:
            await exchange.refuse(exchange.provider.usual_refusal(404))

    def _provider(self, http: HttpRequest) -> ScriptedProvider:
        headers = [(name.encode("latin-1"), b"") for name in http.headers]
        return self._providers.get(dialect_of(http.path, headers).name, self._providers[OPENAI.name])

    async def _in_thread(self, compute: Computed, request: ChatRequest) -> Item:
        """Run a script function in a thread, so that a blocking one does not delay other requests."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Item] = loop.create_future()

        def settle(item: Item) -> None:
            if not done.cancelled():
                done.set_result(item)

        def run() -> None:
            try:
                item = checked(compute(request))
            except Exception as error:  # a test's code: report the error to the client
                item = fault(400, message=f"The script's function raised {type(error).__name__}: {error}")
            with contextlib.suppress(RuntimeError):  # the server has stopped in the meantime
                loop.call_soon_threadsafe(settle, item)

        threading.Thread(target=run, name="scripted-answer", daemon=True).start()
        return await done
