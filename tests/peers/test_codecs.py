"""Codecs in their hosts: what a compaction leaves out of a message is not sent, and what a host stores comes back."""

from pathlib import Path

import pytest
from cases import DRIVERS, PEERS
from processes import run_client

KEPT = ["image_url", "image_url"]  # of three
IMAGES = {
    "agent-framework": ["See these.", "[image removed]", *KEPT],
    "pydantic-ai": ["See these.", "image_url", "[image removed]", "image_url"],
    "llama-index": ["See these.\n[image removed]", *KEPT],
    "inspect-ai": [],
    "openhands": [],
    "langchain": [],
}


@pytest.mark.parametrize("host", list(IMAGES))
def test_thinking_and_images_that_a_compaction_left_out_are_not_sent(host: str, tmp_path: Path) -> None:
    peer = PEERS[f"adapter-{host}"]
    assert peer.is_installed, f"{peer.name} is not installed; run `make peers`"
    command = [str(peer.python), str(DRIVERS / "codec_thinking.py")]
    found = run_client(command, {"host": host}, tmp_path / "host", {})
    # The model binds thinking to what was before it: only what it thought after the compaction is left.
    assert found["bound"] == []
    assert found["bound_later"] == ["signed30"]
    # Other models accept it.
    assert found["free"][-3:] == ["signed27", "signed28", "signed29"]
    assert found["free_later"] == [*found["free"], "signed30"]
    assert found["images"] == IMAGES[host]


def test_a_memory_of_llama_index_comes_back_from_a_stored_context_with_its_conversation(
    tmp_path: Path,
) -> None:
    peer = PEERS["adapter-llama-index"]
    assert peer.is_installed, f"{peer.name} is not installed; run `make peers`"
    command = [str(peer.python), str(DRIVERS / "llama_index_memory.py")]
    found = run_client(command, {}, tmp_path / "host", {})
    same = dict.fromkeys(("messages", "view", "schemas", "options"), True)
    whole = {
        "type": "PlimsollMemory",
        "same": same,
        "messages": 3,
        "system": "You know ships.",
        "owner": "key:seven",
    }
    assert found == {"json": whole, "pickle": whole, "stored_password": False}


def test_sessions_of_google_adk_with_the_same_id_are_one_conversation_only_for_one_user_of_one_app(
    tmp_path: Path,
) -> None:
    peer = PEERS["adapter-google-adk"]
    assert peer.is_installed, f"{peer.name} is not installed; run `make peers`"
    command = [str(peer.python), str(DRIVERS / "google_adk_users.py")]
    # The first request with the same conversation as each of four: another user, another app, the first user again.
    assert run_client(command, {}, tmp_path / "host", {}) == [0, 1, 2, 0]


def test_a_tool_that_a_code_agent_of_smolagents_calls_says_that_it_does_nothing(tmp_path: Path) -> None:
    peer = PEERS["adapter-smolagents"]
    assert peer.is_installed, f"{peer.name} is not installed; run `make peers`"
    command = [str(peer.python), str(DRIVERS / "smolagents_code_agent.py")]
    said = run_client(command, {}, tmp_path / "host", {})
    assert said == "compact_context does nothing here: it works in a ToolCallingAgent, not in code."
