"""Restricts the page that `plimsoll inspect` opens to the browser that it was opened in.

    http://127.0.0.1:40123/inspect#token=…     the shell is empty, and browsers do not send fragments
    POST /inspect/enter with the token          a key for this page; the token is used up
    every other request                         x-plimsoll-key: …, from the page itself

The browser gets the link through a file that only its user can read, so the token is in no command line.
"""

import secrets
from dataclasses import dataclass

from plimsoll.archive import OPERATOR, Owner
from plimsoll.gateway.access.authentication import KEY_HEADER, OPEN_PATHS, is_own_host, is_own_page
from plimsoll.gateway.asgi import App, Caller, Receive, Scope, Send
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.problems import Problem, send_problem
from plimsoll.gateway.http.responses import JSON, send_whole

ENTER_PATH = "/inspect/enter"
TOKEN_HEADER = b"x-plimsoll-token"
_NO_STORE = (b"cache-control", b"no-store")


@dataclass(frozen=True, slots=True)
class LocalCaller(Caller):
    """The user of this machine, who views the sessions of one owner."""

    whose: Owner = OPERATOR

    @property
    def archive_owner(self) -> Owner:
        """The owner of the visible sessions."""
        return self.whose


class LocalAccess:
    """ASGI middleware of the local page. `token` can be used once."""

    def __init__(self, app: App, token: str, owner: Owner) -> None:
        self._app, self._token, self._owner = app, token, owner
        self._key = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await send_problem(send, refusal)
        elif scope["path"] == ENTER_PATH:
            self._token = ""
            await send_whole(send, 200, [JSON, _NO_STORE], jsontext.write({"key": self._key}))
        else:
            scope.setdefault("state", {})["caller"] = LocalCaller(whose=self._owner)
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Problem | None:
        if not is_own_host(scope, "127.0.0.1") or not is_own_page(scope):
            return Problem(
                403, "Not from here", "Only the page that `plimsoll inspect` opened may ask for this."
            )
        if scope["path"] == ENTER_PATH:
            token = _header(scope, TOKEN_HEADER)
            if scope["method"] == "POST" and self._token and secrets.compare_digest(token, self._token):
                return None
            return Problem(
                401, "No key", "This link has been used. Run `plimsoll inspect` again for a new one."
            )
        if scope["path"] in OPEN_PATHS or secrets.compare_digest(_header(scope, KEY_HEADER), self._key):
            return None
        return Problem(401, "No key", "Open the link that `plimsoll inspect` printed.")


def _header(scope: Scope, wanted: bytes) -> str:
    found = [value for name, value in scope["headers"] if name == wanted]
    # compare_digest refuses strings with non-ASCII characters.
    return found[0].decode("ascii", "replace").replace("\ufffd", "?") if found else ""
