"""Ports for programs that tests start."""

import random
import socket

# Below the range from which systems take the ports of outgoing connections (32768 on Linux, 49152 elsewhere), so that
# none takes this one between the choice and the start of the program.
_FIRST, _LAST = 12_000, 32_000


def free_port(host: str = "127.0.0.1") -> int:
    """A port on which nobody listens."""
    while True:
        port = random.SystemRandom().randrange(_FIRST, _LAST)
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
