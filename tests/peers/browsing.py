"""A real browser for tests: each method is a line to `drivers/browser.py`, which runs in Playwright's environment."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cases import DRIVERS, PEERS
from peer_list import ROOT

SCREENSHOTS = ROOT / ".local" / "screenshots"


class BrowserError(AssertionError):
    """The browser could not do what it was told."""


class TestBrowser:
    """One browser; methods are those of `drivers/browser.py`."""

    __test__ = False

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps({"do": name, "with": arguments, "named": named}) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline() or '{"error": "the browser has ended"}')
            if "error" in answer:
                raise BrowserError(f"{name}{arguments}: {answer['error']}")
            return answer["value"]

        return call

    def picture(self, name: str) -> None:
        """Keep a screenshot for people to look at."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.shoot(str(SCREENSHOTS / f"{name}.png"))


@contextmanager
def browser() -> Iterator[TestBrowser]:
    """Debian's Chromium, driven by Playwright."""
    for name in ("chromium", "playwright", "axe-core"):
        assert PEERS[name].is_installed, f"{name} is not installed; run `make peers`"
    command = [
        str(PEERS["playwright"].python),
        str(DRIVERS / "browser.py"),
        str(PEERS["chromium"].program("chromium")),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield TestBrowser(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(30)


def axe_script() -> Path:
    """axe-core, which finds what people with other senses cannot use."""
    return PEERS["axe-core"].folder / "node_modules" / "axe-core" / "axe.min.js"
