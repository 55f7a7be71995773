"""What an operator sees of a gateway: health, and figures for Prometheus, of one process and of several."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path

import pytest
from clients import AnthropicClient, converse, http, model
from gateway_keys import add_key, answering, ask, gateway_program
from gateway_server import RunningGateway, settings_for
from postgres_server import server as postgres

from plimsoll.archive import OPERATOR
from plimsoll.gateway.telemetry.health import Readiness
from plimsoll.testing.scripted_server import ScriptedServer


def figures(url: str, **headers: str) -> dict[str, float]:
    """Every figure by its name and labels."""
    text = http().get(url + "/metrics", headers=headers).text
    found = re.findall(r"^(plimsoll_\S+?(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def test_requests_tokens_and_money_are_counted(tmp_path: Path) -> None:
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        for _ in range(3):
            ask(gateway.url)
        http().get(gateway.url + "/nowhere/with/a/secret")
        http().get(gateway.url + "/v1/models/claude-sonnet-4.5")
        found = figures(gateway.url)
    usage = [seen.usage for seen in server.requests if seen.usage]
    assert found['plimsoll_requests_total{path="/v1/messages",status="200"}'] == 3
    assert found['plimsoll_requests_total{path="other",status="404"}'] == 1
    assert 'plimsoll_requests_total{path="/v1/models/{name}",status="200"}' in found
    tokens = {
        kind: found.get(f'plimsoll_tokens_total{{kind="{kind}",model="claude-sonnet-4.5"}}', 0)
        for kind in ("input", "cache_read", "cache_write", "output")
    }
    assert tokens["output"] == sum(one.completion_tokens for one in usage)
    assert sum(tokens.values()) == sum(one.prompt_tokens + one.completion_tokens for one in usage)
    assert found['plimsoll_cost_usd_total{model="claude-sonnet-4.5"}'] > 0
    for name in ("plimsoll_request_seconds", "plimsoll_first_byte_seconds"):
        assert found[f'{name}_count{{path="/v1/messages"}}'] == 3
    assert found["plimsoll_gateway_seconds_count"] == 3
    assert found["plimsoll_requests_under_way"] == 1  # the one that asks


def test_compactions_and_what_is_read_from_the_cache_are_counted(tmp_path: Path) -> None:
    small = {"model": {"context_length": 8_000}, "compression": {"protect_last_n": 4}}
    with (
        ScriptedServer(model, window=8_000) as server,
        RunningGateway(settings_for(server, **small), tmp_path) as gateway,
    ):
        converse(AnthropicClient(gateway.url), 16)
        found = figures(gateway.url)
    assert found['plimsoll_compactions_total{outcome="compacted",trigger="threshold"}'] >= 1
    assert found["plimsoll_compacted_tokens_total"] > 0
    assert found["plimsoll_compaction_wait_seconds_count"] >= 1
    assert found['plimsoll_tokens_total{kind="cache_read",model="claude-sonnet-4.5"}'] > 0


def test_refusals_are_counted_by_their_reason_and_no_caller_is_named(tmp_path: Path) -> None:
    key = add_key(tmp_path, "laptop", requests_per_minute=2)
    other, watcher = add_key(tmp_path, "phone"), add_key(tmp_path, "prometheus", reads=OPERATOR)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        ask(gateway.url)
        for _ in range(6):
            ask(gateway.url, key=key)
        http().post(gateway.url + "/v1/messages", content=b"{", headers={"x-api-key": other})
        text = http().get(gateway.url + "/metrics", headers={"x-api-key": watcher}).text
        found = figures(gateway.url, **{"x-api-key": watcher})
    assert found['plimsoll_refusals_total{reason="key"}'] == 1
    assert found['plimsoll_refusals_total{reason="requests"}'] >= 2
    assert found['plimsoll_refusals_total{reason="invalid_request_error"}'] == 1
    assert "laptop" not in text


def test_a_configured_model_has_a_label_of_its_own_and_invented_ones_share_one(tmp_path: Path) -> None:
    settings = {"model": {"name": "our-own-model"}}
    with answering() as server, RunningGateway(settings_for(server, **settings), tmp_path) as gateway:
        for name in ("our-own-model", "m1", "m2"):
            body = {"model": name, "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]}
            assert http().post(gateway.url + "/v1/messages", json=body).status_code == 200
        models = set(re.findall(r'model="([^"]+)"', http().get(gateway.url + "/metrics").text))
    assert models == {"our-own-model", "other"}


@pytest.mark.rewrites_history("many conversations at once")
def test_whichever_process_is_asked_has_the_figures_of_all(tmp_path: Path) -> None:
    with answering() as server, gateway_program(tmp_path, server, "--workers", "2") as (url, _):
        for _ in range(12):
            # A connection of its own each time, so that both processes serve some.
            assert ask(url, connection="close").status_code == 200
        counted = {
            figures(url, connection="close")['plimsoll_requests_total{path="/v1/messages",status="200"}']
            for _ in range(8)
        }
    assert counted == {12.0}


def test_metrics_false_shows_nothing(tmp_path: Path) -> None:
    settings = {"gateway": {"metrics": False}}
    with answering() as server, RunningGateway(settings_for(server, **settings), tmp_path) as gateway:
        assert ask(gateway.url).status_code == 200
        assert http().get(gateway.url + "/metrics").status_code == 404


def test_readiness_does_not_wait_for_a_look_that_cannot_be_ended_and_begins_no_second_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("plimsoll.gateway.telemetry.health.KEPT_SECONDS", 0.0)
    monkeypatch.setattr("plimsoll.gateway.telemetry.health.CHECK_SECONDS", 0.01)

    async def run() -> None:
        answers, begun = asyncio.Event(), 0

        async def look() -> None:
            nonlocal begun
            begun += 1
            while not answers.is_set():
                with suppress(asyncio.CancelledError):
                    await answers.wait()

        readiness = Readiness({"archive": look})
        assert [await readiness.found() for _ in "ab"] == [{"archive": "unreachable"}] * 2
        assert begun == 1
        answers.set()
        assert await readiness.found() == {"archive": "ok"}

    asyncio.run(run())


def test_ready_means_that_the_archive_answers_and_an_upstream_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll.gateway.telemetry.health.KEPT_SECONDS", 0.0)
    here = postgres()
    url = here.url_for(tmp_path)
    settings = {"archive": {"url": url}}
    with answering() as server, RunningGateway(settings_for(server, **settings), tmp_path) as gateway:
        ready = http().get(gateway.url + "/readyz")
        assert ready.json() == {"status": "ok", "archive": "ok", "upstream": "ok"}
        here.stand_still()
        try:
            stuck = http().get(gateway.url + "/readyz")
            assert http().get(gateway.url + "/healthz").status_code == 200
        finally:
            here.go_on()
        assert stuck.status_code == 503
        assert stuck.json() == {"status": "not ready", "archive": "unreachable", "upstream": "ok"}
        assert http().get(gateway.url + "/readyz").status_code == 200
    assert server.requests == []
