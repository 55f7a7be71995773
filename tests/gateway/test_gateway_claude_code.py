"""Claude Code itself, through the gateway: many steps with tools, taken up again, in a window it does not know of."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from gateway_server import RunningGateway, settings_for

from plimsoll.dialects import ChatRequest
from plimsoll.messages import text_of
from plimsoll.testing.prefix import prefix_parts
from plimsoll.testing.scripted_server import Answer, Captured, ScriptedServer, call, say

WINDOW = 120_000
STEPS = 16
MODEL = "claude-opus-5"
FOLDER = Path(__file__).parents[2] / ".local" / "peers" / "claude-code" / "node_modules" / "@anthropic-ai"
INSTALL = "npm install --prefix .local/peers/claude-code @anthropic-ai/claude-code"


def claude_code() -> str:
    """The program; skips loudly where it is not here."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed, so Claude Code cannot be tried")
    found = [*FOLDER.glob("claude-code-linux-*/claude"), *FOLDER.glob("claude-code/cli.js")]
    if not found and shutil.which("claude") is None:
        pytest.skip(f"Claude Code is not installed; `{INSTALL}` brings it")
    return str(found[0]) if found else str(shutil.which("claude"))


def counting(request: ChatRequest) -> Answer:
    """Goes from step to step by what the newest result says; what has no tools is a side question."""
    newest = [message for message in request.messages if message.get("role") != "system"][-1]
    names = [tool.get("function", tool).get("name") for tool in request.tools]
    if "Bash" not in names:
        return say("Counting")
    said = text_of(newest)
    if newest.get("role") == "tool":
        found = re.search(r"step (\d+)", said)
        assert found, said
        step = int(found[1])
        if step % STEPS == 0:
            return say(f"Done after {step}: {said.splitlines()[-1]}")
    else:
        step = int(re.findall(r"from (\d+)", said)[-1])
    command = f"echo step {step + 1}; seq {step}000 {step}900"
    return say(f"Step {step + 1}.") + call("Bash", command=command, description="Count")


def run(program: str, url: str, folder: Path) -> list[str]:
    """Three questions, each taking the conversation up again; the results."""
    home, work = folder / "home", folder / "work"
    home.mkdir(parents=True)
    work.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ANTHROPIC_API_KEY": "any",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }
    results = []
    for number in range(3):
        command = [program, "-p", f"Please count on from {number * STEPS}.", "--model", MODEL]
        command += ["--output-format", "json", "--allowedTools", "Bash", *(["--continue"] if number else [])]
        done = subprocess.run(
            command,
            env=environment,
            cwd=work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        results.append(str(json.loads(done.stdout)["result"]))
    return results


def breaks(requests: list[Captured]) -> list[int]:
    """The requests that do not extend the one before."""
    parts = [prefix_parts(seen.body or {}) for seen in requests]
    return [n for n in range(1, len(parts)) if parts[n][: len(parts[n - 1])] != parts[n - 1]]


@pytest.mark.slow
@pytest.mark.rewrites_history("compactions that keep the number of messages look like edits to the net")
def test_claude_code_counts_the_same_through_a_window_that_it_does_not_know(tmp_path: Path) -> None:
    program = claude_code()
    settings = {"model": {"context_length": WINDOW}, "compression": {"protect_last_n": 6}}
    with (
        ScriptedServer(counting, model=MODEL, window=WINDOW) as server,
        RunningGateway(settings_for(server, **settings), tmp_path / "plimsoll") as gateway,
    ):
        through = run(program, gateway.url, tmp_path / "through")
    with ScriptedServer(counting, model=MODEL) as direct:
        assert run(program, direct.url, tmp_path / "direct") == through
    assert [seen.refusal for seen in server.requests if seen.refusal] == []
    main = [seen for seen in server.requests if seen.body and seen.body.get("tools")]
    assert len(main) == 3 * (STEPS + 1)
    usages = [seen.usage for seen in main if seen.usage]
    assert max(usage.prompt_tokens for usage in usages) <= WINDOW
    changed = breaks(main)
    assert changed, "nothing was compacted"
    assert len(changed) <= 6
    for place in changed:
        later = usages[place : place + 3]
        assert any((usage.cache_read_tokens or 0) > 0.8 * usage.prompt_tokens for usage in later), place
    for seen in main:
        body = seen.body or {}
        assert {"thinking", "context_management", "output_config", "metadata"} <= body.keys()
        assert len(body["system"]) in (3, 4)
        assert sum("cache_control" in block for block in body["system"]) == 2
