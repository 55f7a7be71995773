"""Three short conversations made by code, the same every time, with every shape that a reader can meet.

    coding     requests, tool rounds, two calls at once, an injected (`meta`) message, null content
    support    a person and an assistant, many short turns, few tools
    research   one request and a long run of tool calls

Each ends with a request of the user that no compaction may lose.
"""

import json
import random
from typing import Any

Message = dict[str, Any]
NEWEST = "Now rename the flag --dry-run to --preview everywhere, and keep exit code 3 for conflicts."


def conversations() -> dict[str, list[Message]]:
    """Name and messages of each."""
    return {"coding": coding(), "support": support(), "research": research()}


def coding(rounds: int = 30) -> list[Message]:
    """A coding session with tool rounds."""
    chance = random.Random(7)
    messages = [
        _said("system", "You are a careful coding agent. Run the tests after every change."),
        _said("user", "Fix the parser in src/parse.py. Never touch src/legacy.py. Ticket PLM-4821."),
    ]
    for number in range(rounds):
        if number % 5 == 4:
            messages.append(_said("assistant", f"Step {number} is done; {number} of {rounds} tests pass."))
            messages.append(
                _said("user", f"Good. Next look at case {number}: port 80{number:02} answers 502.")
            )
        path = f"src/module_{number}.py"
        calls = [_call(f"call_{number}_a", "read_file", {"path": path})]
        if number % 3 == 0:
            calls.append(_call(f"call_{number}_b", "terminal", {"command": f"pytest -k case_{number} -x"}))
        text = f"Reading {path} – Größe prüfen." if number % 2 else None
        messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        for call in calls:
            messages.append(_result(call, f"{path}: exit code {number % 2}\n" + _lines(chance)))
    messages.insert(
        9, {"role": "user", "name": "meta", "content": "<reminder>The branch is fix/parser.</reminder>"}
    )
    return [*messages, _said("assistant", "All cases are done."), _said("user", NEWEST)]


def support(turns: int = 60) -> list[Message]:
    """A talk without many tools; the user sometimes writes twice."""
    messages = [_said("system", "You help airline customers. Never refund basic fares.")]
    for number in range(turns):
        messages.append(
            _said(
                "user", f"About booking K{number:03}ZQ: can seat {number}A be changed? " + "I fly soon. " * 20
            )
        )
        if number % 7 == 0:
            messages.append(_said("user", "And please be quick."))
        if number % 4 == 0:
            call = _call(f"call_{number}", "get_booking", {"code": f"K{number:03}ZQ", "öffentlich": True})
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            messages.append(_result(call, json.dumps({"code": f"K{number:03}ZQ", "fee_usd": 25 + number})))
        messages.append(
            _said("assistant", f"Seat {number}A is free; the fee is {25 + number} USD. " + "Yes. " * 40)
        )
    return [*messages, _said("user", NEWEST)]


def research(steps: int = 40) -> list[Message]:
    """One request, many calls."""
    chance = random.Random(11)
    messages = [
        _said("system", "You research on the web and quote sources."),
        _said("user", "Which year did the bridge at Kilometre 17 open? Quote the source."),
    ]
    for number in range(steps):
        call = _call(
            f"call_{number}", "visit_page", {"url": f"https://site.example/page/{number}", "depth": 2}
        )
        messages.append({"role": "assistant", "content": f"Page {number} next.", "tool_calls": [call]})
        messages.append(_result(call, f"Page {number}: opened in {1900 + number}.\n" + _lines(chance)))
    return [*messages, _said("assistant", "It opened in 1931."), _said("user", NEWEST)]


def _said(role: str, text: str) -> Message:
    return {"role": role, "content": text}


def _call(identity: str, name: str, arguments: dict[str, Any]) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": identity, "type": "function", "function": function}


def _result(call: Message, text: str) -> Message:
    identity = {"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"]}
    return {**identity, "content": text}


def _lines(chance: random.Random) -> str:
    return "a line of output with words, 123 and path/to/file.py\n" * chance.randint(4, 40)
