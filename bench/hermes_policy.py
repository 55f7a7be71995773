"""hermes-agent 0.19 over whole sessions, really run: where it compacts, what it leaves, what its summaries read.

    PYTHONPATH=src .local/peers/hermes/bin/python bench/hermes_policy.py

    prompt ─► its own should_compress() ─► its own compress(), a scripted summary as long as it asks for ─► sizes

Its settings are its defaults, and the window decides the rest: it raises its threshold of 50 % to 75 % below 512K,
and to 85 % at 64K. No words are kept, only sizes, in `bench/results/hermes_policy.json`; `bench/money.py` bills them.
"""

import json
import logging
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import agent.context_compressor as hermes

from plimsoll.models import estimate_message_tokens, estimate_tokens

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "shared" / "data"
FILES = ("dev_claudecode_entire", "dev_tau_airline", "dev_trail_research")
WINDOWS = (64_000, 200_000)
LINE = "The work goes on as it was planned, and this line of the summary says so again. "
ASKED = re.compile(r"~\s?([\d,]+) tokens")
Message = dict[str, Any]


class Script:
    """Stands where hermes-agent asks a model; says as much as it was asked to say."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def __call__(self, **call: Any) -> SimpleNamespace:
        prompt = call["messages"][0]["content"]
        said = int(ASKED.findall(prompt)[-1].replace(",", ""))
        text = "## Goal\n" + LINE * (said // estimate_tokens(LINE))
        self.calls.append((estimate_tokens(prompt), estimate_tokens(text)))
        message = SimpleNamespace(content=text, tool_calls=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")])


def played(messages: list[Message], window: int) -> list[dict[str, int]]:
    """Every compaction of one session: before which message, what is left, what stays as it was, what it read."""
    script = Script()
    hermes.call_llm = script
    engine = hermes.ContextCompressor(model="unknown", quiet_mode=True, config_context_length=window)
    view: list[Message] = []
    found = []
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            tokens = weight(view)
            if engine.should_compress(tokens) or tokens >= window:
                script.calls.clear()
                lighter = compacted(engine, view, tokens)
                same = next((n for n, (a, b) in enumerate(zip(view, lighter, strict=False)) if a != b), None)
                if same is not None:
                    found.append(
                        {
                            "at": at,
                            "before": tokens,
                            "left": weight(lighter),
                            "same": weight(view[:same]),
                            "read": sum(read for read, _ in script.calls),
                            "said": sum(said for _, said in script.calls),
                        }
                    )
                view = lighter
            engine.update_from_response({"prompt_tokens": weight(view), "completion_tokens": 0})
        view.append(message)
    return found


def compacted(engine: Any, view: list[Message], tokens: int) -> list[Message]:
    """Its own pass; a conversation of one message that is too large for it stays as it is."""
    try:
        lighter = engine.compress(
            [dict(one) for one in view], current_tokens=tokens, force=tokens >= engine.context_length
        )
    except IndexError:  # its boundary lies behind the end
        return view
    engine.record_completed_compaction()
    return [_plain(one) for one in lighter]


def weight(messages: list[Message]) -> int:
    """Tokens, counted as Plimsoll counts its own."""
    return sum(map(estimate_message_tokens, messages))


def _plain(message: Message) -> Message:
    return {key: value for key, value in message.items() if not key.startswith("_")}


def main() -> int:
    """Run, write, say the means."""
    logging.disable(logging.CRITICAL)
    result: dict[str, Any] = {}
    for window in WINDOWS:
        engine = hermes.ContextCompressor(model="unknown", quiet_mode=True, config_context_length=window)
        most = f"tail budget {engine.tail_token_budget:,}, summary at most {engine.max_summary_tokens:,}"
        print(f"{window:,}: due at {engine.threshold_tokens:,}, {most}")
        for name in FILES:
            with (DATA / f"{name}.jsonl").open(encoding="utf-8") as lines:
                every = [played(json.loads(line)["messages"], window) for line in lines]
            result.setdefault(name, {})[str(window)] = every
            flat = [one for each in every for one in each]
            if flat:
                means = {key: round(sum(one[key] for one in flat) / len(flat)) for key in flat[0]}
                print(
                    f"  {name}: {len(flat)} compactions in {len(every)} sessions, means {means}", flush=True
                )
            else:
                print(f"  {name}: none")
    (HERE / "results" / "hermes_policy.json").write_text(json.dumps(result, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
