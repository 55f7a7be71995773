"""`plimsoll chat` and `plimsoll sessions` with the archive on a server, chosen by the setting alone."""

import os
from pathlib import Path

from postgres_server import server

from plimsoll.testing.scripted_server import ScriptedServer, say
from preloaded import run_plimsoll


def test_a_conversation_on_a_server_is_created_listed_found_and_continued(tmp_path: Path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PLIMSOLL_")}
    environment = {
        **kept,
        "PLIMSOLL_HOME": str(tmp_path),
        "PLIMSOLL_ARCHIVE__URL": server().url_for(tmp_path),
    }

    def plimsoll(*arguments: str) -> str:
        done = run_plimsoll(*arguments, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with ScriptedServer([say("A heron."), say("A gull.")]) as model:
        config = f"model:\n  name: gpt-5\n  base_url: {model.openai_url}\n"
        (tmp_path / "config.yaml").write_text(config, "utf-8")
        assert "A heron." in plimsoll("chat", "-q", "Which bird fishes?")
        assert "A gull." in plimsoll("chat", "--continue", "-q", "And which one steals?")
        second = model.requests[-1].body["messages"]
    assert "A heron." in [message["content"] for message in second]
    assert "Which bird fishes?" in plimsoll("sessions", "list")
    assert "heron" in plimsoll("sessions", "search", "heron")
    assert not (tmp_path / "archive.db").exists()
