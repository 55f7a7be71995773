"""The model behind the clients: it looks up every ship that it is asked about, with the tool that the client has.

    user       ship7: where does it lie? …
    assistant  a call of the client's tool
    tool       ship7 lies at pier 12. …
    assistant  ship7 lies at pier 12.

What it says depends only on the newest part of a request: a request that lost that part gets another answer.
"""

import json
import re
from collections.abc import Sequence

from plimsoll.dialects import ChatRequest, Reply
from plimsoll.messages import Message, text_of
from plimsoll.testing.scripted_server import ScriptedAnswer, say

TURNS = 40
FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. "
QUESTIONS = [f"ship{number}: where does it lie? {FILLER * 3}".strip() for number in range(TURNS)]
# Gemini CLI 0.61 may lose what a command writes just before it ends.
_ENDINGS = {"run_shell_command": "; sleep 0.5"}
_DESCRIBED = {"description": "Look up a ship"}
# The shells of the clients: what each calls its command, and what else it wants.
_SHELLS: dict[str, tuple[str, dict[str, str]]] = {
    "Bash": ("command", _DESCRIBED),
    "bash": ("command", _DESCRIBED),
    "exec_command": ("cmd", {}),
    "run_shell_command": ("command", _DESCRIBED),
}


def newest_part(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Role and text of each message after the assistant's last one: what the client wants answered."""
    last = max((n for n, message in enumerate(messages) if message.get("role") == "assistant"), default=-1)
    newest = [message for message in messages[last + 1 :] if message.get("role") != "system"]
    return [(str(message.get("role")), text_of(message)) for message in newest]


def called(ship: str, name: str, said: str | None = None, /, **arguments: str) -> Reply:
    """A tool call with an id that is the same in every run, so that a second run repeats the first to the byte."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    tool_call = {"id": f"call_{ship}_{name}", "type": "function", "function": function}
    return Reply({"role": "assistant", "content": said, "tool_calls": [tool_call]}, "tool_calls")


def answer(request: ChatRequest) -> ScriptedAnswer | Reply:
    """The next step of a turn."""
    said = "\n".join(text for _, text in newest_part(request.messages))
    names = [str(tool.get("function", tool).get("name")) for tool in request.tools]
    found = list(re.finditer(r"(ship\d+)(?: lies at pier (\d+)\.|: where does it lie)", said))
    if not found:
        return say("Ships")  # a side request, such as one for a title
    ship, pier = found[-1].groups()
    if pier:
        report = f"{ship} lies at pier {pier}."
        return called(ship, "final_answer", answer=report) if "final_answer" in names else say(report)
    if "lookup" in names:
        return called(ship, "lookup", f"Let me see {ship}.", key=ship)
    if shell := next((name for name in _SHELLS if name in names), None):
        number = int(ship.removeprefix("ship"))
        command = (
            f"echo {ship} lies at pier {number + 3}.; seq {number}000 {number}900{_ENDINGS.get(shell, '')}"
        )
        name, others = _SHELLS[shell]
        return called(ship, shell, f"Let me see {ship}.", **{name: command}, **others)
    return say(f"{ship} lies somewhere. {FILLER * 12}".strip())


def answer_with_tools(request: ChatRequest) -> ScriptedAnswer | Reply:
    """The same; it also uses the tools of an adapter, where it is asked to."""
    said = "\n".join(text for _, text in newest_part(request.messages))
    names = [str(tool.get("function", tool).get("name")) for tool in request.tools]
    if '"matches"' in said:
        found = re.findall(r"ship[0-9]+ lies at pier [0-9]+", said)
        return _report(f"Recalled: {', '.join(found)}", names)
    if asked := re.search(r"Recall (ship\d+)", said):
        return called(asked[1], "recall", query=f"{asked[1]} lies at pier")
    if asked := re.search(r"Compact after (ship\d+)", said):
        return called(asked[1], "compact_context", focus="the piers")
    if "The earlier conversation is compacted" in said:
        return _report("Compacted.", names)
    if "lie" not in said:
        return _report(f"Not recalled: {said[:500]}", names)
    return answer(request)


def _report(text: str, names: Sequence[str]) -> ScriptedAnswer | Reply:
    """The end of a turn; some agents end it with a tool."""
    return called(text.split()[0], "final_answer", answer=text) if "final_answer" in names else say(text)


SHIPS = 16  # that one long question is about


def long_questions(count: int) -> list[str]:
    """Questions that take SHIPS tool turns each."""
    return [f"Look up the ships from ship{number * SHIPS} on." for number in range(count)]


def long_answers(count: int) -> list[str]:
    """What the client should get for them."""
    return [f"The last of them, ship{(n + 1) * SHIPS - 1}, was looked up." for n in range(count)]


def looked_up(number: int) -> str:
    """The result of a lookup, as drivers return it."""
    return f"ship{number} lies at pier {number + 3}. {FILLER * 12}"


def look_up_each(request: ChatRequest) -> ScriptedAnswer | Reply:
    """One ship after the other; then the tools of an adapter, where it is asked to use them."""
    said = "\n".join(text for _, text in newest_part(request.messages))
    if asked := re.search(r"from ship(\d+) on", said):
        return called(f"ship{asked[1]}", "lookup", key=f"ship{asked[1]}")
    if asked := re.search(r"Recall (ship\d+)", said):
        return called(asked[1], "recall", query=f"{asked[1]} lies at pier")
    if "Compact now" in said:
        return called("now", "compact_context", focus="the piers")
    if "matches" in said:
        return say("Recalled." if "ship17 lies at pier" in said else f"Not recalled: {said[:500]}")
    found = re.search(r"ship(\d+) lies at pier", said)
    if not found:
        return say("Compacted.")
    following = int(found[1]) + 1
    if following % SHIPS == 0:
        return say(f"The last of them, ship{found[1]}, was looked up.")
    return called(f"ship{following}", "lookup", key=f"ship{following}")
