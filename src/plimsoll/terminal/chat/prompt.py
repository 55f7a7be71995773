"""The terminal prompt, with completion and a status line.

    › fix the failing tests▌
    claude-sonnet-4.5 · 21K of 200K (11 %) · cache 83 % · $0.42

Ctrl-C clears the line, twice leaves; Ctrl-D leaves; Alt-Enter begins a new line.
"""

from collections.abc import Callable, Iterable, Mapping

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from plimsoll.errors import PlimsollError
from plimsoll.models import shipped_cards
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.terminal.chat.commands import ALL, LeaveChat, SlashCommand, available, run_command
from plimsoll.terminal.chat.screen import BAD
from plimsoll.terminal.chat.status_lines import status_line
from plimsoll.terminal.tables import plain
from plimsoll.tools import ApprovalAnswer, ApprovalQuestion

MARK = "› "
_STYLE = Style.from_dict({"bottom-toolbar": "noreverse fg:ansibrightblack", "completion-menu": "noreverse"})
_YES, _NO, _ALWAYS = ("y", "yes"), ("", "n", "no"), ("a", "always")


class CommandCompleter(Completer):
    """Completes commands, and model names after `/model`."""

    def __init__(self, commands: Callable[[], Mapping[str, SlashCommand]] = lambda: ALL) -> None:
        self._commands = commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        name, space, argument = text.partition(" ")
        if not space:
            for command in self._commands().values():
                for one in command.names:
                    if f"/{one}".startswith(name):
                        shown = command.usage if one == command.name else f"/{one}"
                        yield Completion(f"/{one}", -len(name), shown, display_meta=command.about)
        elif name == "/model":
            for card in shipped_cards():
                if argument and argument in card.name:
                    yield Completion(card.name, -len(argument))


async def converse(talk: ChatSession) -> None:
    """Run turns until the user leaves."""
    session: PromptSession[str] = PromptSession(
        history=InMemoryHistory(),
        completer=CommandCompleter(lambda: available(talk)),
        key_bindings=_keys(),
        bottom_toolbar=lambda: status_line(talk.status, talk.screen.out.width),
        style=_STYLE,
        erase_when_done=False,
        reserve_space_for_menu=4,
    )
    talk.screen.note("/help shows the commands; Ctrl-C stops an answer, Ctrl-D leaves.")
    is_leaving = False
    while True:
        try:
            text = (
                await session.prompt_async(MARK, handle_sigint=False, default=talk.screen.take_typed())
            ).strip()
        except KeyboardInterrupt:
            if is_leaving:
                return
            is_leaving = True
            talk.screen.note("Ctrl-C again leaves.")
            continue
        except EOFError:
            return
        is_leaving = False
        try:
            await take(talk, text)
        except LeaveChat:
            return


async def take(talk: ChatSession, text: str) -> bool:
    """Run one line of input: a command or a turn. Returns whether it finished."""
    if not text:
        return True
    if not text.startswith("/"):
        return await talk.say(text)
    try:
        await run_command(talk, text)
    except PlimsollError as error:
        talk.screen.note(str(error), BAD)
        return False
    return True


async def ask_person(question: ApprovalQuestion) -> ApprovalAnswer:
    """Whether a call may run; any answer other than yes, no or always is a refusal with a remark."""
    shown = ", ".join(f"{name}={_shown(name, value)}" for name, value in question.arguments.items())
    print(f"⚠ {plain(question.tool)}({shown}) {plain(question.reason)}.")
    always = f"a = always {plain(' and '.join(question.always))} in this project, " if question.always else ""
    session: PromptSession[str] = PromptSession()
    answer = (
        await session.prompt_async(f"  run it? [y/N, {always}or say why not] ", handle_sigint=False)
    ).strip()
    if answer.lower() in _YES:
        return ApprovalAnswer(True)
    if question.always and answer.lower() in _ALWAYS:
        return ApprovalAnswer(True, always=True)
    return ApprovalAnswer(False, "" if answer.lower() in _NO else answer)


def _shown(name: str, value: object) -> str:
    """Show a command completely: its length must not hide what needs approval."""
    return plain(str(value)) if name == "command" else _short(value)


def _short(value: object) -> str:
    text = " ".join(plain(str(value)).split())
    return text if len(text) <= 300 else f"{text[:300]}…"


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
