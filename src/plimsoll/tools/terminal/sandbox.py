"""Runs commands in bubblewrap: the project is writable, the rest of the machine read-only.

    /           read-only            /tmp, /run   empty and private (no sockets of services)
    project     read and write       network      none, unless `tools.terminal.network` allows it

Processes have a separate PID namespace, so everything that a command starts ends with it.
"""

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from plimsoll.errors import UserError

_ALONE = shlex.split(
    "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --cap-drop ALL --die-with-parent "
    "--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run"
)
_RESOLVER = "/run/systemd/resolve"  # often the target of /etc/resolv.conf


def require_bubblewrap() -> str:
    """The path of `bwrap`; raises an error with instructions if it is missing."""
    found = shutil.which("bwrap")
    if found is None:
        raise UserError(
            "tools.terminal.sandbox is true, but bubblewrap (the program bwrap) is not installed. Install it, for "
            "example with `apt-get install bubblewrap`, or run `plimsoll config set tools.terminal.sandbox false`."
        )
    return found


def sandboxed(argv: Sequence[str], root: Path, directory: Path, *, network: bool) -> list[str]:
    """The program inside a sandbox whose only writable directory is the project's root."""
    net = ("--ro-bind-try", _RESOLVER, _RESOLVER) if network else ("--unshare-net",)
    place = ("--bind", str(root), str(root), "--chdir", str(directory))
    return [require_bubblewrap(), *_ALONE, *net, *place, "--", *argv]
