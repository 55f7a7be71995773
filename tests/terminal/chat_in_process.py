"""Runs lines of a chat in this process, as a pipe would: no start-up, and everything that was shown is returned."""

import asyncio
import io
import os
from dataclasses import dataclass, field

from chatting import configured
from rich.console import Console

from plimsoll.archive import OPERATOR
from plimsoll.archive.open_archive import open_archive
from plimsoll.config import load_settings
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.terminal.chat.prompt import take
from plimsoll.terminal.chat.screen import Screen


@dataclass
class Talked:
    """What a chat showed, and the sessions that it was in after each line."""

    out: str = ""
    beside: str = ""
    sessions: list[str] = field(default_factory=list)
    draft: str = ""


def talk(home, server, *lines, more="", name="gpt-5", act=None, screen=Screen, environ=None):
    """Run the lines; `act(chat)` may do more with the open chat before each of them."""
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(configured(server, more, name), "utf-8")
    return asyncio.run(_talk(home, lines, act, screen, environ))


async def _talk(home, lines, act, screen, environ):
    out, beside = io.StringIO(), io.StringIO()
    environ = {**os.environ, "PLIMSOLL_HOME": str(home), "OLLAMA_HOST": "127.0.0.1:1", **(environ or {})}
    loaded = load_settings(environ=environ)
    done = Talked()
    async with await open_archive(loaded.settings.archive.url, home) as store:
        shown = screen(Console(file=out, width=100), Console(file=beside, width=100))
        chat = ChatSession(loaded.settings, environ, home, store.for_owner(OPERATOR), shown)
        await chat.open()
        try:
            for line in lines:
                if act is not None:
                    act(chat)
                await take(chat, line)
                done.sessions.append(chat.id)
            done.draft = chat.draft
        finally:
            await chat.close()
    done.out, done.beside = out.getvalue(), beside.getvalue()
    return done
