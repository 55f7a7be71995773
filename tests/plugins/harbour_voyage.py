"""Runs in a process of its own: a conversation with the harbour plugin, through so many compactions.

python harbour_voyage.py HOME COMPACTIONS ──► what happened, as JSON
"""

import importlib
import json
import sys
from pathlib import Path

from plimsoll.context.gate import refusal
from plimsoll.messages import validate
from plimsoll.models import estimate_messages_tokens_rough as weigh
from plimsoll.plugins import EngineContext, PluginLocations, resolve_plugins
from plimsoll.settings.context import CompressionSettings


class Settings:
    compression = CompressionSettings()


class Writer:
    """A summary model that repeats the first words of what it is asked."""

    context_length = 8_000
    asked: list[str] = []  # noqa: RUF012

    def summarize(self, prompt, max_tokens):
        self.asked.append(prompt)
        return f"Piece {len(self.asked)}: {prompt[10:60]}"


def turn(number):
    """A request with parts, a call, its result, an answer."""
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    parts = [
        {"type": "text", "text": f"Request {number}: look at berth {number}."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ]
    return [
        {"role": "user", "content": parts if number % 3 == 0 else parts[0]["text"]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": f"berth {number} holds cargo-{number}. " * 40,
        },
        {"role": "assistant", "content": f"Berth {number} is done."},
    ]


def voyage(home, compactions):
    writer = Writer()
    context = EngineContext(Settings(), 12_000, home, "gpt-5", writer, None, "voyage")
    resolved = resolve_plugins("harbour_log", PluginLocations(home, home / "nowhere"), context)
    engine, kept_file = resolved.engine, home / "view.json"
    engine.on_session_start("voyage", context_length=engine.context_length)
    view = (
        json.loads(kept_file.read_text())
        if kept_file.exists()
        else [{"role": "system", "content": "Keep watch."}]
    )
    number = sum(m["role"] == "user" for m in view) + (1_000 if kept_file.exists() else 0)
    faults, done = [], 0
    while done < compactions:
        view += turn(number)
        number += 1
        engine.update_from_response({"prompt_tokens": weigh(view), "completion_tokens": 1, "total_tokens": 1})
        if not engine.should_compress(weigh(view)):
            continue
        before = json.dumps(view)
        lighter = engine.compress(view, current_tokens=weigh(view), focus_topic=None, force=True)
        if json.dumps(view) != before:
            faults.append("the host's list was changed")
        faults += [str(one) for one in validate(lighter)]
        faults += [why for why in [refusal(view, weigh(view), lighter)] if why]
        faults += [
            f"not the host's own: {m['content']}" for m in lighter[2:] if not any(m is own for own in view)
        ]
        view = lighter
        done += 1
    kept_file.write_text(json.dumps(view))
    return resolved, engine, view, faults, writer


def main():
    home = Path(sys.argv[1])
    resolved, engine, view, faults, writer = voyage(home, int(sys.argv[2]))
    tools = [schema["function"]["name"] for schema in engine.get_tool_schemas()]
    ask = {
        "harbour_grep": {"text": "cargo-0."},
        "harbour_describe": {"summary": 1},
        "harbour_expand": {"summary": 1},
        "harbour_recent": {"count": 2},
        "harbour_status": {},
        "harbour_doctor": {},
    }
    answers = {name: json.loads(engine.handle_tool_call(name, ask[name], messages=view)) for name in tools}
    outside = {}
    for name in ("agent", "agent.context_engine", "hermes_cli", "hermes_constants"):
        try:
            importlib.import_module(name)
            outside[name] = "found"
        except ModuleNotFoundError:
            outside[name] = "missing"
    told = {
        "engine": engine.name, "problems": resolved.problems, "faults": faults, "asked": len(writer.asked),
        "heard": engine.inner.heard, "answers": answers, "outside": outside, "prompt": writer.asked[0],
        "in_sys_modules": [name for name in sys.modules if name.split(".")[0] in ("agent", "hermes_cli")],
        "command": resolved.commands[0].run(""), "counted": engine.last_prompt_tokens,
    }  # fmt: skip
    print(json.dumps(told))


if __name__ == "__main__":
    main()
