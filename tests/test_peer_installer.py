"""`make peers`: pinned versions, nothing installed twice, and errors that name the command to run."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

PEERS = Path(__file__).parent / "peers"
LISTED = """
[first]
registry = "npm"
packages = ["one@1.0.0"]
purpose = "a test"

[second]
registry = "npm"
packages = ["@scope/two@2.0.0", "three@3.0.0"]
purpose = "a test"

[measured]
registry = "npm"
packages = ["four@4.0.0"]
purpose = "a benchmark"
used_by = "bench/quality"
"""
NPM = """#!/bin/sh
echo "$@" >> "$NPM_LOG"
case "$*" in *"$NPM_FAILS"*) echo "no such version"; exit 1;; esac
"""


DEBIAN = """
[fourth]
registry = "debian"
packages = ["fourth>=7"]
purpose = "a test"
"""
# Nothing is installed before apt-get was called.
APT = {
    "apt-get": '#!/bin/sh\necho "$@" >> "$APT_LOG"\n',
    "dpkg-query": '#!/bin/sh\n[ -s "$APT_LOG" ] && printf "installed 7.1"\n',
    "dpkg": "#!/bin/sh\n",
}


def make(
    folder: Path,
    *names: str,
    failing: str = "nothing",
    npm: str = NPM,
    listed: str = LISTED,
    programs: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the installer on a list and an npm of this test."""
    peers, binaries = folder / "tests" / "peers", folder / "bin"
    peers.mkdir(parents=True, exist_ok=True)
    binaries.mkdir(exist_ok=True)
    for name in ("install.py", "peer_list.py"):
        (peers / name).write_text((PEERS / name).read_text("utf-8"), "utf-8")
    (peers / "peers.toml").write_text(listed, "utf-8")
    for name, script in {**({"npm": npm} if npm else {}), **(programs or {})}.items():
        (binaries / name).write_text(script, "utf-8")
        (binaries / name).chmod(0o755)
    environ = {**os.environ, "PATH": f"{binaries}:/bin" if npm else str(binaries)}
    environ |= {"NPM_LOG": str(folder / "npm.log"), "NPM_FAILS": failing, "APT_LOG": str(folder / "apt.log")}
    command = [sys.executable, str(peers / "install.py"), *names]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)


def installed(folder: Path) -> list[str]:
    """The packages that each call of npm was asked for."""
    return [
        " ".join(re.findall(r"\S+@\S+", line))
        for line in (folder / "npm.log").read_text("utf-8").splitlines()
    ]


def test_every_listed_package_has_a_version_and_no_registry_has_an_address() -> None:
    text = (PEERS / "peers.toml").read_text("utf-8")
    packages = [
        found for line in re.findall(r"packages = \[(.*)\]", text) for found in re.findall(r'"([^"]+)"', line)
    ]
    assert packages
    assert [found for found in packages if not re.search(r"(==|@|>=)\d[\d.]*$", found)] == []
    for path in [*PEERS.rglob("*.py"), PEERS / "peers.toml"]:
        # example.org is reserved for texts like those of hostile pages (RFC 2606)
        other = r"https?://(?!127\\?\.0\\?\.0\\?\.1|evil\.example\.org)"
        assert not re.search(other, path.read_text("utf-8")), path


def test_what_is_installed_stays_and_what_failed_is_tried_again(tmp_path: Path) -> None:
    first = make(tmp_path, failing="three@3")
    assert first.returncode == 1
    assert "no such version" in first.stdout
    assert "`npm install --prefix" in first.stdout
    assert first.stdout.splitlines()[-1] == "peers: 1 of 2 installed, 1 failed: second"
    second = make(tmp_path)
    assert second.returncode == 0, second.stdout + second.stderr
    assert "first: one@1.0.0 … already installed" in second.stdout
    assert second.stdout.splitlines()[-1] == "peers: 2 of 2 installed"
    assert installed(tmp_path) == [
        "one@1.0.0",
        "@scope/two@2.0.0 three@3.0.0",
        "@scope/two@2.0.0 three@3.0.0",
    ]


def test_only_the_named_peers_are_installed(tmp_path: Path) -> None:
    assert make(tmp_path, "second").returncode == 0
    assert installed(tmp_path) == ["@scope/two@2.0.0 three@3.0.0"]
    unknown = make(tmp_path, "third")
    assert unknown.returncode == 2
    assert "no peer is called 'third'. peers.toml lists first, second, measured." in unknown.stderr


def test_peers_of_the_benchmark_are_installed_only_for_it(tmp_path: Path) -> None:
    assert make(tmp_path, "--for", "bench/quality").returncode == 0
    assert installed(tmp_path) == ["four@4.0.0"]
    assert make(tmp_path, "--for", "nobody").returncode == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root installs Debian's packages")
def test_a_debian_package_waits_until_nobody_else_installs_one(tmp_path: Path) -> None:
    done = make(tmp_path, "fourth", listed=DEBIAN, programs=APT)
    assert done.stdout.splitlines()[-1] == "peers: 1 of 1 installed", done.stdout + done.stderr
    update, install = (tmp_path / "apt.log").read_text("utf-8").splitlines()
    assert update == "update -qq"
    assert re.search(r"^install .*-o DPkg::Lock::Timeout=[1-9].* fourth$", install)


def test_a_missing_npm_is_a_sentence_with_the_command_that_brings_it(tmp_path: Path) -> None:
    done = make(tmp_path, npm="")
    assert done.returncode == 1
    assert "npm is not installed. Run `apt-get install nodejs npm`, then `make peers`." in done.stdout
    assert "Traceback" not in done.stderr


def test_the_documented_clients_are_the_pinned_ones() -> None:
    text = (PEERS / "peers.toml").read_text("utf-8")
    pinned = {found.replace("==", " ") for found in re.findall(r'"([\w-]+(?:\[.*?\])?==[^"]+)"', text)}
    pinned |= {f"{name} {version}" for name, version in re.findall(r'"(@?[\w/-]+)@([\d.]+)"', text)}
    pinned = {re.sub(r"\[.*\]", "", found) for found in pinned}
    page = (PEERS.parents[1] / "docs" / "clients.md").read_text("utf-8")
    rows = [line.split("|")[1].strip() for line in page.splitlines() if re.match(r"\| \S+ \d", line)]
    documented = {client for row in rows for client in row.split(", ")}
    assert documented
    assert documented <= pinned, "run `make test-peers`, then `python tests/peers/write_table.py`"


def test_a_skip_fails_the_run_and_the_last_line_sums_it_up(tmp_path: Path) -> None:
    for path in [*PEERS.glob("*.py"), PEERS / "peers.toml"]:
        if not path.name.startswith("test_"):
            (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    text = 'import pytest\n\ndef test_one(): pass\n\n@pytest.mark.skip("no client")\ndef test_two(): pass\n'
    (tmp_path / "test_pair.py").write_text(text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "skipped, which counts as a failure here" in done.stdout
    assert done.stdout.splitlines()[-1] == (
        "peers: 0 clients, 1 passed, 1 failed, 0 skipped; 0 turns, 0 compactions"
    )
