"""An archive that does not answer tells nobody outside where it is."""

from pathlib import Path

from clients import http
from gateway_keys import answering
from gateway_server import RunningGateway, settings_for


def test_a_damaged_archive_is_told_without_its_path(tmp_path: Path) -> None:
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        url = f"{gateway.url}/sessions"
        id = http().post(url, json={}).json()["id"]
        for file in tmp_path.glob("archive.db*"):
            file.write_bytes(b"\xff" * file.stat().st_size)
        answers = [
            http().get(f"{url}/{id}/messages"),
            http().get(f"{gateway.url}/search", params={"text": "hello"}),
            http().post(url, json={}),
            http().post(f"{url}/{id}/messages", json={"content": "hello"}),
            http().post(f"{url}/{id}/messages", json={"content": "hello", "stream": True}),
            http().get(f"{gateway.url}/readyz"),
        ]
    assert [one.status_code for one in answers] == [503] * len(answers)
    for one in answers:
        assert str(tmp_path) not in one.text
        assert "archive.db" not in one.text
        assert "sqlite" not in one.text.lower()
    assert answers[0].json()["detail"] == (
        "The archive does not answer. Try again in a moment; the gateway's log states the reason."
    )
