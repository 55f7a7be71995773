"""Keys for a gateway under test, and requests with them."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from clients import http

from plimsoll.archive import Owner, Session
from plimsoll.archive.key_format import new_key
from plimsoll.archive.keys import DAY, AccessKey, KeyLimits, KeyUsage
from plimsoll.archive.open_archive import open_archive
from plimsoll.testing.scripted_server import ScriptedServer, say
from ports import free_port

ASK = {"max_tokens": 20, "messages": [{"role": "user", "content": "Where does the lantern hang?"}]}
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
MODELS = {"openai": "gpt-4.1", "anthropic": "claude-sonnet-4-5"}


def answering() -> ScriptedServer:
    """A model that always answers the same."""
    return ScriptedServer(lambda _request: say("On the mast."))


def add_key(
    home: Path, name: str = "laptop", url: str | None = None, *, reads: str | None = None, **limits: Any
) -> str:
    """The text of a new key; `reads` is the owner whose sessions a read-only key reads."""
    made = new_key()

    async def work() -> None:
        async with await open_archive(url, home) as store:
            await store.keys.add(made.id, name, made.digest, KeyLimits(**limits), reads=reads)

    asyncio.run(work())
    return made.text


def revoke_key(home: Path, name: str = "laptop") -> AccessKey:
    async def work() -> AccessKey:
        async with await open_archive(None, home) as store:
            return await store.keys.revoke(name)

    return asyncio.run(work())


def owned(home: Path, owner: str | None) -> list[Session]:
    """The sessions of one owner; None: all."""

    async def work() -> list[Session]:
        async with await open_archive(None, home) as store:
            return await (store.for_owner(Owner(owner)) if owner else store).sessions()

    return asyncio.run(work())


def used_so_far(home: Path, url: str | None = None) -> dict[str, KeyUsage]:
    """What each key has used, by its name, on this day and those before it: a test may run past midnight."""

    async def work() -> dict[str, KeyUsage]:
        async with await open_archive(url, home) as store:
            rows = await store._database.read(
                lambda db: db.rows(
                    "SELECT name, coalesce(sum(requests), 0), coalesce(sum(tokens), 0), coalesce(sum(money), 0.0) "
                    "FROM access_keys LEFT JOIN access_usage ON key = id AND seconds = ? GROUP BY name",
                    (DAY,),
                )
            )
            return {
                name: KeyUsage(int(asked), int(tokens), float(money)) for name, asked, tokens, money in rows
            }

    return asyncio.run(work())


def ask(url: str, dialect: str = "anthropic", key: str = "", **headers: str) -> httpx.Response:
    """One question, with a key as the clients of this dialect send it."""
    if key:
        headers |= {"x-api-key": key} if dialect == "anthropic" else {"authorization": f"Bearer {key}"}
    return http().post(url + PATHS[dialect], json={"model": MODELS[dialect], **ASK}, headers=headers)


def error_of(response: httpx.Response) -> dict[str, Any]:
    found: dict[str, Any] = response.json()["error"]
    return found


def environment(home: Path, **variables: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    return {**clean, "PLIMSOLL_HOME": str(home), **variables}


def wait_until_healthy(url: str, running: "subprocess.Popen[str]") -> None:
    """Return when the gateway answers; fail when its process ended."""
    for _ in range(2_400):
        assert running.poll() is None, running.stderr.read() if running.stderr else ""
        try:
            # The connection is not kept: the gateway under test starts with none.
            if http().get(url + "/healthz", headers={"connection": "close"}).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the gateway does not answer")


@contextmanager
def gateway_program(
    home: Path, server: ScriptedServer, *arguments: str, config: str = ""
) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """`plimsoll gateway` itself, as a person starts it: its address and the process."""
    home.mkdir(exist_ok=True)
    model = f"model:\n  provider: anthropic\n  base_url: {server.anthropic_url}\n"
    (home / "config.yaml").write_text(model + config, "utf-8")
    port = free_port()
    command = [sys.executable, "-m", "plimsoll.gateway", "--port", str(port), *arguments]
    running = subprocess.Popen(
        command, env=environment(home, ANTHROPIC_API_KEY="upstream-key"), stderr=subprocess.PIPE, text=True
    )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_healthy(url, running)
        yield url, running
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
        running.wait(120)
        if running.stderr:
            running.stderr.close()
