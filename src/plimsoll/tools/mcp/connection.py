"""The connection to one MCP server: opened on first use, reopened after a failure, closed.

    call ──► connected? ────no──► connect ──► call ──► answer
                                    └── in a separate task, which owns the connection

The protocol's client must be entered and left by the same task, and a broken connection
cancels that task, so nothing else runs in it. A call that was running when the server died
is repeated only if it is read-only.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from plimsoll.settings.tools import McpServerSettings
from plimsoll.tools.mcp.transport import ExpandedSettings, ServerLog, open_transport

_MAX_PAGES = 50  # of a server's list of tools
_CLOSING = 8.0  # seconds; the client asks the program to exit, then kills it
_SESSION_GONE = "Session terminated"  # the error of an HTTP server that was restarted


class ServerUnreachable(Exception):
    """A server cannot be reached or does not answer; the text says why."""


class ServerDisconnected(ServerUnreachable):
    """The connection was lost during a call."""


class McpConnection:
    """A server that may be connected."""

    def __init__(self, name: str, settings: McpServerSettings, environ: Mapping[str, str]) -> None:
        self.name = name
        self._settings, self._environ = settings, environ
        self._filled: ExpandedSettings | None = None
        self._client: Any = None
        self._owner: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._opening = asyncio.Lock()
        self._log: ServerLog | None = None

    @property
    def is_open(self) -> bool:
        return self._owner is not None and not self._owner.done() and self._client is not None

    async def list_tools(self) -> list[Any]:
        """All tools that the server offers."""
        await self._ensure_open()
        tools: list[Any] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await self._ask(self._client.list_tools(cursor=cursor))
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        return tools

    async def call(self, tool: str, arguments: dict[str, Any], may_repeat: bool) -> Any:
        """A tool's answer. `may_repeat`: the call can safely run twice."""
        await self._ensure_open()
        try:
            return await self._ask(self._client.call_tool(tool, arguments))
        except ServerDisconnected as died:
            if not (may_repeat or _SESSION_GONE in str(died)):
                raise
            await self._ensure_open()
            return await self._ask(self._client.call_tool(tool, arguments))
        finally:
            if self._log is not None:
                self._log.cut()

    async def close(self) -> None:
        """Disconnect and end the program. Safe to call at any time."""
        owner, self._owner, self._client = self._owner, None, None
        if owner is not None:
            self._stop.set()
            if not owner.done():
                await asyncio.wait({owner}, timeout=_CLOSING)
            if not owner.done():
                owner.cancel()
                await asyncio.wait({owner}, timeout=_CLOSING)
            if owner.done() and not owner.cancelled():
                owner.exception()  # the caller has received the error
        if self._log is not None:
            self._log.close()
            self._log = None

    async def _ensure_open(self) -> None:
        async with self._opening:
            if not self.is_open:
                await self.close()
                await self._open()

    async def _open(self) -> None:
        self._filled = ExpandedSettings(self.name, self._settings, self._environ)
        self._stop, self._log = asyncio.Event(), ServerLog()
        loop = asyncio.get_running_loop()
        started: asyncio.Future[None] = loop.create_future()
        ready: asyncio.Future[Any] = loop.create_future()
        owning = self._own(self._filled, self._log, started, ready)
        self._owner = asyncio.create_task(owning, name=f"mcp {self.name}")
        try:
            await asyncio.wait(
                {ready, self._owner}, timeout=self._settings.timeout, return_when="FIRST_COMPLETED"
            )
            if ready.done() and not self._owner.done():
                self._client = ready.result()
                return
            if self._owner.done():
                raise ServerUnreachable(self._error_message(f"does not start{_cause(self._owner)}"))
            limit = f"{self._settings.timeout:g} s, its mcp_servers.{self.name}.timeout"
            raise ServerUnreachable(self._error_message(f"did not answer within {limit}"))
        finally:
            if self._client is None:
                # Not while the program starts: asyncio leaves the pipes of a cancelled start open.
                await asyncio.wait({started, self._owner}, timeout=_CLOSING, return_when="FIRST_COMPLETED")
                self._owner.cancel()
                await asyncio.wait({self._owner}, timeout=_CLOSING)

    async def _own(
        self,
        filled: ExpandedSettings,
        log: ServerLog,
        started: asyncio.Future[None],
        ready: asyncio.Future[Any],
    ) -> None:
        """Open the connection, keep it until it ends or is closed, and close it."""
        from mcp import Client

        quiet = logging.getLogger("mcp")
        if not quiet.hasHandlers():
            quiet.addHandler(logging.NullHandler())  # its errors are raised, not printed
        ended = asyncio.Event()
        async with Client(open_transport(filled, log, started, ended)) as client:
            ready.set_result(client)
            waits = {asyncio.create_task(event.wait()) for event in (self._stop, ended)}
            try:
                await asyncio.wait(waits, return_when="FIRST_COMPLETED")
            finally:
                for wait in waits:
                    wait.cancel()

    async def _ask(self, question: Any) -> Any:
        """The answer within the timeout; raises if the connection breaks."""
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        owner = self._owner
        assert owner is not None
        task = asyncio.ensure_future(question)
        try:
            done, _ = await asyncio.wait(
                {task, owner}, timeout=self._settings.timeout, return_when="FIRST_COMPLETED"
            )
            if task not in done:
                if owner in done:
                    raise ServerDisconnected(self._error_message(f"ended during the call{_cause(owner)}"))
                raise ServerUnreachable(
                    self._error_message(f"did not answer within {self._settings.timeout:g} s", quotes=False)
                )
            try:
                return task.result()
            except MCPError as error:
                if error.code == CONNECTION_CLOSED or error.message == _SESSION_GONE:
                    self._stop.set()
                    await asyncio.wait({owner}, timeout=_CLOSING)
                    raise ServerDisconnected(
                        self._error_message(f"ended during the call ({error.message})")
                    ) from None
                raise ServerUnreachable(
                    self._error_message(f"refused: {error.message}", quotes=False)
                ) from None
            except asyncio.CancelledError:
                raise ServerDisconnected(self._error_message("ended during the call")) from None
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=_CLOSING)

    def _error_message(self, problem: str, quotes: bool = True) -> str:
        """An error message about this server, with the last output of its program and without secrets."""
        log = self._log.last() if quotes and self._log is not None else ""
        text = f"the MCP server {self.name!r} {problem}" + (f"; it says: {log}" if log else "")
        return self._filled.masked(text) if self._filled is not None else text


def _cause(owner: "asyncio.Task[None]") -> str:
    """Why a connection ended, as text."""
    if owner.cancelled():
        return ""
    error: BaseException | None = owner.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is None:
        return ""
    text = " ".join(str(error).split())[:300]
    return f" ({type(error).__name__}: {text})" if text else f" ({type(error).__name__})"
