"""Asks the user whether a call may run; shows a change to a file as a diff first.

⚠ patch changes app.py.
  -port = 8080
  +port = 9090
  make this change? [y/N, a = accept all edits from now on, or say why not]
"""

from prompt_toolkit import PromptSession
from rich.console import Console
from rich.text import Text

from plimsoll.messages.printable import plain, spelled_out
from plimsoll.terminal.chat.folded_outputs import diff_lines, is_diff
from plimsoll.tools import ApprovalAnswer, ApprovalQuestion
from plimsoll.transcripts import counted

_YES, _NO, _ALWAYS, _VIEW = ("y", "yes"), ("", "n", "no"), ("a", "always"), ("v", "view")
_AROUND = 8  # rows of the terminal that a diff leaves free


async def ask_person(question: ApprovalQuestion) -> ApprovalAnswer:
    """Whether a call may run; any answer other than yes, no or always is a refusal with a remark."""
    console = Console(highlight=False)
    hidden = _show(question, console)
    prompt = _prompt(question, hidden)
    while True:
        # A separate session: the answers do not belong in the chat's history.
        session: PromptSession[str] = PromptSession()
        answer = (await session.prompt_async(prompt, handle_sigint=False)).strip()
        if answer.lower() in _VIEW and hidden:
            _print_diff(question.preview, console, None)
        elif not _is_key(answer, question):
            break
    if answer.lower() in _YES:
        return ApprovalAnswer(True)
    if question.always and answer.lower() in _ALWAYS:
        return ApprovalAnswer(True, always=True)
    return ApprovalAnswer(False, "" if answer.lower() in _NO else answer)


def _is_key(answer: str, question: ApprovalQuestion) -> bool:
    """Whether the answer is a key that other questions offer; it is no reason for a refusal, so ask again."""
    return answer.lower() in (*_VIEW, *(() if question.always else _ALWAYS))


def _show(question: ApprovalQuestion, console: Console) -> int:
    """Show the call. Returns the number of lines that did not fit on the screen."""
    if question.preview:
        console.print(Text(f"⚠ {plain(question.tool)} {plain(question.reason)}.", "yellow"))
        return _print_diff(question.preview, console, max(10, console.height - _AROUND))
    shown = ", ".join(f"{name}={_shown(name, value)}" for name, value in question.arguments.items())
    # Printed as it is: a console would expand tabs and drop spaces where it breaks lines.
    print(f"⚠ {plain(question.tool)}({shown}) {plain(question.reason)}.")
    return 0


def _prompt(question: ApprovalQuestion, hidden: int) -> str:
    if not question.preview:
        always = f"a = always {plain(' and '.join(question.always))} in this project, "
        return f"  run it? [y/N, {always if question.always else ''}or say why not] "
    view = f"v = view {counted(hidden, 'more line', 'more lines')}, " if hidden else ""
    always = "a = accept all edits from now on, " if question.always else ""
    return f"  make this change? [y/N, {view}{always}or say why not] "


def _print_diff(diff: str, console: Console, most: int | None) -> int:
    lines = diff_lines(diff) if is_diff(diff) else [(line, "") for line in spelled_out(diff).split("\n")]
    for line, style in lines[:most]:
        console.print(Text(f"  {line}", style), soft_wrap=True)
    return max(0, len(lines) - most) if most is not None else 0


def _shown(name: str, value: object) -> str:
    """Show a command completely: its length must not hide what needs approval."""
    return spelled_out(str(value)) if name == "command" else _short(value)


def _short(value: object) -> str:
    text = " ".join(spelled_out(str(value)).split())
    return text if len(text) <= 300 else f"{text[:300]}…"
