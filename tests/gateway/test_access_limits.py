"""A key's limits on requests, tokens and money, over all processes; and limits on every request."""

import asyncio
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from clients import http
from gateway_keys import ASK, MODELS, PATHS, add_key, answering, ask, error_of, gateway_program, used_so_far
from gateway_server import RunningGateway, settings_for
from postgres_server import server as postgres

from plimsoll.archive.keys import DAY, KeyUsage
from plimsoll.archive.open_archive import open_archive
from plimsoll.errors import ArchiveError
from plimsoll.gateway.access.key_cache import KeyCache, KeysUnknown
from plimsoll.testing.scripted_server import ScriptedServer, fault, say


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """The archive that gateways share."""
    return None if request.param == "sqlite" else postgres().url_for(tmp_path)


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_one_request_too_many_in_a_minute_gets_a_retry_time(tmp_path: Path, dialect: str) -> None:
    key = add_key(tmp_path, requests_per_minute=3)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        answers = [ask(gateway.url, dialect, key=key) for _ in range(8)]
    refused = answers[-1]
    assert 3 <= [one.status_code for one in answers].count(200) <= 6  # a minute may end meanwhile
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert "may send 3 requests per minute" in error_of(refused)["message"]
    assert error_of(refused)["type"] == "rate_limit_error"
    if dialect == "openai":
        assert error_of(refused)["code"] == "rate_limit_exceeded"


def test_two_gateways_on_one_archive_give_out_one_limit(tmp_path: Path, url: str | None) -> None:
    key = add_key(tmp_path, url=url, requests_per_minute=40)
    with (
        answering() as server,
        RunningGateway(settings_for(server, archive={"url": url}), tmp_path) as one,
        RunningGateway(settings_for(server, archive={"url": url}), tmp_path) as other,
        ThreadPoolExecutor(4) as threads,
    ):
        answers = list(threads.map(lambda n: ask((one, other)[n % 2].url, key=key), range(100)))
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) == {200, 429}
    assert 36 <= statuses[200] <= 80  # 40 in each minute that this touched, less what stayed in a share
    assert used_so_far(tmp_path, url)["laptop"].requests == statuses[200]


@pytest.mark.parametrize(
    ("limits", "told", "code"),
    [
        ({"tokens_per_day": 5}, "may use 5 tokens a day and has used", "insufficient_quota"),
        ({"money_per_day": 0.000001}, "may spend 0.00 USD a day", "insufficient_quota"),
    ],
)
def test_what_replies_have_used_ends_a_day(tmp_path: Path, limits, told: str, code: str) -> None:
    key = add_key(tmp_path, **limits)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        assert ask(gateway.url, key=key).status_code == 200
        refused = ask(gateway.url, "openai", key=key)
        assert refused.status_code == 429
        assert told in error_of(refused)["message"]
        assert error_of(refused)["code"] == code
        assert refused.headers["x-should-retry"] == "false"
        assert 1 <= int(refused.headers["retry-after"]) <= DAY
    used = used_so_far(tmp_path)["laptop"]
    assert used.requests == 1
    assert used.tokens > 5
    assert used.money > 0


def test_tokens_that_one_gateway_saw_count_for_the_other_and_after_a_restart(
    tmp_path: Path, url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll.gateway.access.key_cache.FRESH_SECONDS", 0.0)
    key = add_key(tmp_path, url=url, tokens_per_day=5)
    with answering() as server:
        settings = settings_for(server, archive={"url": url})
        with RunningGateway(settings, tmp_path) as other:
            with RunningGateway(settings, tmp_path) as one:
                assert ask(one.url, key=key).status_code == 200
            assert ask(other.url, key=key).status_code == 429
        with RunningGateway(settings, tmp_path) as later:
            assert ask(later.url, key=key).status_code == 429


def test_a_client_that_leaves_early_pays_for_what_it_asked(tmp_path: Path) -> None:
    key = add_key(tmp_path)
    slow = fault("slow", between=0.2, then=say("word " * 400))
    with ScriptedServer([slow]) as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        body = {"model": MODELS["anthropic"], **ASK, "max_tokens": 9_000, "stream": True}
        with http().stream(
            "POST", gateway.url + PATHS["anthropic"], json=body, headers={"x-api-key": key}
        ) as reply:
            next(reply.iter_bytes())
    assert used_so_far(tmp_path)["laptop"].tokens > 0


class Store:
    """The keys of a real archive, and how often they were asked for."""

    def __init__(self, inner) -> None:
        self._inner, self.asked = inner, Counter()

    def __getattr__(self, name: str):
        async def counted(*arguments):
            self.asked[name] += 1
            return await getattr(self._inner, name)(*arguments)

        return counted


def test_a_thousand_requests_hardly_ever_ask_the_store(tmp_path: Path) -> None:
    text = add_key(tmp_path, requests_per_minute=100_000, tokens_per_day=10**9)

    async def run() -> Counter:
        async with await open_archive(None, tmp_path) as archive:
            store = Store(archive.keys)
            key_cache = KeyCache(store)
            for _ in range(1_000):
                key = await key_cache.find(text)
                assert key is not None
                await key_cache.admit(key)
                async with key_cache.usage.reserve(key, KeyUsage(tokens=500)):
                    key_cache.usage.spent(key.id, KeyUsage(tokens=10))
            await key_cache.close()
            return store.asked

    asked = asyncio.run(run())
    assert used_so_far(tmp_path)["laptop"] == KeyUsage(1_000, 10_000, 0.0)
    assert asked.total() <= 14


def test_a_store_that_is_briefly_unavailable_rejects_no_known_key(tmp_path: Path) -> None:
    text = add_key(tmp_path)
    now = [0.0]

    async def run() -> None:
        archive = await open_archive(None, tmp_path)
        store = Store(archive.keys)
        key_cache = KeyCache(store, clock=lambda: now[0])
        assert await key_cache.find(text) is not None
        store._inner = Silent()
        for now[0] in (5.0, 10.0, 59.0):
            assert await key_cache.find(text) is not None
        now[0] = 61.0
        with pytest.raises(KeysUnknown, match="cannot check keys"):
            await key_cache.find(text)
        await archive.close()

    asyncio.run(run())


class Silent:
    async def snapshot(self):
        raise ArchiveError("The server is gone.")


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_body_too_large_or_too_deep_is_refused_in_the_callers_dialect(tmp_path: Path, dialect: str) -> None:
    limits = {"gateway": {"body_limit": 5_000, "depth_limit": 12}}
    with answering() as server, RunningGateway(settings_for(server, **limits), tmp_path) as gateway:
        large = http().post(gateway.url + PATHS[dialect], content=b'{"a":"' + b"x" * 6_000 + b'"}')
        deep = http().post(gateway.url + PATHS[dialect], content=json.dumps(nested(40)))
        assert ask(gateway.url, dialect).status_code == 200
    assert (large.status_code, deep.status_code) == (413, 400)
    assert "more than 5,000 bytes" in error_of(large)["message"]
    assert "more than 12 levels" in error_of(deep)["message"]
    assert len(server.requests) == 1


def nested(depth: int) -> dict:
    return {"messages": nested(depth - 1)} if depth else {}


def test_limits_apply_to_all_processes_of_one_gateway_together(tmp_path: Path) -> None:
    key = add_key(tmp_path / "home", requests_per_minute=20)
    with (
        answering() as server,
        gateway_program(tmp_path / "home", server, "--workers", "2") as (url, _),
        ThreadPoolExecutor(8) as threads,
    ):
        statuses = Counter(one.status_code for one in threads.map(lambda _: ask(url, key=key), range(80)))
    assert set(statuses) == {200, 429}
    assert 15 <= statuses[200] <= 40
