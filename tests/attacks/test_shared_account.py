"""What callers leave in an account that they share: the upstream's, under the gateway's own key."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
from clients import http
from gateway_keys import add_key
from gateway_server import RunningGateway
from hostile_upstream import HostileUpstream, Reply, Sent

from plimsoll.config import Settings

OWN, MINE = "sk-gateway-own-key-0123456789abcdef", "sk-my-own-provider-key-0123456789"
ANSWERED = "resp_" + "4f" * 24
FIELDS = {
    "previous_response_id": ANSWERED,
    "conversation": {"id": "conv_" + "5a" * 24},
    "background": True,
}
PATHS = ("/v1/responses", "/v1/responses/compact", "/v1/responses/input_tokens")


def answer(_sent: Sent) -> Reply:
    said = {"type": "output_text", "text": "Aye.", "annotations": []}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [said],
    }
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    body = {"id": ANSWERED, "object": "response", "status": "completed", "model": "gpt-4.1"}
    return Reply(body=json.dumps({**body, "output": [message], "usage": usage}).encode())


@dataclass
class Gateways:
    """`shared` sends its own key to the upstream, `plain` its callers'; `local` has callers without keys."""

    upstream: HostileUpstream
    shared: RunningGateway
    plain: RunningGateway
    local: RunningGateway
    victim: str
    attacker: str
    plain_key: str


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateways]:
    homes = [tmp_path_factory.mktemp(name) for name in ("shared", "plain", "local")]
    keys = add_key(homes[0], "victim"), add_key(homes[0], "attacker"), add_key(homes[1])
    with HostileUpstream(answer) as upstream:
        place = {"OPENAI_BASE_URL": f"{upstream.url}/v1"}
        own = {**place, "OPENAI_API_KEY": OWN}
        with (
            RunningGateway(Settings(), homes[0], environ=own) as shared,
            RunningGateway(Settings(), homes[1], environ=place) as plain,
            RunningGateway(Settings(), homes[2], environ=own) as local,
        ):
            yield Gateways(upstream, shared, plain, local, *keys)


def respond(
    gateway: RunningGateway, key: str, path: str = PATHS[0], own: str = "", **fields: object
) -> httpx.Response:
    body = {"model": "gpt-4.1", "input": "What did I say before?", **fields}
    headers = {"x-plimsoll-key": key} if key else {}
    headers |= {"authorization": f"Bearer {own}"} if own else {}
    return http().post(gateway.url + path, json=body, headers=headers)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("field", FIELDS)
def test_what_the_shared_account_stores_is_not_used_with_the_gateways_key(
    gateways: Gateways, field: str, path: str
) -> None:
    assert respond(gateways.shared, gateways.victim, store=True).status_code == 200
    before = len(gateways.upstream.requests)
    for more in ({}, {"stream": True}):
        refused = respond(gateways.shared, gateways.attacker, path, **{field: FIELDS[field]}, **more)
        assert refused.status_code == 403, refused.text
        assert field in refused.text
    assert gateways.upstream.requests[before:] == []


def test_another_callers_response_is_refused_like_one_that_nobody_has(gateways: Gateways) -> None:
    assert respond(gateways.shared, gateways.victim).status_code == 200
    ids = (ANSWERED, "resp_" + "00" * 24, "\x00", "\ud800", "x" * 100_000)
    refused = [
        http().post(
            gateways.shared.url + PATHS[0],
            content=json.dumps({"model": "gpt-4.1", "input": "go on", "previous_response_id": id}),
            headers={"x-plimsoll-key": gateways.attacker},
        )
        for id in ids
    ]
    assert {(one.status_code, one.text) for one in refused} == {(403, refused[0].text)}


def test_a_caller_continues_its_own_response_with_the_whole_conversation(gateways: Gateways) -> None:
    assert respond(gateways.shared, gateways.victim).status_code == 200
    continued = respond(gateways.shared, gateways.victim, previous_response_id=ANSWERED)
    assert continued.status_code == 200
    sent = json.loads(gateways.upstream.requests[-1].body)
    assert "previous_response_id" not in sent
    assert len(sent["input"]) == 3


@pytest.mark.parametrize("field", FIELDS)
def test_a_caller_with_its_own_account_may_use_every_field(gateways: Gateways, field: str) -> None:
    value = "resp_" + "11" * 24 if field == "previous_response_id" else FIELDS[field]
    for gateway, key, own in ((gateways.plain, gateways.plain_key, MINE), (gateways.local, "", "")):
        assert respond(gateway, key, own=own, **{field: value}).status_code == 200
        assert json.loads(gateways.upstream.requests[-1].body)[field] == value
