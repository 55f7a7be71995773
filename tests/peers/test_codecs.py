"""Codecs in their hosts: what a compaction leaves out of a message is not sent, and the rest is the host's own."""

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
