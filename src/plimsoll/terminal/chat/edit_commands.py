"""How edits to files are handled: `/edits` and Shift-Tab."""

from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.tools import EDIT_MODES, EditMode

ABOUT: dict[EditMode, str] = {
    "ask": "Edit mode ask: every change to a file is shown and asked about",
    "accept": "Edit mode accept: changes inside the project are made at once",
    "plan": "Edit mode plan: nothing is changed, and only read-only commands run",
}


async def edits(chat: ChatSession, argument: str) -> None:
    """Show or set how edits to files are handled."""
    if argument:
        wanted = next((mode for mode in EDIT_MODES if mode == argument.lower()), None)
        if wanted is None:
            raise UserError(f"{plain(argument)!r} is not ask, accept or plan: /edits [ask|accept|plan]")
        _use(chat, wanted)
    chat.screen.note(f"{ABOUT[chat.edits.mode]}.", "")


def next_mode(chat: ChatSession) -> str:
    """Switch to the next mode. Returns its description."""
    place = EDIT_MODES.index(chat.edits.mode)
    wanted = EDIT_MODES[(place + 1) % len(EDIT_MODES)]
    if chat.approve is None and wanted == "ask":
        wanted = "accept"
    _use(chat, wanted)
    return f"{ABOUT[chat.edits.mode]}."


def _use(chat: ChatSession, mode: EditMode) -> None:
    if mode == "ask" and chat.approve is None:
        raise UserError("There is no user to ask here; use /edits accept or /edits plan.")
    chat.edits.mode = mode
