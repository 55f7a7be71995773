"""Is every key charged exactly what the provider billed for it? Two keys, summaries in the background, failures.

python bench/accounting.py                  10,000 requests
python bench/accounting.py --requests 500   less of it

    key "busy"     long conversations that cross the threshold again and again; summaries are prepared and discarded
    key "quiet"    short requests, and a conversation that is compacted now and then
    clients        some leave before the answer, in the middle of a stream, or ask again
    upstream       refuses, fails, resets connections; its summaries come late, empty, as tool calls or not at all

Every message names its key, so what the scripted provider billed is known for each key to the token. The gateway runs
as a process of its own with `gateway.on_disconnect: finish`: only a reply that is read to its end says what it used.
Bar: no key differs from its bill by a single token, and no request has words of both keys.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from plimsoll.archive.key_format import new_key
from plimsoll.archive.keys import KeyLimits, KeyUsage
from plimsoll.archive.open_archive import open_archive
from plimsoll.dialects import ChatRequest
from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say

KEYS = ("busy", "quiet")
WINDOW = 6_000
TURNS = 14  # of one conversation: enough for two compactions
CLIENTS = 4  # conversations at a time, for each key
FILLER = "The harbour master wrote down every ship, its draught, its cargo and its line. "
SUMMARY = "## Goal\nKeep the log of {key}.\n## Progress\n### Done\n- {key}: ships were written down.\n"
_NAMED = re.compile(r"\b(busy|quiet)-\d+-\d+\b")
_IDLE_SECONDS = 0.05
_LOOK_SECONDS = 1.0
CONFIG = """
model: {{provider: scripted, base_url: "{url}", context_length: {window}}}
compression: {{protect_last_n: 4}}
auxiliary: {{compression: {{model: small, provider: custom, base_url: "{url}", idle_timeout: {idle}}}}}
gateway: {{log: "off"{more}}}
"""


def key_of(request: ChatRequest) -> str:
    """Whose words a request has; `both` where it has those of two keys."""
    found = {name for message in request.messages for name in _NAMED.findall(text_of(message))}
    return found.pop() if len(found) == 1 else "both" if found else "nobody"


def is_summary(request: ChatRequest) -> bool:
    return request.model == "small"


class Upstream:
    """What the provider answers: mostly something useful. Used from the server's threads."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def __call__(self, request: ChatRequest):  # type: ignore[no-untyped-def]
        luck = self._chance.random()
        if is_summary(request):
            told = say(SUMMARY.format(key=key_of(request)))
            if luck < 0.10:
                return fault(500)
            if luck < 0.20:
                return fault("slow", seconds=4 * _IDLE_SECONDS, then=told)
            return fault("empty") if luck < 0.25 else call("look", at="it") if luck < 0.30 else told
        if luck < 0.04:
            return fault(self._chance.choice([429, 500, 529, "reset"]))
        return say(f"I have written that down. {FILLER * self._chance.randint(1, 3)}")


@dataclass(slots=True)
class Run:
    """Clients at work. `left` is how many requests they may still make."""

    url: str
    keys: dict[str, str]
    left: int
    total: int
    seed: int
    ended: Counter[str] = field(default_factory=Counter)
    shown: float = 0.0

    async def all(self) -> None:
        """Conversations of both keys until there are enough requests."""
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=120, limits=limits) as http:
            await asyncio.gather(
                *(self._converse(http, key, number) for key in KEYS for number in range(CLIENTS))
            )

    async def _converse(self, http: httpx.AsyncClient, key: str, number: int) -> None:
        chance = random.Random(f"{self.seed} {key} {number}")
        while self.left > 0:
            number += CLIENTS
            turns = TURNS if key == "busy" or number % (4 * CLIENTS) < CLIENTS else 2
            history: list[dict[str, str]] = [{"role": "system", "content": "Be brief."}]
            for turn in range(turns):
                if self.left <= 0:
                    return
                self.left -= 1
                said = f"{key}-{number}-{turn} {FILLER * chance.randint(8, 20)}"
                history.append({"role": "user", "content": said})
                ending = await self._ask(http, key, history, chance)
                self.ended[ending] += 1
                # Those who left before the answer ask again with another last message.
                if ending != "answered":
                    history.pop()
                self._show()

    async def _ask(
        self, http: httpx.AsyncClient, key: str, history: list[dict[str, str]], chance: random.Random
    ) -> str:
        stream, leaves = chance.random() < 0.5, chance.random() < 0.08
        body = {"model": "gpt-4.1", "max_tokens": 200, "messages": history, "stream": stream}
        headers = {"authorization": f"Bearer {self.keys[key]}"}
        try:
            async with asyncio.timeout(chance.uniform(0.001, 0.05) if leaves else 120):
                reply = await http.post(f"{self.url}/v1/chat/completions", json=body, headers=headers)
        except (TimeoutError, httpx.TransportError):
            return "left" if leaves else "broken"
        if reply.status_code != 200:
            return f"status {reply.status_code}"
        history.append({"role": "assistant", "content": _text(reply.text, stream)})
        return "answered"

    def _show(self) -> None:
        if sys.stderr.isatty() and time.monotonic() - self.shown > 1:
            self.shown = time.monotonic()
            print(f"\r{self.total - self.left:,} of {self.total:,} requests", end="", file=sys.stderr)


def _text(body: str, stream: bool) -> str:
    if not stream:
        return str(json.loads(body)["choices"][0]["message"]["content"])
    events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
    return "".join(one["delta"].get("content") or "" for event in events for one in event.get("choices", ()))


@contextmanager
def gateway(home: Path, port: int, errors: Path) -> Iterator[str]:
    """`plimsoll gateway` as a process; its address. It is ended in good order."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    command = [sys.executable, "-m", "plimsoll.gateway", "--port", str(port)]
    with errors.open("w") as told:
        running = subprocess.Popen(command, env={**environment, "PLIMSOLL_HOME": str(home)}, stderr=told)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1_200):
            assert running.poll() is None, errors.read_text()
            try:
                if httpx.get(f"{url}/healthz").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.05)
        yield url
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(120)


async def _add_keys(home: Path) -> dict[str, str]:
    made = {name: new_key() for name in KEYS}
    async with await open_archive(None, home) as store:
        for name, key in made.items():
            await store.keys.add(key.id, name, key.digest, KeyLimits(tokens_per_day=10**12))
    return {name: key.text for name, key in made.items()}


async def charged(home: Path) -> dict[str, int]:
    """Tokens that the gateway counted for each key."""
    async with await open_archive(None, home) as store:
        book = await store.keys.snapshot()
        return {key.name: book.today.get(key.id, KeyUsage()).tokens for key in book.keys}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was billed and charged, by key, and what happened."""

    billed: dict[str, int]
    charged: dict[str, int]
    summaries: dict[str, int]  # tokens of them, by key
    happened: Counter[str]

    @property
    def is_exact(self) -> bool:
        return self.billed == self.charged


def account(
    requests: int, home: Path, port: int, *, more: str = ", on_disconnect: finish", seed: int = 1
) -> Outcome:
    """Run so many requests of two keys, and compare; `more` are further settings of the gateway."""
    with ScriptedServer(Upstream(seed)) as server:
        config = CONFIG.format(url=server.openai_url, window=WINDOW, idle=_IDLE_SECONDS, more=more)
        (home / "config.yaml").write_text(config, "utf-8")
        keys = asyncio.run(_add_keys(home))
        with gateway(home, port, home / "errors.txt") as url:
            run = Run(url, keys, requests, requests, seed)
            asyncio.run(run.all())
            _wait_until_idle(server)
        billed = dict.fromkeys(KEYS, 0)
        summaries = dict.fromkeys(KEYS, 0)
        for one in server.requests:
            if one.usage is None or one.request is None:
                continue
            tokens, key = one.usage.prompt_tokens + one.usage.completion_tokens, key_of(one.request)
            billed[key] = billed.get(key, 0) + tokens
            if is_summary(one.request):
                summaries[key] = summaries.get(key, 0) + tokens
                run.ended[f"summaries of {key}"] += 1
    return Outcome(billed, asyncio.run(charged(home)), summaries, run.ended)


def _wait_until_idle(server: ScriptedServer) -> None:
    """Until the upstream has answered everything and nothing more comes."""
    seen = -1
    while seen != len(server.requests) or not all(one.is_done for one in server.requests):
        seen = len(server.requests)
        time.sleep(_LOOK_SECONDS)


def main() -> int:
    """Run, print, and say whether the bar holds."""
    from gateway import free_port

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        found = account(asked.requests, Path(home), free_port(), seed=asked.seed)
    print(f"\n{asked.requests:,} requests: {dict(sorted(found.happened.items()))}")
    for key in sorted(found.billed):
        difference = found.charged.get(key, 0) - found.billed[key]
        print(
            f"{key:6} billed {found.billed[key]:>12,} tokens ({found.summaries.get(key, 0):,} of summaries), "
            f"charged {found.charged.get(key, 0):>12,}, difference {difference:+,} (bar 0)"
        )
    return int(not found.is_exact)


if __name__ == "__main__":
    sys.exit(main())
