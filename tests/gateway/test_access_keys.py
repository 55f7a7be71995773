"""Who comes in: keys, their dialects, and everybody who has none. Real HTTP through the application."""

from pathlib import Path

import pytest
from clients import AnthropicClient, converse, http, model
from gateway_keys import add_key, answering, ask, error_of, owned, revoke_key
from gateway_server import RunningGateway, settings_for

from plimsoll.archive import OPERATOR, key_owner
from plimsoll.errors import UserError
from plimsoll.gateway.access.key_cache import FRESH_SECONDS
from plimsoll.gateway.access.key_policy import is_loopback, needs_keys
from plimsoll.testing.scripted_server import ScriptedServer

DIALECTS = ("openai", "anthropic")


def test_without_keys_loopback_is_open_and_the_clients_key_is_sent_upstream(tmp_path: Path) -> None:
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        assert ask(gateway.url, key="client-key").status_code == 200
        assert server.requests[-1].headers["x-api-key"] == "client-key"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_key_is_asked_for_in_the_dialect_of_the_caller(tmp_path: Path, dialect: str) -> None:
    add_key(tmp_path)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        none, wrong, foreign = (
            ask(gateway.url, dialect, key=key)
            for key in ("", "plim-000000000000-" + "x" * 43, "sk-ant-somebody-elses")
        )
        for refused in (none, wrong, foreign):
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
            assert error_of(refused)["type"] == "authentication_error"
        assert "plimsoll gateway keys add" in error_of(none)["message"]
        assert "revoked" in error_of(wrong)["message"]
        if dialect == "openai":
            assert error_of(none)["code"] == "invalid_api_key"
        assert server.requests == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_key_opens_and_never_reaches_the_upstream(tmp_path: Path, dialect: str) -> None:
    key = add_key(tmp_path)
    with answering() as server, RunningGateway(settings_for(server, dialect), tmp_path) as gateway:
        for headers in ({"x-api-key": key}, {"authorization": f"Bearer {key}"}, {"x-plimsoll-key": key}):
            assert ask(gateway.url, dialect, **headers).status_code == 200
    assert len(server.requests) == 3
    for seen in server.requests:
        assert key not in str(seen.headers)
        assert not [name for name in seen.headers if name.lower().startswith("x-plimsoll")]


def test_a_client_may_send_its_own_upstream_key_and_a_gateway_key(tmp_path: Path) -> None:
    key = add_key(tmp_path)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        headers = {"x-api-key": "mine", "x-plimsoll-key": key}
        assert ask(gateway.url, **headers).status_code == 200
    assert server.requests[-1].headers["x-api-key"] == "mine"


def test_a_revoked_key_is_refused_and_does_not_open_the_gateway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll.gateway.access.key_cache.FRESH_SECONDS", 0.0)
    key = add_key(tmp_path)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        assert ask(gateway.url, key=key).status_code == 200
        revoke_key(tmp_path)
        assert ask(gateway.url, key=key).status_code == 401
        assert ask(gateway.url).status_code == 401
    assert FRESH_SECONDS <= 2  # what the documentation promises


def test_a_key_made_while_the_gateway_runs_opens_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll.gateway.access.key_cache.RETRY_SECONDS", 0.0)
    add_key(tmp_path)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        assert ask(gateway.url, key=add_key(tmp_path, "desk")).status_code == 200


@pytest.mark.rewrites_history("two callers hold the same conversation, each with a compaction of its own")
def test_a_session_belongs_to_the_caller_that_the_guard_saw_whatever_the_caller_says(tmp_path: Path) -> None:
    keys = [add_key(tmp_path, name) for name in ("one", "two")]
    ids = [key.split("-")[1] for key in keys]
    small = {"model": {"context_length": 8_000}, "compression": {"protect_last_n": 4}}
    with (
        ScriptedServer(model, window=8_000) as server,
        RunningGateway(settings_for(server, **small), tmp_path) as gateway,
    ):
        for key in keys:
            client = AnthropicClient(gateway.url)
            client.headers |= {"x-api-key": key, "x-plimsoll-caller": ids[0]}
            converse(client, 12)
    assert [len(owned(tmp_path, key_owner(id))) for id in ids] == [1, 1]
    assert len(owned(tmp_path, None)) == 2


def test_health_needs_no_key_and_figures_do(tmp_path: Path) -> None:
    key = add_key(tmp_path, reads=OPERATOR)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        assert http().get(gateway.url + "/healthz").json() == {"status": "ok"}
        assert http().get(gateway.url + "/readyz").status_code == 200
        assert http().get(gateway.url + "/metrics").status_code == 401
        assert http().get(gateway.url + "/metrics", headers={"x-api-key": key}).status_code == 200


@pytest.mark.parametrize(
    ("host", "rule", "has_keys", "needed"),
    [
        ("127.0.0.1", "auto", False, False),
        ("127.0.0.1", "auto", True, True),
        ("::1", "off", True, False),
        ("localhost", "required", True, True),
        ("0.0.0.0", "auto", True, True),
        ("192.168.1.7", "required", True, True),
    ],
)
def test_keys_are_needed_beyond_this_machine_and_once_there_are_some(host, rule, has_keys, needed) -> None:
    assert needs_keys(host, rule, has_keys) is needed


@pytest.mark.parametrize(
    ("host", "rule", "has_keys", "told"),
    [
        ("0.0.0.0", "auto", False, "does not listen on 0.0.0.0 without keys.*keys add NAME"),
        ("::", "off", True, "gateway.keys is off"),
        ("example.org", "required", False, "without keys"),
        ("127.0.0.1", "required", False, "there is no key"),
    ],
)
def test_the_gateway_does_not_start_on_a_public_address_without_keys(host, rule, has_keys, told) -> None:
    with pytest.raises(UserError, match=told):
        needs_keys(host, rule, has_keys)


def test_loopback_is_what_only_this_machine_reaches() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "a.localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.example.org", "")))
