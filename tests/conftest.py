"""Fixtures for the whole suite."""

import os
import signal
import socket
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from plimsoll.testing.prefix import broken_prefixes
from plimsoll.testing.pressure import window_usage_mentions
from plimsoll.testing.scripted_server import ScriptedServer

pytest_plugins = ["embedded_model", "resource_leaks", "temporary_files"]

# A machine that is busy with other work must not make a property fail.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make Ctrl-C work in the programs that tests start, and let workers begin a test without delay.

    A shell starts a job in the background with SIGINT ignored, and every process inherits that.

    pytest-rerunfailures asks the main process before each test. Its socket waits with a small packet until the one
    before is acknowledged, which the other side delays by 40 ms: more than most tests take.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput") and (reruns := getattr(config, "failures_db", None)):
        reruns.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse versions of pytest and xdist that ignore groups: tests that share a server would run beside each other.

    A worker process marks a grouped test with an @ in its id.
    """
    if getattr(session.config.option, "loadgroup", False):
        ignored = [
            item
            for item in session.items
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid
        ]
        assert not ignored, (
            f"pytest {pytest.__version__} and pytest-xdist ignore groups, e.g. of {ignored[0].nodeid}"
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what the whole suite leaves out."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        listed = tomllib.loads((Path(__file__).parent / "peers" / "peers.toml").read_text("utf-8"))
        count = sum("used_by" not in entry for entry in listed.values())
        terminalreporter.write_line(
            f"not run: tests/peers, which needs {count} real clients and browsers. "
            "Run `make peers`, then `make test-peers`."
        )


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Plimsoll home of a user who has configured nothing."""
    for name in [name for name in os.environ if name.startswith("PLIMSOLL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The nets under the prompt cache and under the model's calm, in every test that talks to a scripted server.

    No request tells the model how full its window is, and each extends the one before. A test that
    rewrites history on purpose says why: `@pytest.mark.rewrites_history("…")`.
    """
    started: list[ScriptedServer] = []
    original = ScriptedServer.start

    def remembered(server: ScriptedServer) -> ScriptedServer:
        started.append(server)
        return original(server)

    monkeypatch.setattr(ScriptedServer, "start", remembered)
    yield
    bodies = (seen.body for server in started for seen in server.requests if seen.body)
    assert window_usage_mentions(bodies) == []
    if request.node.get_closest_marker("rewrites_history"):
        return
    for server in started:
        accepted = [seen.body for seen in server.requests if seen.body and not seen.refusal]
        assert [str(found) for found in broken_prefixes(accepted)] == []
