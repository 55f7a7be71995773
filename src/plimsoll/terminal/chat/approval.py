"""Asks the person at the terminal whether a call may run."""

from prompt_toolkit import PromptSession

from plimsoll.terminal.tables import plain
from plimsoll.tools import ApprovalAnswer, ApprovalQuestion

_YES, _NO, _ALWAYS = ("y", "yes"), ("", "n", "no"), ("a", "always")


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
