"""A real gateway on loopback, in a thread of its own, for tests: uvicorn, the application, an archive in a folder."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import uvicorn

from plimsoll.config import Settings
from plimsoll.gateway.app import Gateway, build_app
from plimsoll.gateway.http.protocol import LimitedProtocol
from plimsoll.gateway.runtime_options import RuntimeOptions
from plimsoll.testing.scripted_server import ScriptedServer


class RunningGateway:
    """`with RunningGateway(settings, home) as gateway: ... gateway.url`."""

    def __init__(
        self,
        settings: Settings,
        home: Path,
        options: RuntimeOptions | None = None,
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.app = build_app(settings, options, environ=environ or {}, home=home, clock=clock)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._server = uvicorn.Server(
            uvicorn.Config(
                self.app,
                http=cast(
                    type[asyncio.Protocol],
                    partial(LimitedProtocol, head_seconds=settings.gateway.receive_seconds),
                ),
                h11_max_incomplete_event_size=settings.gateway.header_limit,
                log_level="error",
                access_log=False,
                timeout_graceful_shutdown=20,
            )
        )
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._run, name="gateway", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> "RunningGateway":
        self._thread.start()
        for _ in range(24_000):
            if self._server.started or not self._thread.is_alive():
                break
            threading.Event().wait(0.005)
        assert self._server.started, "the gateway did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(60)
        self._socket.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def within(self) -> Gateway:
        found: Gateway = self.app.state.gateway
        return found

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))


def settings_for(server: ScriptedServer, dialect: str = "anthropic", **sections: Any) -> Settings:
    """Settings whose upstream is a scripted server that speaks this dialect."""
    urls = {
        "anthropic": server.anthropic_url,
        "gemini": f"{server.gemini_url}/v1beta",
        "responses": f"{server.openai_url}/responses",
    }
    url = urls.get(dialect, server.openai_url)
    provider = "anthropic" if dialect == "anthropic" else "scripted"
    model = {"provider": provider, "base_url": url, **sections.pop("model", {})}
    return Settings.model_validate({"model": model, **sections})


def with_gateway(settings: Settings, **changed: Any) -> Settings:
    """The settings with other values of the gateway's, even such as nobody could configure."""
    return settings.model_copy(update={"gateway": settings.gateway.model_copy(update=changed)})
