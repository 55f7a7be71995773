"""`plimsoll chat`: interactive, a single question, or line by line from a pipe.

    a terminal          prompt, Markdown, status line
    -q TEXT             one answer on standard output, then exit; `-q -` reads the question
    a pipe              every line is a turn

Answers go to standard output and everything else to standard error unless a terminal
shows both.
"""

import asyncio
import os
import sys

import click
from rich.console import Console

from plimsoll.archive import OPERATOR, Archive
from plimsoll.archive.open_archive import open_archive
from plimsoll.config import LoadedSettings, load_settings, plimsoll_home
from plimsoll.errors import UserError
from plimsoll.terminal.chat.approval import ask_person
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.terminal.chat.commands import LeaveChat
from plimsoll.terminal.chat.prompt import run_input, run_prompt
from plimsoll.terminal.chat.screen import LiveScreen, Screen
from plimsoll.terminal.chat.terminal_style import code_theme
from plimsoll.terminal.standard_output import PIPED_WIDTH, STANDARD_STREAM
from plimsoll.tools import ApprovalAnswer, ApprovalQuestion, Approve

FAILED = 1


@click.command()
@click.option("--model", metavar="NAME", help="The model to use.")
@click.option("--provider", metavar="NAME", help="The provider of the model.")
@click.option("--session", metavar="ID", help="Continue this session; a unique prefix of its id is enough.")
@click.option("--continue", "go_on", is_flag=True, help="Continue the most recent session.")
@click.option(
    "-q", "--question", metavar="TEXT", help="Answer this question and exit; - reads standard input."
)
@click.option("--yes", is_flag=True, help="Run every tool call without asking.")
def chat(
    model: str | None,
    provider: str | None,
    session: str | None,
    go_on: bool,
    question: str | None,
    yes: bool,
) -> int:
    """Chat with a model that has tools. Every message is kept, and long conversations are compacted.

    Without an API key and without Ollama, the embedded model answers. /help lists the commands.
    """
    if session and go_on:
        raise click.UsageError("--session and --continue both name a session; use only one of them.")
    if question == STANDARD_STREAM:
        question = sys.stdin.read().strip()
    if question is not None and not question.strip():
        raise click.UsageError("The question is empty.")
    loaded = load_settings(flags={"model.name": model, "model.provider": provider})
    return asyncio.run(_chat(loaded, session, go_on, question, yes))


async def _chat(
    loaded: LoadedSettings, session: str | None, go_on: bool, question: str | None, yes: bool
) -> int:
    home = plimsoll_home()
    is_person = question is None and sys.stdin.isatty() and sys.stdout.isatty()
    screen = LiveScreen(Console(highlight=False), code_theme(os.environ)) if is_person else _plain_screen()
    for notice in loaded.notices:
        screen.note(f"note: {notice}", "yellow")
    async with await open_archive(loaded.settings.archive.url, home) as store:
        archive = store.for_owner(OPERATOR)
        chat = ChatSession(loaded.settings, os.environ, home, archive, screen, _approver(is_person, yes))
        await chat.open(session or (await _newest(archive) if go_on else None))
        try:
            if question is not None:
                return 0 if await chat.say(question) else FAILED
            if is_person:
                await run_prompt(chat)
                return 0
            return await _piped(chat)
        finally:
            await chat.leave()
            if is_person:
                screen.note(f"`plimsoll chat --session {chat.id}` continues from here.")


async def _piped(chat: ChatSession) -> int:
    """Run every line as a turn. The exit code says whether all finished."""
    code = 0
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            if not await run_input(chat, line.strip()):
                code = FAILED
        except LeaveChat:
            break
    return code


async def _newest(archive: Archive) -> str:
    found = await archive.sessions(limit=1)
    if not found:
        raise UserError("There is no session to continue yet; `plimsoll chat` starts one.")
    return found[0].id


def _plain_screen() -> Screen:
    out = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
    notices = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else PIPED_WIDTH)
    return Screen(out, notices)


def _approver(is_person: bool, yes: bool) -> Approve | None:
    return _allow if yes else ask_person if is_person else None


async def _allow(_question: ApprovalQuestion) -> ApprovalAnswer:
    return ApprovalAnswer(True)
