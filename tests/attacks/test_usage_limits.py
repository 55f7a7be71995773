"""Nobody uses more than the limits of a key allow, and nobody is refused who stays below them."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from clients import http
from gateway_keys import ASK, MODELS, PATHS, add_key, answering, ask, gateway_program, used_so_far
from gateway_server import RunningGateway, settings_for
from hostile_upstream import HostileUpstream, Reply, Sent
from postgres_server import server as postgres
from postgres_server import stop

from plimsoll.archive import OPERATOR
from plimsoll.archive.keys import AccessKey, KeyLimits, KeyUsage
from plimsoll.archive.open_archive import open_archive
from plimsoll.dialects import dialect_named
from plimsoll.errors import UsageLimitReached
from plimsoll.gateway.access.usage_limits import UsageAccounts
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.metering import max_reply_tokens
from plimsoll.models import card_for, estimate_tokens
from plimsoll.testing.scripted_server import ScriptedServer, fault, say

LONG = "The harbour master wrote down every ship that came in. " * 2_000
REQUESTS = 200


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    yield
    stop()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    return None if request.param == "sqlite" else postgres().url_for(tmp_path)


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def streamed(dialect: str, **more: object) -> dict[str, object]:
    messages = ASK["messages"]
    return {
        "model": MODELS[dialect],
        "messages": messages,
        "max_tokens": 20_000,
        "stream": True,
        **more,
    }


def test_a_stream_without_include_usage_counts_all_that_it_used(tmp_path: Path) -> None:
    key = add_key(tmp_path)
    with ScriptedServer([say(LONG)]) as server:
        with RunningGateway(settings_for(server, "openai"), tmp_path) as gateway:
            reply = http().post(gateway.url + PATHS["openai"], json=streamed("openai"), headers=bearer(key))
        (usage,) = [one.usage for one in server.requests if one.usage]
    assert usage.completion_tokens > 10_000
    assert used_so_far(tmp_path)["laptop"].tokens == usage.prompt_tokens + usage.completion_tokens
    events = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
    assert "".join(choice["delta"].get("content") or "" for e in events for choice in e["choices"]) == LONG
    assert not any("usage" in event or event["choices"] == [] for event in events)
    assert reply.text.rstrip().splitlines()[-1] == "data: [DONE]" or ": plimsoll" in reply.text


def test_a_client_that_asks_for_usage_still_gets_it(tmp_path: Path) -> None:
    key = add_key(tmp_path)
    with (
        answering() as server,
        RunningGateway(settings_for(server, "openai"), tmp_path) as gateway,
    ):
        body = streamed("openai", stream_options={"include_usage": True})
        reply = http().post(gateway.url + PATHS["openai"], json=body, headers=bearer(key))
    last = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")][-1]
    assert last["usage"]["completion_tokens"] > 0


def test_an_upstream_that_refuses_to_report_usage_is_asked_without_it(tmp_path: Path) -> None:
    key = add_key(tmp_path)

    def strict(request):
        if request.include_usage:
            return fault(422, message="Extra inputs are not permitted: stream_options")
        return say(LONG)

    with (
        ScriptedServer(strict) as server,
        RunningGateway(settings_for(server, "openai"), tmp_path) as gateway,
    ):
        replies = [
            http().post(gateway.url + PATHS["openai"], json=streamed("openai"), headers=bearer(key))
            for _ in range(2)
        ]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert [one.status for one in server.requests] == [422, 200, 200]
    assert used_so_far(tmp_path)["laptop"].tokens > 2 * 0.8 * estimate_tokens(LONG)


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
@pytest.mark.parametrize("upstream", ["openai", "anthropic"])
def test_leaving_a_stream_early_counts_what_had_arrived(tmp_path: Path, dialect: str, upstream: str) -> None:
    key = add_key(tmp_path)
    slow = fault("slow", between=0.001, then=say(LONG))
    received = 0
    with (
        ScriptedServer([slow]) as server,
        RunningGateway(settings_for(server, upstream), tmp_path) as gateway,
    ):
        model = {"model": MODELS[upstream]}
        with http().stream(
            "POST", gateway.url + PATHS[dialect], json=streamed(dialect, **model), headers=bearer(key)
        ) as reply:
            for line in reply.iter_lines():
                received += line.startswith("data: {") and "harbour" in line
                if received > 100:
                    break
    # Each event that speaks of the harbour has at least that word.
    assert used_so_far(tmp_path)["laptop"].tokens >= 200


def test_leaving_before_a_whole_reply_counts_the_prompt_and_the_time_that_the_upstream_had(
    tmp_path: Path,
) -> None:
    key = add_key(tmp_path)
    body = {**streamed("openai"), "stream": False, "messages": [{"role": "user", "content": LONG}]}
    with (
        ScriptedServer([fault("hang")]) as server,
        RunningGateway(settings_for(server, "openai"), tmp_path) as gateway,
        pytest.raises(httpx.ReadTimeout),
    ):
        http().post(gateway.url + PATHS["openai"], json=body, headers=bearer(key), timeout=1.0)
    used = used_so_far(tmp_path)["laptop"].tokens
    assert used > 0.8 * estimate_tokens(LONG) + 50


@pytest.mark.parametrize("order", [1, -1])
def test_the_larger_of_two_limits_on_a_reply_is_reserved(order: int) -> None:
    """Upstreams differ in which of the two fields counts."""
    limits = dict([("max_tokens", 1), ("max_completion_tokens", 9_000)][::order])
    request = ClientRequest(
        dialect_named("openai"), b"{}", {"model": "gpt-4.1", "n": 2, **limits}, (), OPERATOR
    )
    assert max_reply_tokens(request, card_for("gpt-4.1")) == 18_000


def test_a_cancelled_turn_of_a_session_counts_what_it_used(tmp_path: Path) -> None:
    key = add_key(tmp_path)
    slow = fault("slow", between=0.001, then=say(LONG))
    with ScriptedServer([slow]) as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        sessions = f"{gateway.url}/sessions"
        id = http().post(sessions, json={}, headers=bearer(key)).json()["id"]
        said = {"content": "Read the log.", "stream": True, "on_disconnect": "cancel"}
        with http().stream("POST", f"{sessions}/{id}/messages", json=said, headers=bearer(key)) as reply:
            pieces = 0
            for line in reply.iter_lines():
                pieces += "harbour" in line
                if pieces > 50:
                    break
    assert used_so_far(tmp_path)["laptop"].tokens >= 100


def test_usage_that_is_being_written_counts(tmp_path: Path) -> None:
    """A request that comes while the store takes down what was used does not slip through."""

    class Slow:
        """The keys of a real archive, which take down usage only when they are told to."""

        def __init__(self, inner) -> None:
            self._inner, self.began, self.may_go = inner, asyncio.Event(), asyncio.Event()

        async def settle(self, *arguments):
            self.began.set()
            await self.may_go.wait()
            await self._inner.settle(*arguments)

        async def reserve(self, *arguments):
            return await self._inner.reserve(*arguments)

    async def run() -> None:
        async with await open_archive(None, tmp_path) as archive:
            await archive.keys.add("id", "laptop", b"digest", KeyLimits(tokens_per_day=100))
            store = Slow(archive.keys)
            key = AccessKey("id", "laptop", b"digest", KeyLimits(tokens_per_day=100), 0.0)
            accounts = UsageAccounts(store, "process")
            async with accounts.reserve(key, KeyUsage(tokens=90)):
                accounts.spent("id", KeyUsage(tokens=150))
            await store.began.wait()
            with pytest.raises(UsageLimitReached, match="may use 100 tokens a day and has used 150"):
                accounts.refuse_if_used_up(key)
            store.may_go.set()
            await accounts.close()

    asyncio.run(run())


async def together(urls: list[str], key: str) -> Counter[int]:
    """So many requests at once, each on a connection of its own, spread over the gateways."""
    body = {"model": MODELS["anthropic"], **ASK}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=120, limits=limits) as client:

        async def one(number: int) -> int:
            path = urls[number % len(urls)] + PATHS["anthropic"]
            return (await client.post(path, json=body, headers=bearer(key))).status_code

        return Counter(await asyncio.gather(*(one(number) for number in range(REQUESTS))))


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("lie", [-5, -0.5, 10**9, 2**53 - 1, 10**30, 1e308, "12", True, None, [1], {"a": 1}])
def test_an_upstream_that_reports_impossible_usage_is_not_believed(
    tmp_path: Path, lie: object, is_stream: bool
) -> None:
    key = add_key(tmp_path, tokens_per_day=10_000, money_per_day=1.0)
    names = ("prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens")
    usage = json.dumps(dict.fromkeys(names, lie))
    text = "hello " * 50
    whole = f'{{"choices":[{{"message":{{"role":"assistant","content":"{text}"}}}}],"usage":{usage}}}'
    events = (
        f'data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}\n\n',
        f'data: {{"choices":[],"usage":{usage}}}\n\ndata: [DONE]\n\n',
    )

    def answer(_sent: Sent) -> Reply:
        if is_stream:
            return Reply(content_type="text/event-stream", pieces=[event.encode() for event in events])
        return Reply(body=whole.encode())

    ask_it = {"model": MODELS["openai"], "stream": is_stream, **ASK}
    with (
        HostileUpstream(answer) as upstream,
        RunningGateway(upstream.settings("openai"), tmp_path, environ={"OPENAI_API_KEY": "k"}) as gateway,
    ):
        for _ in range(2):
            reply = http().post(gateway.url + PATHS["openai"], json=ask_it, headers=bearer(key))
            assert reply.status_code == 200, reply.text
    used = used_so_far(tmp_path)["laptop"]
    assert 0 < used.tokens < 1_000
    assert 0 < used.money < 0.01


def worth(tmp_path: Path) -> int:
    """The tokens of one request."""
    with answering() as server, RunningGateway(settings_for(server), tmp_path / "alone") as gateway:
        assert ask(gateway.url).status_code == 200
    (usage,) = [one.usage for one in server.requests if one.usage]
    return usage.prompt_tokens + usage.completion_tokens


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_two_hundred_requests_at_once_on_two_processes_keep_a_limit(
    tmp_path: Path, url: str | None, share: float
) -> None:
    """A quarter fits: it is exceeded by one request at most. All fit: all are served."""
    home, each = tmp_path / "home", worth(tmp_path)
    limit = int(share * REQUESTS) * each
    key = add_key(home, url=url, tokens_per_day=limit)
    config = f"archive:\n  url: {url}\n" if url else ""
    slow = fault("slow", seconds=0.1, then=say("On the mast."))
    with ScriptedServer(lambda _request: slow) as server, ExitStack() as stack:
        urls = [stack.enter_context(gateway_program(home, server, config=config))[0] for _ in range(2)]
        statuses = asyncio.run(together(urls, key))
    used = used_so_far(home, url)["laptop"].tokens
    assert set(statuses) <= {200, 429}
    assert used == statuses[200] * each
    assert used <= limit + each
    assert statuses[200] >= share * REQUESTS
