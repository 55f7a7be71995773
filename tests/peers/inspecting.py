"""The inspector's tests share this: a gateway with sessions, and what a person does on its page."""

import asyncio
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from browsing import TestBrowser
from processes import PROGRAM, GatewayProcess

from plimsoll.archive import OPERATOR
from plimsoll.archive.open_archive import open_archive

MODEL = "claude-sonnet-4-5"


@dataclass(frozen=True)
class Running:
    """A gateway, its archive, and the session in it that `plimsoll chat` made, if one did."""

    gateway: GatewayProcess
    home: Path
    chat: str
    environ: dict[str, str]

    def page(self, session: str = "", tab: str = "") -> str:
        """The address of a part of the page."""
        return f"{self.gateway.url}/inspect#session={session}{f'&tab={tab}' if tab else ''}"

    def terminal(self, *arguments: str) -> str:
        """What `plimsoll sessions` prints."""
        command = [PROGRAM, "sessions", *arguments]
        done = subprocess.run(
            command, env=self.environ, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def get(self, session: str, part: str) -> Any:
        """What the REST API says about a session."""
        return httpx.get(f"{self.gateway.url}/sessions/{session}/{part}", timeout=60).json()

    def state(self, session: str) -> dict[str, Any]:
        """The state of a session after some actions."""
        return {
            "view": [(one["number"], one["message"]) for one in self.get(session, "view")["messages"]],
            "pins": self.get(session, "pins")["pins"],
            "actions": [one["action"] for one in self.get(session, "actions")["actions"]],
            "outcomes": [one["outcome"] for one in self.get(session, "compactions")["compactions"]],
        }

    def timeline(self, session: str) -> dict[str, Any]:
        """What the page draws."""
        found: dict[str, Any] = httpx.get(
            f"{self.gateway.url}/sessions/{session}/timeline", timeout=60
        ).json()
        return found


def stored(home: Path, messages: list[dict[str, Any]], title: str) -> str:
    """A session with these messages in the gateway's archive."""

    async def work() -> str:
        async with await open_archive(None, home) as store:
            archive = store.for_owner(OPERATOR)
            session = await archive.create_session(title=title, model=MODEL)
            await archive.append(session.id, messages, turn="begin")
            return session.id

    return asyncio.run(work())


def act(page: TestBrowser, done: str) -> None:
    """Confirm the dialog once it has shown what the action will do."""
    page.see("dialog button.primary:not(:disabled)")
    page.click("dialog button.primary")
    page.see(f".notice:has-text('{done}')")
