"""Runs lines of a chat in this process, as a pipe would: no start-up, and everything that was shown is returned."""

import asyncio
import io
import os
from dataclasses import dataclass, field

from chatting import configured
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from plimsoll.archive import OPERATOR
from plimsoll.archive.open_archive import open_archive
from plimsoll.config import load_settings
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.terminal.chat.prompt import run_input, run_prompt
from plimsoll.terminal.chat.screen import Screen


@dataclass
class ChatOutput:
    """What a chat showed, and the sessions that it was in after each line."""

    out: str = ""
    notices: str = ""
    sessions: list[str] = field(default_factory=list)
    draft: str = ""


def run_chat(
    home, server, *lines, more="", name="gpt-5", act=None, screen=Screen, environ=None, approve=None
):
    """Run the lines; `act(chat)` may do more with the open chat before each of them."""
    home.mkdir(exist_ok=True)
    config = configured(server, more, name) if server else more
    (home / "config.yaml").write_text(config, "utf-8")
    return asyncio.run(_run_chat(home, lines, act, screen, environ, approve))


class InteractiveScreen(Screen):
    """A screen with a person in front of it."""

    is_interactive = True


def type_keys(home, server, keys, *, hint=None, environ=None, approve=None):
    """Run the prompt itself while `keys(send, chat)` types; what was shown, once the person has left."""
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(configured(server), "utf-8")

    async def converse_with(chat):
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            prompt_task = asyncio.ensure_future(run_prompt(chat, hint))
            typing = asyncio.ensure_future(keys(pipe.send_text, chat))
            done, _ = await asyncio.wait(
                {prompt_task, typing}, return_when=asyncio.FIRST_EXCEPTION, timeout=60
            )
            assert {prompt_task, typing} <= done, "the chat was not left"
            prompt_task.result()
            typing.result()

    return asyncio.run(_run_chat(home, [converse_with], None, InteractiveScreen, environ, approve))


async def _run_chat(home, lines, act, screen, environ, approve=None):
    out, notices = io.StringIO(), io.StringIO()
    environ = {**os.environ, "PLIMSOLL_HOME": str(home), "OLLAMA_HOST": "127.0.0.1:1", **(environ or {})}
    loaded = load_settings(environ=environ)
    done = ChatOutput()
    async with await open_archive(loaded.settings.archive.url, home) as store:
        shown = screen(Console(file=out, width=100), Console(file=notices, width=100))
        chat = ChatSession(loaded.settings, environ, home, store.for_owner(OPERATOR), shown, approve)
        await chat.open()
        try:
            for line in lines:
                if act is not None:
                    act(chat)
                await (line(chat) if callable(line) else run_input(chat, line))
                done.sessions.append(chat.id)
            done.draft = chat.draft
        finally:
            await chat.leave()
    done.out, done.notices = out.getvalue(), notices.getvalue()
    return done
