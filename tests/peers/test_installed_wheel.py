"""The wheel without a clone: pipx and uv install it, the tour runs, and the hint for an extra works."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from cases import PEERS
from peer_list import ROOT

from plimsoll.installation import DISTRIBUTION

pytestmark = pytest.mark.xdist_group("installed wheel")
PATIENCE = 600  # seconds; only an index that does not answer takes so long


def run(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """What a command says; it must end well."""
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of this clone."""
    folder = tmp_path_factory.mktemp("wheels")
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], os.environ)
    return folder


def environment(home: Path, wheels: Path) -> dict[str, str]:
    """A home of its own; the wheel is found where a released one would be found on the index."""
    # uv does not read pip's configuration, which may name a mirror of the index.
    pip = {
        name.partition(".")[2]: value.strip("'")
        for line in subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True
        ).stdout.splitlines()
        for name, _, value in [line.partition("=")]
    }
    links = [*pip.get("find-links", "").split(), str(wheels)]
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {
        **kept,
        "HOME": str(home),
        "PIPX_HOME": str(home / "pipx"),
        "PIPX_BIN_DIR": str(home / "bin"),
        "UV_TOOL_DIR": str(home / "uv"),
        "UV_TOOL_BIN_DIR": str(home / "bin"),
        "UV_PYTHON": sys.executable,
        "UV_FIND_LINKS": ",".join(links),
        "UV_INDEX": pip.get("extra-index-url", ""),
        "PIP_FIND_LINKS": " ".join(links),
        "PATH": f"{home / 'bin'}:{PEERS['pipx'].folder / 'bin'}:{PEERS['uv'].folder / 'bin'}:{kept['PATH']}",
    }


@pytest.mark.parametrize("command", ["pipx install", "uv tool install"])
def test_an_installed_wheel_runs_the_tour_and_says_how_to_get_an_extra(
    command: str, wheels: Path, tmp_path: Path
) -> None:
    environ = environment(tmp_path, wheels)
    run([*command.split(), DISTRIBUTION], environ)
    assert "5/5" in run([str(tmp_path / "bin" / "plimsoll"), "tour"], environ)
    refused = subprocess.run(
        [str(tmp_path / "bin" / "plimsoll"), "gateway"], env=environ, capture_output=True, text=True
    )
    assert refused.returncode == 2
    hint = re.search(r"Run `(.+)`\.", refused.stderr)
    assert hint, refused.stderr
    run(shlex.split(hint[1]), environ)
    assert "keys" in run([str(tmp_path / "bin" / "plimsoll"), "gateway", "--help"], environ)
    installed = subprocess.run(
        [str(tmp_path / "bin" / "plimsoll"), "gateway", "--host", "256.0.0.1"],
        env=environ,
        capture_output=True,
        text=True,
    )
    assert "packages that are not installed" not in installed.stderr
