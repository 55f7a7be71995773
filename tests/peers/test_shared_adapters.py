"""One adapter object for several conversations at once, and how it behaves when a provider refuses a prompt."""

from pathlib import Path
from typing import Any

from cases import DRIVERS, PEERS
from processes import run_client


def result_of(host: str, driver: str, folder: Path) -> Any:
    """What a driver found in its host."""
    peer = PEERS[f"adapter-{host}"]
    assert peer.is_installed, f"{peer.name} is not installed; run `make peers`"
    return run_client([str(peer.python), str(DRIVERS / driver)], {}, folder, {})


def test_an_overflow_of_one_strands_agent_does_not_affect_another_or_its_own_next_invocation(
    tmp_path: Path,
) -> None:
    found = result_of("strands", "strands_overflow.py", tmp_path / "host")
    first, second = found["sizes"]
    assert found["ended"] == ["No room.", "Yes.", "Yes.", "Yes."]
    # Refused, compacted and refused again; then refused once and compacted.
    assert first[6:] == [13, *sorted(first[7:9]), first[9]]
    assert max(first[7:]) < 13
    # The other agent compacts only when its own conversation is due.
    assert second[:6] == [1, 3, 5, 7, 9, 11]
    assert len(second) == 8


def test_a_streamed_reply_of_smolagents_is_requested_again_after_an_overflow(tmp_path: Path) -> None:
    found = result_of("smolagents", "smolagents_stream.py", tmp_path / "host")
    assert found["said"] == "Pier seven."
    refused, sent = found["sizes"]
    assert sent < refused == 21


def test_conversations_of_openhands_that_share_a_model_get_their_own_token_counts(tmp_path: Path) -> None:
    assert result_of("openhands", "openhands_usage.py", tmp_path / "host") == [None, None, 100, 200]
