"""The server: a thread with its own event loop, and the interface for tests.

    with ScriptedServer([say("Hello.")]) as server:
        client = openai.OpenAI(base_url=server.openai_url, api_key="any")

It listens before `start` returns, and `stop` ends it whatever its requests are
waiting for.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
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

_PATIENCE = 60.0  # seconds that `wait_until` and `stop` wait at most; only something that hangs takes so long


class ScriptedServer:
    """A model's API on loopback, in every dialect."""

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
        """`model` is listed first of `models` and lends its card to names that no card knows.

        Without `keep_requests`, `requests` and `lookups` stay empty: for runs of many hours. `providers` are served
        besides the dialects of OpenAI, Anthropic and Google. A request of more than `max_bytes`, or with more than
        `max_images`, is refused.
        """
        built_in = (OpenAiProvider(), AnthropicProvider(), GeminiProvider(), ResponsesProvider())
        self._providers: dict[str, ScriptedProvider] = {
            one.dialect.name: one for one in (*built_in, *providers)
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
        """Listen on a free port of loopback."""
        if self._thread is not None:
            raise RuntimeError("this server is already running; make another one")
        listening = socket.create_server(("127.0.0.1", 0))
        # Connections inherit it. Without it the small pieces of a stream wait 40 ms for an acknowledgement.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._port = listening.getsockname()[1]
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening)), name="scripted-server", daemon=True
        )
        self._thread.start()
        self._ready.wait(_PATIENCE)
        return self

    def stop(self) -> None:
        """End every connection and the thread; harmless when it has already ended."""
        if self._thread is None or self._loop is None or self._stopping is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop has closed already
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_PATIENCE)

    @property
    def url(self) -> str:
        """The root."""
        if self._port is None:
            raise RuntimeError("the server is not running; use `with ScriptedServer(...) as server:`")
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai_url(self) -> str:
        """The `base_url` of a client that speaks OpenAI's dialect."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """The `base_url` of a client that speaks Anthropic's dialect."""
        return self.url

    @property
    def gemini_url(self) -> str:
        """The `base_url` of a client that speaks Google's dialect, without the version of the API."""
        return self.url

    @property
    def requests(self) -> list[CapturedRequest]:
        """Every request for an answer, in order of arrival."""
        with self._changed:
            return list(self._requests)

    @property
    def lookups(self) -> list[CapturedRequest]:
        """Every other request: token counts, lists of models, unknown paths."""
        with self._changed:
            return list(self._lookups)

    def extend(self, *items: Item | Computed) -> None:
        """More items at the end of the script; in front of a function, they come first."""
        self._script.extend(items)

    def inject(self, *items: Item | Computed) -> None:
        """Items for the very next requests."""
        self._script.inject(items)

    def wait_until(self, condition: Callable[[], bool], seconds: float = _PATIENCE) -> bool:
        """Wait until the condition holds, looking at it whenever a request comes or ends."""
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
        except (ConnectionError, BadHttp):
            pass  # the client has left, or never spoke HTTP
        finally:
            if connection.is_open:
                writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

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
        """Run a function of the script beside the loop, so that one that waits holds up nobody else."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Item] = loop.create_future()

        def settle(item: Item) -> None:
            if not done.cancelled():
                done.set_result(item)

        def run() -> None:
            try:
                item = checked(compute(request))
            except Exception as error:  # somebody else's code: whoever waits for the answer is told
                item = fault(400, message=f"The script's function raised {type(error).__name__}: {error}")
            with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
                loop.call_soon_threadsafe(settle, item)

        threading.Thread(target=run, name="scripted-answer", daemon=True).start()
        return await done
