"""Install the pinned programs of `peers.toml`, each into an environment of its own under `.local/peers`.

python tests/peers/install.py                        those that tests/peers runs
python tests/peers/install.py --for bench/quality    those that bench/quality measures
python tests/peers/install.py aider llm              those named

What is already installed stays. A run that was interrupted continues with the first peer that is incomplete, and a
changed version replaces the old one. Downloads go through the caches of pip and npm.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from peer_list import ROOT, TESTS, Peer, read_peers

LIMIT = 1_800  # seconds for one command; only a registry that does not answer takes so long
LOCKED = 600  # seconds to wait while another program installs Debian's packages


class InstallError(Exception):
    """Why a peer could not be installed, and what to do about it."""


def install(peer: Peer) -> None:
    """Put the pinned packages into the peer's environment."""
    peer.stamp.unlink(missing_ok=True)
    peer.folder.mkdir(parents=True, exist_ok=True)
    {"pypi": _install_from_pypi, "npm": _install_from_npm, "debian": _install_from_debian}[peer.registry](
        peer
    )
    peer.stamp.write_text("\n".join(peer.wanted), "utf-8")


def _install_from_pypi(peer: Peer) -> None:
    if not peer.python.exists():
        # This interpreter's pip fills the environment, so Debian's missing ensurepip does not matter.
        _run([_interpreter(peer), "-m", "venv", "--without-pip", str(peer.folder)])
    pip = [sys.executable, "-m", "pip", "--python", str(peer.python), "install", "--prefer-binary"]
    pip.append("--no-compile")  # Python compiles what is imported, a small part of what is installed
    own = ["--editable", f"{ROOT}[{peer.extra}]"] if peer.extra else []
    _run([*pip, "--quiet", "--disable-pip-version-check", *peer.packages, *own])


def _interpreter(peer: Peer) -> str:
    """This interpreter, or one of the version that the peer needs: of pyenv, or on the PATH."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if peer.needs_python in ("", here):
        return sys.executable
    name = f"python{peer.needs_python}"
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{peer.needs_python}.*/bin/{name}"))
    if kept:  # pyenv's command on the PATH fails unless the version is active
        return str(kept[-1])
    if found := shutil.which(name):
        return found
    raise InstallError(
        f"{peer.name} needs Python {peer.needs_python}. Install {name}, then run `make peers`."
    )


def _install_from_npm(peer: Peer) -> None:
    if shutil.which("npm") is None:
        raise InstallError("npm is not installed. Run `apt-get install nodejs npm`, then `make peers`.")
    npm = ["npm", "install", "--prefix", str(peer.folder), "--no-audit", "--no-fund", "--loglevel=error"]
    _run([*npm, "--save-exact", *peer.packages])


def _install_from_debian(peer: Peer) -> None:
    package, _, oldest = peer.packages[0].partition(">=")
    if not _is_at_least(_debian_version(package), oldest):
        if shutil.which("apt-get") is None:
            raise InstallError(
                f"apt-get is not here. Install {package} {oldest} or newer, then run `make peers`."
            )
        if os.geteuid() != 0:
            raise InstallError(
                f"{package} {oldest} needs root. Run `sudo apt-get install {package}`, then `make peers`."
            )
        _run(["apt-get", "update", "-qq"])
        # Somebody else may be installing packages; without this, apt-get gives up at once.
        wait = ["-o", f"DPkg::Lock::Timeout={LOCKED}"]
        _run(["apt-get", "install", "-y", "-qq", *wait, "--no-install-recommends", package])
    version = _debian_version(package)
    if not _is_at_least(version, oldest):
        raise InstallError(
            f"Debian has {package} {version}; {peer.packages[0]} is wanted. Change {peer.name} in peers.toml."
        )
    program = peer.program(package)
    program.parent.mkdir(exist_ok=True)
    program.unlink(missing_ok=True)
    program.symlink_to(Path("/usr/bin") / package)
    (peer.folder / "version").write_text(str(version), "utf-8")


def _debian_version(package: str) -> str | None:
    if shutil.which("dpkg-query") is None:
        return None
    command = ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    status, _, version = done.stdout.partition(" ")
    return version if status == "installed" else None


def _is_at_least(version: str | None, oldest: str) -> bool:
    if version is None:
        return False
    return subprocess.run(["dpkg", "--compare-versions", version, "ge", oldest], check=False).returncode == 0


def _run(command: Sequence[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    shown = " ".join(command)
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired as error:
        raise InstallError(f"`{shown}` did not finish within {LIMIT:,} s. Run `make peers` again.") from error
    if done.returncode != 0:
        last = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise InstallError(
            f"{last}\n`{shown}` ended with {done.returncode}. Run it by hand, then `make peers` again."
        )


def main(arguments: Sequence[str]) -> int:
    """Install the named peers, or all that one folder uses, and print one line for each."""
    peers = read_peers()
    parser = argparse.ArgumentParser(description="Install pinned programs that others wrote.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    users = sorted({peer.used_by for peer in peers.values()})
    parser.add_argument("--for", dest="user", choices=users, default=TESTS)
    given = parser.parse_args(arguments)
    names = given.names
    unknown = [name for name in names if name not in peers]
    if unknown:
        print(
            f"peers: no peer is called {unknown[0]!r}. peers.toml lists {', '.join(peers)}.", file=sys.stderr
        )
        return 2
    used = [peer for peer in peers.values() if peer.used_by == given.user]
    wanted = [peers[name] for name in names] or used
    failed = []
    for number, peer in enumerate(wanted, start=1):
        print(f"[{number}/{len(wanted)}] {peer.name}: {' '.join(peer.packages)} …", end=" ", flush=True)
        if peer.is_installed:
            print("already installed", flush=True)
            continue
        started = time.monotonic()
        try:
            install(peer)
        except InstallError as error:
            failed.append(peer.name)
            print(f"FAILED\n{error}", flush=True)
        else:
            print(f"installed in {time.monotonic() - started:.0f} s", flush=True)
    ending = f", {len(failed)} failed: {', '.join(failed)}" if failed else ""
    print(f"peers: {len(wanted) - len(failed)} of {len(wanted)} installed{ending}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
