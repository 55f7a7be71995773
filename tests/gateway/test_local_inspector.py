"""`plimsoll inspect`: the page on this machine, for the browser that it was opened in."""

import asyncio
import errno
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from plimsoll.archive import OPERATOR
from plimsoll.archive.open_archive import open_archive
from plimsoll.config import Settings
from plimsoll.errors import UserError
from plimsoll.gateway.inspector.local_app import LocalInspector
from plimsoll.gateway.inspector.standalone import redacted, write_page
from plimsoll.terminal.main import plimsoll
from preloaded import run_plimsoll

EXAMPLE = str(files("plimsoll").joinpath("examples", "fastapi.json"))
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def stored(home: Path, text: str = "Which ships?") -> str:
    """The id of a session in a new archive."""

    async def work() -> str:
        async with await open_archive(None, home) as store:
            archive = store.for_owner(OPERATOR)
            session = await archive.create_session(title="Ships")
            said = [{"role": "user", "content": text}, {"role": "assistant", "content": "Two."}]
            await archive.append(session.id, said, turn="begin")
            return session.id

    return asyncio.run(work())


def until(happened: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


def command(home: Path, *arguments: str, browser: str = "false") -> "subprocess.Popen[str]":
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PLIMSOLL_")}
    return subprocess.Popen(
        [sys.executable, "-m", "plimsoll.terminal.main", "inspect", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environ, "PLIMSOLL_HOME": str(home), "TMPDIR": str(home), "BROWSER": browser},
    )


def end(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGINT) -> None:
    """End the command as a person does; a command that stays is killed and an error."""
    process.send_signal(number)
    try:
        process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


@contextmanager
def inspecting(
    home: Path, *arguments: str, ends: signal.Signals = signal.SIGINT
) -> Iterator[tuple[httpx.Client, str, str]]:
    """A client of the page, the token and the session in its link."""
    with command(home, *arguments, "--no-browser") as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline()
            found = re.search(r"(http://127\.0\.0\.1:\d+)/inspect#token=([\w-]+)(?:&session=(\S+))?", link)
            assert found is not None, (link, process.stderr and process.stderr.read())
            with httpx.Client(base_url=found[1], timeout=30) as client:
                yield client, found[2], found[3] or ""
        finally:
            end(process, ends)


@contextmanager
def opened(home: Path) -> Iterator[tuple[TestClient, LocalInspector]]:
    """The same application without a process of its own."""
    inspector = LocalInspector(Settings(), {}, home)
    with TestClient(inspector.app, base_url="http://127.0.0.1") as client:
        yield client, inspector


def test_the_link_opens_the_page_once_and_only_its_key_reads_sessions(tmp_path: Path) -> None:
    id = stored(tmp_path)
    elsewhere = {"origin": "https://other.example.org", "sec-fetch-site": "cross-site"}
    with opened(tmp_path) as (client, inspector):
        assert inspector.address(8080, id).endswith(f"#token={inspector.token}&session={id}")
        assert client.get("/inspect").status_code == 200
        assert client.get(f"/sessions/{id}").status_code == 401
        assert client.post("/inspect/enter", headers={"x-plimsoll-token": "wrong"}).status_code == 401
        entering = {"x-plimsoll-token": inspector.token}
        assert client.post("/inspect/enter", headers={**entering, **elsewhere}).status_code == 403
        key = client.post("/inspect/enter", headers=entering).json()["key"]
        assert client.post("/inspect/enter", headers=entering).status_code == 401
        with_key = {"x-plimsoll-key": key}
        assert client.get(f"/sessions/{id}/timeline", headers=with_key).json()["messages"]["roles"] == "ua"
        assert client.get(f"/sessions/{id}", headers={**with_key, **elsewhere}).status_code == 403
        assert (
            client.get(f"/sessions/{id}", headers={**with_key, "host": "evil.example.org"}).status_code == 403
        )
        assert client.get("/nothing", headers=with_key).json()["status"] == 404


@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_file_is_shown_from_a_temporary_archive_that_goes_with_the_page(
    tmp_path: Path, ends: signal.Signals
) -> None:
    with inspecting(tmp_path, EXAMPLE, ends=ends) as (client, token, session):
        key = client.post("/inspect/enter", headers={"x-plimsoll-token": token}).json()["key"]
        timeline = client.get(f"/sessions/{session}/timeline", headers={"x-plimsoll-key": key}).json()
        assert timeline["session"]["messages"] == len(timeline["messages"]["roles"]) > 40
        assert list(tmp_path.glob("plimsoll-inspect-*"))
    assert not list(tmp_path.glob("plimsoll-inspect-*"))
    assert not (tmp_path / "archive.db").exists()


def test_the_token_reaches_the_browser_through_a_private_file_and_not_through_its_command_line(
    tmp_path: Path,
) -> None:
    browser, opened_with = tmp_path / "browser", tmp_path / "opened"
    # It is complete once the browser has ended: the link is printed before, and the browser is awaited.
    browser.write_text(
        f'#!/bin/sh\nprintf %s "$*" > {opened_with}.new\nmv {opened_with}.new {opened_with}\n', "utf-8"
    )
    browser.chmod(0o755)
    with command(tmp_path, EXAMPLE, browser=f"{browser} %s") as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().removeprefix("Inspector: ").strip()
            until(opened_with.exists)
            file = Path(unquote(urlsplit(opened_with.read_text("utf-8")).path))
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
            assert "#token=" in link
            assert f'content="0; url={escape(link)}"' in file.read_text("utf-8")
        finally:
            end(process)
    assert not list(tmp_path.glob("plimsoll-inspect-*"))


def test_one_file_holds_the_session_without_its_secrets(tmp_path: Path) -> None:
    id = stored(tmp_path, f"The token is {SECRET}. <script>alert(1)</script>")
    target = tmp_path / "page.html"
    size = asyncio.run(write_page(LocalInspector(Settings(), {}, tmp_path), id, target))
    text = target.read_text("utf-8")
    assert size == target.stat().st_size
    assert "The token is" in text
    assert SECRET not in text
    assert "<script>alert(1)" not in text


@pytest.mark.parametrize(
    "value",
    [
        {"password": ["hunter2", {"old": "hunter2"}]},
        {"api_key": {"value": "hunter2"}},
        {"secret": 20042004},
        {"args": ["deploy", "--password", "hunter2"]},
        {"headers": [["x-api-key", "hunter2"]]},
        {"env": [{"name": "DB_PASSWORD", "value": "hunter2"}]},
    ],
)
def test_a_secret_that_only_its_name_shows_is_redacted_whatever_its_kind(value: object) -> None:
    told = json.dumps(redacted(value))
    assert "hunter2" not in told
    assert "2004" not in told


def test_names_of_secrets_redact_nothing_else() -> None:
    value = {"tokens": [1, 2], "names": ["password", "user", "harbour"], "secret": None, "token": True}
    assert redacted(value) == value


def test_a_page_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    id = stored(tmp_path)
    with pytest.raises(UserError, match=r"missing/page\.html cannot be written"):
        asyncio.run(
            write_page(LocalInspector(Settings(), {}, tmp_path), id, tmp_path / "missing" / "page.html")
        )


def test_a_page_that_does_not_fit_the_disk_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, target = stored(tmp_path), tmp_path / "page.html"
    target.write_text("earlier", "utf-8")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(UserError, match="No space left on device"):
            asyncio.run(write_page(LocalInspector(Settings(), {}, tmp_path), id, target))
    assert target.read_text("utf-8") == "earlier"


def test_the_newest_session_of_an_agent_is_shown_wherever_it_is_from(tmp_path: Path) -> None:
    environ = {
        **os.environ,
        "PLIMSOLL_HOME": str(tmp_path / "home"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
    }
    (tmp_path / "elsewhere").mkdir()
    for command in (
        ["convert", EXAMPLE, "--to", "claude-code"],
        ["inspect", "--latest", "claude", "-o", str(tmp_path / "page.html")],
    ):
        done = run_plimsoll(
            *command, env=environ, cwd=tmp_path / ("elsewhere" if command[0] == "inspect" else ".")
        )
        assert done.returncode == 0, done.stderr
    assert f"no session of {tmp_path / 'elsewhere'}; reading the newest, {tmp_path / 'claude'}" in done.stderr
    assert "harbour" in (tmp_path / "page.html").read_text("utf-8")


def test_the_bundled_conversation_is_shown_and_not_stored(tmp_path: Path) -> None:
    home = tmp_path / "home"
    page = str(tmp_path / "page.html")
    done = run_plimsoll("inspect", "--example", "-o", page, env={**os.environ, "PLIMSOLL_HOME": str(home)})
    assert done.returncode == 0, done.stderr
    assert "harbour" in Path(page).read_text("utf-8")
    assert not (home / "archive.db").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--example", "--latest", "claude"], "or pass --example"),
        (["nothing-like-it"], "no stored session begins with it"),
        (["-o", "page.html"], "Name the FILE or SESSION"),
        ([EXAMPLE, "--latest", "claude"], "Name a FILE or a SESSION, or an agent"),
    ],
)
def test_a_mistake_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path))
    result = CliRunner().invoke(plimsoll, ["inspect", *arguments])
    assert result.exit_code == 2
    assert told in result.output
