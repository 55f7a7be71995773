"""The terminal prompt, with completion and a status line.

    › fix the failing tests▌
    claude-sonnet-4.5 · 21K of 200K (11 %) · cache 83 % · $0.42

A line is a command (/word), a shell command (!word) or a message with attachments.
"""

from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory

from plimsoll.errors import PlimsollError, UserError
from plimsoll.terminal.chat import edit_commands
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.terminal.chat.commands import LeaveChat, available, run_command
from plimsoll.terminal.chat.completion import ChatCompleter
from plimsoll.terminal.chat.line_keys import Hint, LineActions, line_keys
from plimsoll.terminal.chat.screen import BAD
from plimsoll.terminal.chat.shell_command import run_shell
from plimsoll.terminal.chat.status_lines import status_line
from plimsoll.terminal.chat.terminal_style import PROMPT_STYLE, editing_mode

MARK = "› "


async def converse(talk: ChatSession, hint: Hint | None = None) -> None:
    """Run turns until the user leaves."""
    hint = hint or Hint()
    session: PromptSession[str] = PromptSession(
        history=InMemoryHistory(),
        completer=ChatCompleter(lambda: available(talk), lambda: talk.place),
        key_bindings=line_keys(_actions(talk), hint, talk.environ),
        bottom_toolbar=lambda: _toolbar(talk, hint),
        style=PROMPT_STYLE,
        erase_when_done=False,
        prompt_continuation=" " * len(MARK),  # further lines of a message are aligned with its first
        reserve_space_for_menu=4,
        editing_mode=editing_mode(talk.environ, Path.home()),
        enable_open_in_editor=True,
    )
    session.app.key_processor.before_key_press += hint.key_pressed
    talk.screen.note("/help shows the commands; Ctrl-C stops an answer, Ctrl-D leaves.")
    while True:
        draft, talk.draft = talk.draft + talk.screen.take_typed(), ""
        try:
            text = (await session.prompt_async(MARK, handle_sigint=False, default=draft)).strip()
        except EOFError:
            return
        try:
            await take(talk, text)
        except LeaveChat:
            return


def _actions(talk: ChatSession) -> LineActions:
    return LineActions(
        attachments=lambda: talk.attachments,
        unfold=talk.screen.unfold,
        next_mode=lambda: edit_commands.next_mode(talk),
    )


def _toolbar(talk: ChatSession, hint: Hint) -> StyleAndTextTuples:
    if hint.text:
        return [("class:hint", hint.text)]
    return [("", status_line(talk.status, talk.screen.out.width))]


async def take(talk: ChatSession, text: str) -> bool:
    """Run one line of input: a command or a turn. Returns whether it finished."""
    if not text:
        return True
    is_person = talk.screen.is_interactive
    try:
        if text.startswith("/") and not (is_person and talk.names_file(text)):
            await run_command(talk, text)
        elif text.startswith("!") and is_person:
            return await run_shell(talk, text[1:].strip())
        else:
            is_done = await talk.say(await talk.content_of(text) if is_person else text)
            if talk.is_unsent:
                talk.draft = text
            else:
                talk.attachments.sent()
            return is_done
    except PlimsollError as error:
        talk.screen.note(str(error), BAD)
        if is_person and isinstance(error, UserError) and not text.startswith("/"):
            talk.draft = text  # nothing was sent: it can be corrected
        return False
    return True
