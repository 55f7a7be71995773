"""Writes the page with one session as a single file, with secrets redacted.

    the endpoints that the page calls ─► responses by path ─► redacted ─► one HTML file

The page reads the responses from the file instead of calling the server, so both show the same.
"""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
from starlette.routing import Router

from plimsoll.errors import UserError
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.inspector.local_app import LocalInspector
from plimsoll.inspector import standalone
from plimsoll.secrets import MARK, is_secret_name, redact
from plimsoll.transcripts import write_file

PAGE = 200  # messages per response
CLIP = 20_000  # characters of one text; the page shows that it was cut


async def write_page(inspector: LocalInspector, session: str, path: Path) -> int:
    """Write the page of a session. Returns its size in bytes."""
    answers = await _answers(inspector, session)
    content = standalone({"session": session, "answers": redacted(answers)})
    write_file(path, [content])
    return len(content)


def redacted(value: Any, is_secret: bool = False) -> Any:
    """The value with the secrets in all its texts replaced, including those that only their name reveals.

    `is_secret`: the name of the value reveals that all of it is secret.
    """
    if isinstance(value, str):
        return (MARK if value else value) if is_secret else redact(value)
    if isinstance(value, dict):
        named = _is_secret_entry(value)
        return {
            redact(name): redacted(item, is_secret or is_secret_name(name) or (named and name == "value"))
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [redacted(item, is_secret or _follows_name(value, place)) for place, item in enumerate(value)]
    return MARK if is_secret and isinstance(value, int | float) and not isinstance(value, bool) else value


def _follows_name(values: list[Any], place: int) -> bool:
    """Whether a value follows the name of a secret: `["--password", …]`, or a pair of name and value."""
    name = values[place - 1] if place else None
    if not isinstance(name, str) or not (name.startswith("--") or len(values) == 2):
        return False
    return is_secret_name(name.lstrip("-"))


def _is_secret_entry(value: dict[str, Any]) -> bool:
    """Whether an object is a name-value entry, such as a header, with a secret value."""
    name = value.get("name")
    return isinstance(name, str) and is_secret_name(name)


async def _answers(inspector: LocalInspector, session: str) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(_lifespan(inspector))
        transport = httpx.ASGITransport(inspector.app)
        client = await stack.enter_async_context(
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        )
        entered = await client.post("/inspect/enter", headers={"x-plimsoll-token": inspector.token})
        client.headers["x-plimsoll-key"] = entered.json()["key"]
        return await _asked(client, f"/sessions/{session}")


def _lifespan(inspector: LocalInspector) -> Any:
    router: Router = inspector.app.router
    return router.lifespan_context(inspector.app)


async def _asked(client: httpx.AsyncClient, address: str) -> dict[str, Any]:
    answers: dict[str, Any] = {}

    async def ask(path: str) -> Any:
        response = await client.get(path)
        answer = jsontext.read(response.content)
        if response.status_code != 200:
            raise UserError(str(answer["detail"]))
        answers[path] = answer
        return answer

    timeline = await ask(f"{address}/timeline")
    for first in range(1, timeline["session"]["messages"] + 1, PAGE):
        await ask(f"{address}/messages?first={first}&limit={PAGE}&clip={CLIP}")
    for event in timeline["events"]:
        if event["view_after"] != event["view_before"]:
            await ask(f"{address}/compactions/{event['number']}")
    return answers
