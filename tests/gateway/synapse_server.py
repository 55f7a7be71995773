"""A real Matrix homeserver on loopback for tests, and people who use it over plain HTTP.

Synapse has an environment of its own, because it pins versions of its own: `make peers` installs it.
"""

import json
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx
import pytest

_ROOT = Path(__file__).parents[2]
_APART = _ROOT / ".local" / "peers" / "synapse" / "bin" / "python"
_START_SECONDS = 90.0
_PLENTY = {"per_second": 10_000, "burst_count": 10_000}


def interpreter() -> str:
    """The Python that has Synapse; the test is skipped where there is none."""
    if _APART.exists():
        return str(_APART)
    if find_spec("synapse") is not None:
        return sys.executable
    pytest.skip("SKIPPED WITHOUT A HOMESERVER: run `python tests/peers/install.py synapse` to test Matrix")


class Synapse:
    """`with Synapse(folder) as homeserver: ... homeserver.url`."""

    def __init__(self, folder: Path) -> None:
        self._python = interpreter()
        self._folder = folder
        folder.mkdir(exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Synapse":
        config = self._folder / "homeserver.yaml"
        config.write_text(json.dumps(self._config()), "utf-8")
        said = (self._folder / "synapse.log").open("wb")
        subprocess.run(
            [self._python, "-m", "synapse.app.homeserver", "-c", str(config), "--generate-keys"],
            check=True, stdout=said, stderr=said, cwd=self._folder,
        )  # fmt: skip
        self._process = subprocess.Popen(
            [self._python, "-m", "synapse.app.homeserver", "-c", str(config)],
            stdout=said, stderr=said, cwd=self._folder,
        )  # fmt: skip
        said.close()
        ends = time.monotonic() + _START_SECONDS
        while not self._is_up():
            alive = self._process.poll() is None and time.monotonic() < ends
            assert alive, (self._folder / "synapse.log").read_text("utf-8")[-2_000:]
            time.sleep(0.1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(30)

    def person(self, name: str) -> "Person":
        """A new account."""
        body = {"username": name, "password": f"only-for-tests-{name}", "auth": {"type": "m.login.dummy"}}
        answer = httpx.post(f"{self.url}/_matrix/client/v3/register", json=body, timeout=30)
        answer.raise_for_status()
        return Person(self.url, answer.json()["user_id"], answer.json()["access_token"])

    def _is_up(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def _config(self) -> dict[str, Any]:
        here = self._folder
        rates = ("rc_message", "rc_registration", "rc_admin_redaction")
        return {
            "server_name": "harbour.test",
            "pid_file": str(here / "pid"),
            "listeners": [{
                "port": int(self.url.rpartition(":")[2]), "type": "http", "tls": False,
                "bind_addresses": ["127.0.0.1"], "resources": [{"names": ["client"], "compress": False}],
            }],
            "database": {"name": "sqlite3", "args": {"database": str(here / "homeserver.db")}},
            "log_config": None,
            "media_store_path": str(here / "media"),
            "signing_key_path": str(here / "signing.key"),
            "registration_shared_secret": "only for tests",
            "macaroon_secret_key": "only for tests",
            "form_secret": "only for tests",
            "report_stats": False,
            "trusted_key_servers": [],
            "federation_domain_whitelist": [],
            "enable_registration": True,
            "enable_registration_without_verification": True,
            "presence": {"enabled": False},
            **dict.fromkeys(rates, _PLENTY),
            "rc_login": dict.fromkeys(("address", "account", "failed_attempts"), _PLENTY),
            "rc_joins": dict.fromkeys(("local", "remote"), _PLENTY),
            "rc_joins_per_room": _PLENTY,
            "rc_invites": dict.fromkeys(("per_room", "per_user", "per_issuer"), _PLENTY),
        }  # fmt: skip


class Person:
    """Somebody with a client."""

    def __init__(self, url: str, id: str, token: str) -> None:
        self.id, self.token = id, token
        self._http = httpx.Client(
            base_url=f"{url}/_matrix/client/v3", headers={"Authorization": f"Bearer {token}"}, timeout=60
        )
        self._sent = 0

    def room(self, *invited: "Person", **more: Any) -> str:
        """A new room with these people."""
        asked = {"invite": [one.id for one in invited], "preset": "private_chat", **more}
        return str(self._asked("POST", "/createRoom", json=asked)["room_id"])

    def join(self, room: str) -> None:
        self._asked("POST", f"/rooms/{quote(room)}/join", json={})

    def say(self, room: str, text: str, **more: Any) -> str:
        return self.post(room, {"msgtype": "m.text", "body": text, **more})

    def post(self, room: str, content: dict[str, Any], kind: str = "m.room.message") -> str:
        self._sent += 1
        path = f"/rooms/{quote(room)}/send/{kind}/{self._sent}"
        return str(self._asked("PUT", path, json=content)["event_id"])

    def members(self, room: str) -> set[str]:
        return set(self._asked("GET", f"/rooms/{quote(room)}/joined_members")["joined"])

    def heard(self, room: str, by: "Person") -> list[str]:
        """Everything that somebody said in a room, the oldest first."""
        found: list[str] = []
        start: str | None = None
        while True:
            asked = {"dir": "b", "limit": 200, **({"from": start} if start else {})}
            page = self._asked("GET", f"/rooms/{quote(room)}/messages", params=asked)
            found += [
                event["content"]["body"]
                for event in page["chunk"]
                if event["type"] == "m.room.message" and event["sender"] == by.id
            ]
            start = page.get("end")
            if not start or not page["chunk"]:
                return found[::-1]

    def sees_typing(self, room: str, since: str | None) -> tuple[str, bool]:
        """Whether somebody else is writing; the place from which to look on."""
        asked = {"timeout": 1_000, **({"since": since} if since else {})}
        answer = self._asked("GET", "/sync", params=asked)
        found = answer.get("rooms", {}).get("join", {}).get(room, {}).get("ephemeral", {}).get("events", [])
        typing = [event for event in found if event["type"] == "m.typing" and event["content"]["user_ids"]]
        return str(answer["next_batch"]), bool(typing)

    def close(self) -> None:
        self._http.close()

    def _asked(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        answer = self._http.request(method, path, **more)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found
