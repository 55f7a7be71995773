"""`/inspect`: opens the page of `plimsoll inspect` for this session; it ends with the chat."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process

from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.terminal.chat.chat_session import ChatSession

_START = 30.0  # seconds for the page to start
_STOP = 3.0
_LINK = "Inspector: "


async def inspect(chat: ChatSession, argument: str) -> None:
    """Show this session in the browser."""
    if argument not in ("", "--no-browser"):
        raise UserError(f"{plain(argument)!r} is not known here: /inspect [--no-browser]")
    if not await chat.has_messages():
        raise UserError("There is nothing to inspect yet.")
    page = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "plimsoll.terminal.main", "inspect", chat.id),
        *([argument] if argument else []),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,  # Ctrl-C is for the chat
        env={**chat.environ, "PLIMSOLL_HOME": str(chat.home)},
    )
    chat.on_leaving.append(lambda: _end(page))
    with chat.screen.busy("Opening the inspector."):
        link = await _link(page)
    chat.screen.note(f"{_LINK}{link}", "")
    chat.screen.note("The page stays open until you leave the chat.")


async def _link(page: Process) -> str:
    assert page.stdout is not None
    assert page.stderr is not None
    try:
        async with asyncio.timeout(_START):
            while line := (await page.stdout.readline()).decode("utf-8", "replace"):
                if line.startswith(_LINK):
                    return plain(line.removeprefix(_LINK).strip())
            message = (await page.stderr.read()).decode("utf-8", "replace").strip().removeprefix("plimsoll: ")
    except TimeoutError:
        await _end(page)
        message = f"it did not start within {_START:g} s"
    raise UserError(f"The page cannot be shown: {plain(message)}")


async def _end(page: Process) -> None:
    if page.returncode is not None:
        return
    page.terminate()
    try:
        await asyncio.wait_for(page.wait(), _STOP)
    except TimeoutError:
        page.kill()
        await page.wait()
