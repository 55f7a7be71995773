"""Chromium under Playwright, told what to do line by line: JSON in, JSON out.

    {"do": "click", "with": ["text=Cache"]}   ─►   {"value": null}   or   {"error": "…"}

What a page should never do is noted as it happens: errors, dialogs, downloads without a click, requests elsewhere.
"""

import json
import sys
import time
from typing import Any

from playwright.sync_api import Browser, Page, Playwright, sync_playwright

PATIENCE = 120_000  # milliseconds; only a page that hangs takes so long
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]


class Driver:
    """One browser with one page at a time."""

    def __init__(self, playwright: Playwright, program: str) -> None:
        self._browser: Browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        self._page: Page | None = None
        self._noted: list[str] = []
        self._events: list[dict[str, Any]] = []

    @property
    def page(self) -> Page:
        """The open page."""
        assert self._page is not None
        return self._page

    def open(
        self, url: str, width: int = 1280, height: int = 860, scheme: str = "light", script: str = ""
    ) -> None:
        """A new page in a new profile; `script` runs before anything of the page does."""
        if self._page is not None:
            self._page.context.close()
        context = self._browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        context.set_default_timeout(PATIENCE)
        if script:
            context.add_init_script(script)
        self._noted = []
        self._page = page = context.new_page()
        own = url.partition("/inspect")[0]
        page.on("pageerror", lambda error: self._noted.append(f"error: {error}"))
        page.on("console", lambda message: self._console(message.type, message.text))
        page.on("dialog", lambda dialog: (self._noted.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("popup", lambda _popup: self._noted.append("popup"))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((own, "blob:", "data:", "file:"))
                else self._noted.append(f"request: {request.url}")
            ),
        )
        page.goto(url)

    def _console(self, kind: str, text: str) -> None:
        if kind == "error":
            self._noted.append(f"console: {text}")

    def noted(self) -> list[str]:
        """What the page did that it should not have done, since it was opened."""
        return self._noted

    def click(self, selector: str) -> None:
        """Click the first that fits."""
        self.page.locator(selector).first.click()

    def fill(self, selector: str, text: str) -> None:
        """Write into a field."""
        self.page.locator(selector).first.fill(text)

    def choose(self, selector: str, value: str) -> None:
        """Choose an option."""
        self.page.locator(selector).first.select_option(value)

    def press(self, selector: str, keys: str) -> None:
        """Press keys in an element, one after the other."""
        element = self.page.locator(selector).first
        for key in keys.split(" "):
            element.press(key)

    def text(self, selector: str) -> str:
        """The visible text of an element."""
        return self.page.locator(selector).first.inner_text()

    def texts(self, selector: str) -> list[str]:
        """The visible texts of all that fit."""
        return self.page.locator(selector).all_inner_texts()

    def count(self, selector: str) -> int:
        """How many fit."""
        return self.page.locator(selector).count()

    def attribute(self, selector: str, name: str) -> str | None:
        """An attribute of an element."""
        return self.page.locator(selector).first.get_attribute(name)

    def see(self, selector: str) -> None:
        """Wait until it is visible."""
        self.page.locator(selector).first.wait_for()

    def until(self, expression: str) -> None:
        """Wait until an expression is true.

        Playwright's own wait evaluates it in a timer of the page, which the page's policy forbids.
        """
        ends = time.monotonic() + PATIENCE / 1_000
        while not self.page.evaluate(expression):
            if time.monotonic() > ends:
                raise TimeoutError(f"{expression} was not true within {PATIENCE / 1_000:.0f} s")
            self.page.wait_for_timeout(50)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression."""
        return self.page.evaluate(expression)

    def saved(self, selector: str, path: str) -> None:
        """Click what downloads a file, and keep the file."""
        with self.page.expect_download() as download:
            self.click(selector)
        download.value.save_as(path)

    def shoot(self, path: str) -> None:
        """A picture of what is visible."""
        self.page.screenshot(path=path)

    def add_script(self, path: str) -> None:
        """Run a script of the tests in the page, past its policy, as a debugger does."""
        with open(path, encoding="utf-8") as code:  # noqa: PTH123
            self.page.evaluate(f"() => {{ {code.read()} }}")

    def watch_tasks(self) -> None:
        """Begin to note the processor time of every task of the page."""
        self._trace = self._browser.new_browser_cdp_session()
        self._events.clear()
        self._trace.on("Tracing.dataCollected", lambda told: self._events.extend(told["value"]))
        self._trace.on("Tracing.tracingComplete", lambda _told: self._events.append({"name": "end"}))
        options = {"includedCategories": ["toplevel"], "excludedCategories": ["*"]}
        self._trace.send("Tracing.start", {"traceConfig": options, "transferMode": "ReportEvents"})

    def longest_task(self) -> float:
        """The most processor time that a task of the page took since `watch_tasks`, in milliseconds."""
        self._trace.send("Tracing.end")
        while not any(one["name"] == "end" for one in self._events):
            self.page.wait_for_timeout(50)  # the events arrive while it waits
        threads = {
            (one["pid"], one["tid"])
            for one in self._events
            if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"
        }
        spent = [
            one.get("tdur", 0) / 1_000
            for one in self._events
            if one["name"].endswith("RunTask") and (one["pid"], one["tid"]) in threads
        ]
        return max(spent)

    def metrics(self, names: list[str]) -> dict[str, float]:
        """Figures of the browser about the page."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Performance.enable")
        found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        return {name: found[name] for name in names}


def main() -> None:
    """Do what standard input says until it ends."""
    with sync_playwright() as playwright:
        driver = Driver(playwright, sys.argv[1])
        for line in sys.stdin:
            told = json.loads(line)
            try:
                answer = {"value": getattr(driver, told["do"])(*told["with"], **told.get("named", {}))}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"[:3_000]}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
