"""How edits to files are handled: `/edits` and Shift-Tab."""

from plimsoll.errors import UserError
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.terminal.tables import plain
from plimsoll.tools import EDIT_MODES, EditMode

ABOUT: dict[EditMode, str] = {
    "ask": "ask: every change to a file is shown and asked about",
    "accept": "accept: changes inside the project are made at once",
    "plan": "plan: nothing is changed, and only read-only commands run",
}


async def edits(talk: ChatSession, argument: str) -> None:
    """Show or set how edits to files are handled."""
    if argument:
        wanted = next((mode for mode in EDIT_MODES if mode == argument.lower()), None)
        if wanted is None:
            raise UserError(f"{plain(argument)!r} is not ask, accept or plan: /edits [ask|accept|plan]")
        _use(talk, wanted)
    talk.screen.note(f"Edits: {ABOUT[talk.edits.mode]}.", "")


def next_mode(talk: ChatSession) -> str:
    """Switch to the next mode. Returns its description."""
    place = EDIT_MODES.index(talk.edits.mode)
    wanted = EDIT_MODES[(place + 1) % len(EDIT_MODES)]
    if talk.approve is None and wanted == "ask":
        wanted = "accept"
    _use(talk, wanted)
    return f"Edits: {ABOUT[talk.edits.mode]}."


def _use(talk: ChatSession, mode: EditMode) -> None:
    if mode == "ask" and talk.approve is None:
        raise UserError("There is no user to ask here; use /edits accept or /edits plan.")
    talk.edits.mode = mode
