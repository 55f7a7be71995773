"""The terminal prompt, with completion and a status line.

    › fix the failing tests▌
    claude-sonnet-4.5 · 21K of 200K (11 %) · cache 83 % · $0.42

A line is a command (/word), a shell command (!word) or a message with attachments.
"""

from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory

from plimsoll.errors import PlimsollError, UserError
from plimsoll.terminal.chat import edit_commands
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.terminal.chat.commands import LeaveChat, available, run_command
from plimsoll.terminal.chat.completion import ChatCompleter
from plimsoll.terminal.chat.line_keys import ESCAPE_SECONDS, Hint, KeyTimes, LineActions, line_keys
from plimsoll.terminal.chat.screen import BAD
from plimsoll.terminal.chat.shell_command import run_shell
from plimsoll.terminal.chat.status_lines import status_line
from plimsoll.terminal.chat.terminal_style import PROMPT_STYLE, editing_mode

MARK = "› "


async def run_prompt(chat: ChatSession, hint: Hint | None = None) -> None:
    """Run turns until the user leaves."""
    hint, times = hint or Hint(), KeyTimes()
    mode = editing_mode(chat.environ, Path.home())
    session: PromptSession[str] = PromptSession(
        history=InMemoryHistory(),
        completer=ChatCompleter(lambda: available(chat), lambda: chat.place),
        key_bindings=line_keys(_actions(chat), hint, chat.environ, times),
        bottom_toolbar=lambda: _toolbar(chat, hint),
        style=PROMPT_STYLE,
        erase_when_done=False,
        prompt_continuation=" " * len(MARK),  # further lines of a message are aligned with its first
        reserve_space_for_menu=4,
        editing_mode=mode,
        enable_open_in_editor=True,
    )
    session.app.key_processor.before_key_press += hint.key_pressed
    session.app.key_processor.before_key_press += times.key_pressed
    if mode is EditingMode.VI:
        session.app.ttimeoutlen = ESCAPE_SECONDS
    chat.screen.note("/help shows the commands; Ctrl-C stops an answer, Ctrl-D leaves.")
    while True:
        draft, chat.draft = chat.draft + chat.screen.take_typed(), ""
        try:
            text = (await session.prompt_async(MARK, handle_sigint=False, default=draft)).strip()
        except EOFError:
            return
        try:
            await run_input(chat, text)
        except LeaveChat:
            return


def _actions(chat: ChatSession) -> LineActions:
    return LineActions(
        attachments=lambda: chat.attachments,
        unfold=chat.screen.unfold,
        next_mode=lambda: edit_commands.next_mode(chat),
    )


def _toolbar(chat: ChatSession, hint: Hint) -> StyleAndTextTuples:
    if hint.text:
        return [("class:hint", hint.text)]
    return [("", status_line(chat.status, chat.screen.out.width))]


async def run_input(chat: ChatSession, text: str) -> bool:
    """Run one line of input: a command or a turn. Returns whether it finished."""
    if not text:
        return True
    is_person = chat.screen.is_interactive
    try:
        if text.startswith("/") and not (is_person and chat.names_file(text)):
            await run_command(chat, text)
        elif text.startswith("!") and is_person:
            return await run_shell(chat, text[1:].strip())
        else:
            is_done = await chat.say(await chat.content_of(text) if is_person else text)
            if chat.is_unsent:
                chat.draft = text
            else:
                chat.attachments.sent()
            return is_done
    except PlimsollError as error:
        chat.screen.note(str(error), BAD)
        if is_person and isinstance(error, UserError) and not text.startswith("/"):
            chat.draft = text  # nothing was sent: it can be corrected
        return False
    return True
