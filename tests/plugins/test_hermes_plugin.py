"""A plugin written for Hermes Agent works unmodified: database, tools, threads, ten compactions, a restart."""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def sailed(home, compactions):
    """The voyage in a process of its own, so that nothing of the tests is on its path."""
    script = shutil.copy(HERE / "harbour_voyage.py", home)
    done = subprocess.run(
        [sys.executable, script, home, str(compactions)], capture_output=True, text=True, cwd=home
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def installed(place):
    """The plugin copied into place as it is."""
    target = place.home / "plugins" / "context_engine" / "harbour_log"
    shutil.copytree(HERE / "harbour_log", target)
    return place


def test_ten_compactions_and_a_restart(installed):
    first = sailed(installed.home, 10)
    assert first["problems"] == []
    assert first["faults"] == []
    assert first["asked"] == 10
    assert first["answers"]["harbour_status"]["summaries"] == 10
    again = sailed(installed.home, 3)
    assert again["faults"] == []
    assert again["answers"]["harbour_status"]["summaries"] == 13
    assert again["answers"]["harbour_grep"]["found"]  # said in the first process, found in the second
    assert again["answers"]["harbour_doctor"] == {"log": "ok"}
    with sqlite3.connect(installed.home / "harbour.db") as log:
        counts = log.execute("select count(*), count(distinct fingerprint) from messages").fetchone()
    log.close()
    assert counts[0] == counts[1]  # nothing was taken in twice


def test_all_six_tools_answer_with_the_live_messages(installed):
    answers = sailed(installed.home, 2)["answers"]
    assert sorted(answers) == [
        "harbour_describe", "harbour_doctor", "harbour_expand", "harbour_grep", "harbour_recent", "harbour_status",
    ]  # fmt: skip
    assert answers["harbour_expand"]["messages"]
    assert answers["harbour_status"]["live"] > 0
    assert all(isinstance(text, str) for text in answers["harbour_recent"]["messages"])


def test_it_hears_what_hermes_would_tell_it(installed):
    told = sailed(installed.home, 1)
    assert told["heard"] == {
        "platform": "cli",
        "hermes_home": str(installed.home),
        "context_length": 12_000,
        "conversation_id": "voyage",
    }
    assert told["engine"] == "harbour_log"
    assert told["counted"] > 0
    assert told["prompt"].startswith("Be brief.")
    assert told["command"].endswith("messages")


def test_its_modules_are_nobody_elses(installed):
    told = sailed(installed.home, 1)
    assert set(told["outside"].values()) == {"missing"}
    assert told["in_sys_modules"] == []
