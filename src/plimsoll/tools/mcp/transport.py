"""MCP transports: standard input and output, or HTTP.

    command, args, env   ──► a program in its own process group; its error output is kept for error messages
    url, headers         ──► streamable HTTP

The values of `env` and `headers` may be secrets: they are expanded here and appear in no message.
"""

import asyncio
import os
import re
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import IO, Any

from plimsoll.errors import SettingError
from plimsoll.settings.tools import McpServerSettings

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LARGEST_EVENT = 32 * 1024 * 1024  # bytes; a picture in base64 is one event
_LONGEST_LOG = 1_000_000
_SHORTEST_SECRET = 6


class ServerLog:
    """The last lines that a server program writes to stderr, in a bounded file."""

    def __init__(self) -> None:
        # Opened for appending, so the program continues at the new end after a truncation.
        self.file: IO[str] = tempfile.TemporaryFile("a+", encoding="utf-8", errors="replace")  # noqa: SIM115 - lives as long as the connection

    def last(self, max_characters: int = 300) -> str:
        """The end of the log on one line."""
        size = os.fstat(self.file.fileno()).st_size
        # Without seeking, because the program shares the file position.
        text = os.pread(self.file.fileno(), 4_000, max(0, size - 4_000)).decode("utf-8", "replace")
        flat = " ".join(text.split())
        return flat if len(flat) <= max_characters else "…" + flat[-max_characters:]

    def cut(self) -> None:
        """Truncate the file if it is too long."""
        if os.fstat(self.file.fileno()).st_size > _LONGEST_LOG:
            os.ftruncate(self.file.fileno(), 0)

    def close(self) -> None:
        self.file.close()


class ExpandedSettings:
    """A server's settings with environment variables expanded."""

    def __init__(self, name: str, settings: McpServerSettings, environ: Mapping[str, str]) -> None:
        self._name, self._environ = name, environ
        self._secrets: set[str] = set()
        self.command = settings.command
        self.args = [self._fill(f"args[{n}]", arg) for n, arg in enumerate(settings.args)]
        self.env = {key: self._fill(f"env.{key}", value) for key, value in settings.env.items()}
        self.url = self._fill("url", settings.url) if settings.url else None
        self.headers = {key: self._fill(f"headers.{key}", value) for key, value in settings.headers.items()}
        self._secrets |= {*self.env.values(), *self.headers.values()}

    def masked(self, text: str) -> str:
        """A text without the expanded values."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "[key]")
        return text

    def _fill(self, key: str, text: str) -> str:
        def value(found: re.Match[str]) -> str:
            variable = found.group(1)
            if variable not in self._environ:
                raise SettingError(
                    f"mcp_servers.{self._name}.{key} names ${{{variable}}}, "
                    f"which is not set in the environment: set the variable, or write the value."
                )
            self._secrets.add(self._environ[variable])
            return self._environ[variable]

        return _VARIABLE.sub(value, text)


@asynccontextmanager
async def open_transport(
    filled: ExpandedSettings, log: ServerLog, started: asyncio.Future[None], ended: asyncio.Event
) -> AsyncIterator[Any]:
    """The streams of a server; `started` is done once its program runs, `ended` is set when it disconnects."""
    if filled.command is not None:
        from mcp import StdioServerParameters, stdio_client

        program = StdioServerParameters(command=filled.command, args=filled.args, env=filled.env)
        async with stdio_client(program, errlog=log.file) as (reading, writing):  # type: ignore[arg-type]
            started.set_result(None)
            yield _MonitoredStream(reading, ended), writing
    else:
        started.set_result(None)
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        # A server may take long before its first byte; calls have their own timeout.
        limits = httpx2.Timeout(30.0, read=None)
        async with (
            httpx2.AsyncClient(headers=filled.headers, timeout=limits) as client,
            streamable_http_client(
                filled.url or "", http_client=client, max_sse_event_size=_LARGEST_EVENT
            ) as (reading, writing),
        ):
            yield _MonitoredStream(reading, ended), writing


class _MonitoredStream:
    """A stream that signals its end."""

    def __init__(self, stream: Any, ended: asyncio.Event) -> None:
        self._stream, self._ended = stream, ended

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        import anyio

        try:
            return await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._ended.set()
            raise

    def __aiter__(self) -> "_MonitoredStream":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._ended.set()
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> "_MonitoredStream":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc_info: Any) -> Any:
        return await self._stream.__aexit__(*exc_info)
