"""The TypeScript of docs/typescript.md: compiled with strict types, and run with node inside the Vercel AI SDK."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from cases import DRIVERS, PEERS
from observed import breaks, cached_share, cold
from peer_list import ROOT
from processes import run_client, running_gateway
from script import FILLER, SHIPS, long_answers, long_questions, look_up_each, looked_up

from plimsoll.messages import text_of, validate
from plimsoll.testing.scripted_server import ScriptedServer

PAGE = ROOT / "docs" / "typescript.md"
WINDOW, QUESTIONS = 10_000, 4


def compiled(folder: Path) -> Path:
    """The page's module as JavaScript; every mistake in its types is an error."""
    peer = PEERS["vercel-ai"]
    folder.mkdir()
    (folder / "node_modules").symlink_to(peer.folder / "node_modules")
    (folder / "package.json").write_text('{"type": "module"}', "utf-8")
    block = re.search(r"^```ts compaction\.ts\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert block
    (folder / "compaction.ts").write_text(block[1], "utf-8")
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck"]
    command = [str(peer.program("tsc")), *options, "compaction.ts"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return folder / "compaction.js"


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Instead of the suite's check: the test below counts the requests that do not, which are compactions."""
    return


def test_a_vercel_agent_compacts_through_the_endpoint_and_keeps_its_whole_history(tmp_path: Path) -> None:
    assert PEERS["vercel-ai"].is_installed, "vercel-ai is not installed; run `make peers`"
    settings = {"COMPRESSION__PROTECT_LAST_N": "4", "MODEL__BASE_URL": "http://127.0.0.1:9/v1"}
    with (
        ScriptedServer(look_up_each, model="gpt-4.1", window=WINDOW) as server,
        running_gateway(tmp_path / "plimsoll", settings) as gateway,
    ):
        task = {
            "url": server.url,
            "gateway": gateway.url,
            "model": "gpt-4.1",
            "window": WINDOW,
            "filler": FILLER * 12,
            "compiled": str(compiled(tmp_path / "module")),
            "questions": long_questions(QUESTIONS),
        }
        driver = ["node", str(DRIVERS / "vercel_prepare_step.mjs")]
        environment = {"PEER_FOLDER": str(PEERS["vercel-ai"].folder)}
        done = run_client(driver, task, tmp_path / "client", environment)
        compactions = gateway.compactions()
    assert done["answers"] == long_answers(QUESTIONS)
    # The history has every question, call, result and answer; what the provider saw was shorter.
    assert len(done["messages"]) == QUESTIONS * (2 * SHIPS + 2)
    history = json.dumps(done["messages"])
    assert [n for n in range(QUESTIONS * SHIPS) if looked_up(n) not in history] == []
    assert [(seen.status, seen.refusal) for seen in server.requests if seen.status != 200] == []
    assert len(server.requests) == QUESTIONS * (SHIPS + 1)
    assert compactions >= 3
    assert len(breaks(server.requests)) == compactions
    assert cold(server.requests) == []
    assert cached_share(server.requests) > 0.5
    last = server.requests[-1].request
    assert last
    assert validate(list(last.messages), "openai") == []
    assert sum("CONTEXT COMPACTION" in text_of(one) for one in last.messages) == 1
