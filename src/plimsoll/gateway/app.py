"""The gateway as an ASGI application: its paths, and what it opens and closes for them.

    /v1/chat/completions        OpenAI's dialect    ─┐
    /v1/messages                Anthropic's dialect ─┼─► dropin ─► upstream
    /v1/messages/count_tokens · /v1/models          ─┘
    /v1/embeddings, /v1/files, …                    ──► upstream, unchanged (dialects/forwarded.toml)
    /sessions · /search · /openapi.json             ──► sessions ─► the agent
    rooms and chats of messaging platforms          ──► messaging ─► sessions

Nothing is opened before the application starts, and everything is closed when it ends.
"""

import asyncio
import gc
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from plimsoll.agent import SummaryAccount, Workers
from plimsoll.agent.worker import SWITCH_SECONDS
from plimsoll.archive import ArchiveStore, Owner, UsageRecord, key_of
from plimsoll.archive.keys import KeyUsage
from plimsoll.archive.open_archive import open_archive
from plimsoll.assembly import build_compressor, card_of, rules_of
from plimsoll.config import Settings, load_settings, plimsoll_home
from plimsoll.context import ContextCompressor
from plimsoll.dialects import dialect_of, dialects
from plimsoll.errors import UserError
from plimsoll.gateway.access.key_policy import KeyPolicy
from plimsoll.gateway.access.middleware import middleware
from plimsoll.gateway.asgi import Send
from plimsoll.gateway.dropin import body_reader
from plimsoll.gateway.dropin.body_reader import BodyReader
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.compaction import ConversationCompactor
from plimsoll.gateway.dropin.conversation_index import FILE_NAME, ConversationIndex
from plimsoll.gateway.dropin.conversation_store import ConversationStore
from plimsoll.gateway.dropin.endpoint import DropInEndpoint
from plimsoll.gateway.dropin.forwarding import forward_routes
from plimsoll.gateway.dropin.known_conversations import KnownConversations
from plimsoll.gateway.dropin.lookups import Models, count_tokens
from plimsoll.gateway.dropin.metering import MARGIN, max_spending
from plimsoll.gateway.dropin.recall_relay import RecallParts
from plimsoll.gateway.dropin.recall_store import RecallStore
from plimsoll.gateway.dropin.recall_tool import RecallTool
from plimsoll.gateway.dropin.recognition import Recognizer
from plimsoll.gateway.dropin.reply_store import ReplyStore
from plimsoll.gateway.dropin.request_handler import RequestHandler
from plimsoll.gateway.dropin.request_writer import RequestWriter
from plimsoll.gateway.dropin.stateless_compaction import COMPACT_PATH, CompactEndpoint, StatelessCompactor
from plimsoll.gateway.dropin.summary_models import SummaryModels
from plimsoll.gateway.dropin.windows import Windows
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.inspector.routes import inspector_routes, page_preloaded
from plimsoll.gateway.messaging.accounts import Messaging, open_messaging
from plimsoll.gateway.runtime_options import RuntimeOptions
from plimsoll.gateway.sessions.endpoint import refused, session_routes
from plimsoll.gateway.sessions.service import SessionService
from plimsoll.gateway.telemetry.health import Readiness, telemetry_routes
from plimsoll.gateway.telemetry.request_facts import current_key
from plimsoll.gateway.telemetry.request_log import LogThread, start_log
from plimsoll.gateway.telemetry.setup import start_telemetry
from plimsoll.gateway.upstream.pool import Pool
from plimsoll.gateway.upstream.target import Targets
from plimsoll.models import ModelCard


class Gateway:
    """Everything that is open while the application runs. `clock` is the time of day in seconds."""

    def __init__(
        self,
        settings: Settings,
        options: RuntimeOptions,
        environ: Mapping[str, str],
        home: Path,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self.settings, self.options, self.environ, self.home = settings, options, environ, home
        section = settings.gateway
        self.key_policy = KeyPolicy(
            section.host, section.keys, section.allowed_origins, section.limit_wait_seconds
        )
        self.telemetry = start_telemetry(settings.gateway, self._spend, [settings.model.name or ""])
        self.handler: RequestHandler | None = None
        self.stateless: StatelessCompactor | None = None
        self.session_service: SessionService | None = None
        self.messaging: Messaging | None = None
        self.conversations: KnownConversations | None = None
        self.store: ArchiveStore | None = None
        self.log: LogThread | None = None
        self.reader = BodyReader()

    @asynccontextmanager
    async def opened(self, _app: object = None) -> AsyncIterator[None]:
        """Open everything, and close it at the end."""
        async with AsyncExitStack() as stack:
            await self._open(stack)
            yield
        if self.log is not None:
            self.log.stop()  # a worker ends by a signal, after which nothing runs

    async def answer(self, request: ClientRequest, send: Send) -> None:
        """Answer a generation request."""
        await self.open_handler.serve(request, send)

    async def count(self, request: ClientRequest, send: Send) -> None:
        """Count the tokens of a request."""
        await count_tokens(self.open_handler, request, send)

    @property
    def open_handler(self) -> RequestHandler:
        """The request handler. It exists while the application runs."""
        assert self.handler is not None, "the application has not started"
        return self.handler

    @property
    def open_stateless(self) -> StatelessCompactor:
        """The stateless compactor. It exists while the application runs."""
        assert self.stateless is not None, "the application has not started"
        return self.stateless

    @property
    def open_session_service(self) -> SessionService:
        """The sessions of this process. They exist while the application runs."""
        assert self.session_service is not None, "the application has not started"
        return self.session_service

    async def _open(self, stack: AsyncExitStack) -> None:
        settings, home = self.settings, self.home
        stack.callback(self.telemetry.close)
        store = await stack.enter_async_context(await open_archive(settings.archive.url, home))
        self.store = store
        await self.key_policy.open(store.keys)
        stack.push_async_callback(self.key_policy.close)
        index = await ConversationIndex.open(home / FILE_NAME)
        conversation_store = ConversationStore(
            store.for_owner,
            index,
            f"gateway-{os.getpid()}-{secrets.token_hex(4)}",
            settings.gateway.store_conversations,
        )
        stack.push_async_callback(conversation_store.close)
        summaries = await SummaryModels.open(settings, self.environ, home)
        workers = self._workers(stack)
        self.reader = BodyReader(workers)
        stack.callback(self.reader.close)
        windows = Windows(
            settings,
            lambda endpoint: card_of(settings, endpoint, home),
            lambda window, model: build_compressor(settings, window=window, model=model).budget,
        )
        compactor = self._compactor(conversation_store, summaries, workers)
        options = self.options
        self.conversations = KnownConversations(
            options.conversations, settings.gateway.conversation_memory, _discard_preparation
        )
        pool = Pool(options.timeouts)
        stack.callback(pool.close)
        targets = Targets(settings.model, self.environ, home, options.demo)
        self.handler = RequestHandler(
            options,
            targets,
            pool,
            Recognizer(self.conversations, conversation_store, windows),
            compactor,
            RequestWriter(windows, self._clock),
            conversation_store,
            windows,
            self.key_policy.reserve,
            ReplyStore(store.replies),
            await self._recall(store, index),
        )
        self.stateless = StatelessCompactor(
            settings, summaries, workers, self._clock, self.key_policy.reserve, self._charge
        )
        stack.push_async_callback(self._end, compactor, summaries)
        await self._open_sessions(stack, store, workers)
        await stack.enter_async_context(page_preloaded())

    async def _open_sessions(
        self, stack: AsyncExitStack, store: ArchiveStore, workers: Workers | None
    ) -> None:
        """Open the gateway's sessions and the messaging platforms that use them."""
        settings, home = self.settings, self.home
        self.session_service = SessionService.open(
            settings,
            self.environ,
            home,
            store.for_owner,
            self._room_for,
            workers,
            self._charge,
            self.options.demo,
        )
        stack.push_async_callback(self.session_service.close, settings.gateway.shutdown_seconds)
        self.messaging = open_messaging(
            settings.gateway, self.environ, home, store.inbox, self.session_service
        )
        stack.push_async_callback(self.messaging.close, settings.gateway.shutdown_seconds)
        self.messaging.start()

    def _workers(self, stack: AsyncExitStack) -> Workers | None:
        """Worker processes for compactions and large bodies; None if the settings disable them."""
        count = self.settings.gateway.compaction_workers
        if not count:
            return None
        workers = Workers(count, modules=[body_reader.MODULE])
        stack.push_async_callback(asyncio.to_thread, workers.close)
        return workers

    async def _recall(self, store: ArchiveStore, index: ConversationIndex) -> RecallParts:
        section = self.settings.gateway
        recall_store = RecallStore(index, store.replies, section.recall)
        await recall_store.open()
        return RecallParts(
            recall_store, RecallTool(store.for_owner), section.recall_rounds, section.recall_tokens
        )

    def _compactor(
        self, conversation_store: ConversationStore, summaries: SummaryModels, workers: Workers | None
    ) -> ConversationCompactor:
        settings = self.settings

        def engine_for(window: int, account: SummaryAccount, model: str = "") -> ContextCompressor:
            writer = summaries.writer_for(model, account.add)
            return build_compressor(settings, writer, window=window, model=model)

        return ConversationCompactor(
            conversation_store,
            engine_for,
            self._charge,
            rules_of(settings),
            self._clock,
            summaries.name_for,
            workers,
        )

    def _room_for(self, card: ModelCard, prompt: int, output: int) -> AbstractAsyncContextManager[None]:
        """Reserve a session's request in the limits of its caller."""
        return self.key_policy.reserve(current_key(), max_spending(card, round(MARGIN * prompt), output))

    def _charge(self, owner: Owner, usage: UsageRecord) -> None:
        """Charge a summary's usage to the key that owns its conversation."""
        self.telemetry.dispatcher.charge(key_of(owner), usage)

    def _spend(self, key: str, spent: KeyUsage) -> None:
        if self.key_policy.key_cache is not None:
            self.key_policy.key_cache.usage.spent(key, spent)

    async def archive_answers(self) -> None:
        """Raise if the archive does not answer."""
        if self.store is None:
            raise UserError("The archive is not open yet.")
        await self.store.sessions(limit=1)

    async def upstream_is_known(self) -> None:
        """Raise if no upstream is configured. Sends no request."""
        await self.open_handler.targets.known()

    async def _end(self, compactor: ConversationCompactor, summaries: SummaryModels) -> None:
        """Finish background work of requests, and cancel preparations."""
        assert self.handler is not None
        assert self.conversations is not None
        await self.handler.close()
        for conversation in self.conversations.all():
            if conversation.compactor is not None:
                await conversation.compactor.close()
        await summaries.close()
        await compactor.close()  # last: cancelled requests are charged too


def build_app(
    settings: Settings,
    options: RuntimeOptions | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    clock: Callable[[], float] = time.time,
) -> Starlette:
    """The application; `environ` and `home` default to those of the process."""
    environ = os.environ if environ is None else environ
    within = Gateway(settings, options or RuntimeOptions(), environ, home or plimsoll_home(), clock)
    limits = settings.gateway
    finishes = limits.on_disconnect == "finish"

    listed, reader = Models(lambda: within.open_handler), lambda: within.reader
    routes = [
        *(
            Route(path, DropInEndpoint(dialect, limits, reader, within.answer, finishes), methods=["POST"])
            for dialect in dialects()
            for path in dialect.answer_paths
        ),
        *(
            Route(path, DropInEndpoint(dialect, limits, reader, within.count), methods=["POST"])
            for dialect in dialects()
            for path in dialect.count_paths
        ),
        *(
            Route(path, listed, methods=["GET"])
            for shared in dict.fromkeys(path for dialect in dialects() for path in dialect.models_paths)
            for path in (shared, shared + "/{name:path}")
        ),
        *forward_routes(lambda: within.open_handler, limits, within.key_policy.reserve),
        Route(COMPACT_PATH, CompactEndpoint(lambda: within.open_stateless, settings), methods=["POST"]),
        *session_routes(lambda: within.open_session_service, limits),
        *inspector_routes(lambda: within.open_session_service),
        *telemetry_routes(
            Readiness({"archive": within.archive_answers, "upstream": within.upstream_is_known}),
            within.telemetry.metrics,
        ),
    ]
    app = Starlette(
        routes=routes,
        lifespan=within.opened,
        middleware=middleware(within.key_policy, within.telemetry.dispatcher, limits, limits.host),
        exception_handlers={HTTPException: _refused, Exception: _failed},
    )
    # A redirect would name the host and scheme that the request claims, which are not those of a proxy in front.
    app.router.redirect_slashes = False
    app.state.gateway = within
    return app


def app_from_config(flags: Mapping[str, Any], options: RuntimeOptions) -> Starlette:
    """The application with the user's configuration; the command's flags take precedence."""
    settings = load_settings(flags=flags).settings
    log = start_log(settings.gateway.log)
    # For an application that fails to start. Unlike `atexit`, this also runs when a worker ends.
    Finalize(None, log.stop, exitpriority=0)
    app = build_app(settings, options)
    app.state.gateway.log = log
    sys.setswitchinterval(SWITCH_SECONDS)
    # Loaded modules stay until the end; repeated garbage collection of them would delay streams.
    gc.collect()
    gc.freeze()
    return app


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    dialect = dialect_of(request.url.path, request.headers.raw)
    details = {
        404: f"There is no endpoint at {request.url.path}.",
        405: f"{request.url.path} does not support {request.method}.",
    }
    detail = details.get(status, str(error))
    if status == 405 and request.headers.get("upgrade", "").lower() == "websocket":
        # After this status Codex falls back to HTTP at once; after any other, only after several attempts.
        status, detail = 426, f"{request.url.path} has no WebSocket; send POST requests."
    body = jsontext.write(dialect.error_body(status, detail))
    return refused(request.url.path, status, detail) or Response(body, status, media_type="application/json")


async def _failed(request: Request, _error: Exception) -> Response:
    dialect = dialect_of(request.url.path, request.headers.raw)
    detail = "The gateway failed on this request; its log has the details."
    body = jsontext.write(dialect.error_body(500, detail))
    return refused(request.url.path, 500, detail) or Response(body, 500, media_type="application/json")


def _discard_preparation(conversation: ClientConversation) -> None:
    """Cancel the preparation for a conversation that was forgotten."""
    if conversation.compactor is not None:
        asyncio.get_running_loop().create_task(conversation.compactor.close())
