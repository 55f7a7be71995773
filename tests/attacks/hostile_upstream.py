"""An upstream that answers whatever a test wants, and notes what it was sent byte for byte."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from plimsoll.config import Settings

_CHUNKED = {"transfer-encoding": "chunked"}


@dataclass(frozen=True)
class Reply:
    """What the upstream answers; `headers` come on top of the content type, `pieces` are sent as chunks."""

    status: int = 200
    body: bytes = b"{}"
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: Iterable[bytes] | None = None


@dataclass(frozen=True)
class Sent:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    method: str = ""


class HostileUpstream:
    """`with HostileUpstream(lambda sent: Reply(...)) as upstream: ... upstream.url`."""

    def __init__(self, answer: Callable[[Sent], Reply]) -> None:
        self.requests: list[Sent] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                sent = Sent(self.path, headers, self.rfile.read(length), self.command)
                outer.requests.append(sent)
                reply = answer(sent)
                self.send_response(reply.status)
                told = {"content-type": reply.content_type, **reply.headers}
                length = {"content-length": str(len(reply.body))}
                for name, value in {**told, **(length if reply.pieces is None else _CHUNKED)}.items():
                    self.send_header(name, value)
                self.end_headers()
                if reply.pieces is None:
                    self.wfile.write(reply.body)
                    return
                for piece in reply.pieces:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.wfile.write(b"0\r\n\r\n")

            do_GET = do_DELETE = do_POST

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "HostileUpstream":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def settings(self, dialect: str = "anthropic", **sections: Any) -> Settings:
        """Settings of a gateway in front of it."""
        base = self.url if dialect == "anthropic" else f"{self.url}/v1"
        model = {"provider": "anthropic" if dialect == "anthropic" else "openai", "base_url": base}
        return Settings.model_validate({"model": {**model, **sections.pop("model", {})}, **sections})
