"""The lines that point clients at the gateway, one for each client.

    ANTHROPIC_BASE_URL=http://127.0.0.1:8787 claude        # Claude Code

The name is a comment, so a whole line can be copied into a shell.
"""

import socket
import tomllib
from collections.abc import Iterator
from importlib.resources import files

_ANY_ADDRESS = frozenset({"0.0.0.0", "::", ""})


def client_address(host: str, port: int) -> str:
    """The address for clients; a gateway that listens on all addresses is reached by its host name."""
    name = socket.gethostname() if host in _ANY_ADDRESS else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def client_lines(address: str) -> Iterator[str]:
    """The command line for each client."""
    text = files("plimsoll.gateway").joinpath("client_lines.toml").read_text("utf-8")
    clients = tomllib.loads(text)["client"]
    lines = [(client["line"].format(url=address), client["name"]) for client in clients]
    widest = max(len(line) for line, _ in lines)
    yield "Point a client at it:"
    yield from (f"  {line:<{widest}}  # {name}" for line, name in lines)
