"""Paths that are forwarded: with a key, with a limit, with a rejection, and never more than the list says."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from clients import http
from gateway_keys import add_key, used_so_far
from gateway_server import RunningGateway
from hostile_upstream import HostileUpstream, Reply, Sent
from hypothesis import given
from hypothesis import strategies as st
from test_attack_upstream_path import ESCAPES, get

from plimsoll.config import Settings
from plimsoll.dialects import dialect_named
from plimsoll.dialects.forwarded import ForwardedPath, forwarded_paths
from plimsoll.gateway.http.masking import StreamMask, without

OWN = "sk-gateway-own-key-0123456789abcdef"
MINE = "sk-my-own-provider-key-0123456789"
NAMES = ("openai", "anthropic", "gemini")
VERSION = {"anthropic-version": "2023-06-01"}
LISTED = [(name, one, method) for name in NAMES for one in forwarded_paths(name) for method in one.methods]
IDS = [f"{name}-{method}-{one.path}" for name, one, method in LISTED]


@dataclass
class ForwardingGateways:
    """Two gateways before one upstream: `shared` asks it with its own key, `plain` with its callers'."""

    upstream: HostileUpstream
    shared: RunningGateway
    plain: RunningGateway
    homes: tuple[Path, Path]
    reply: Reply = field(default_factory=Reply)
    keys: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardingGateways]:
    homes = (tmp_path_factory.mktemp("shared"), tmp_path_factory.mktemp("plain"))
    keys = {name: add_key(homes[0], name) for name in ("one", "two")}
    keys |= {name: add_key(homes[1], name, **limits) for name, limits in LIMITS.items()}
    told: list[ForwardingGateways] = []
    with HostileUpstream(lambda _sent: told[0].reply) as upstream:
        places = {
            "OPENAI_BASE_URL": f"{upstream.url}/v1",
            "ANTHROPIC_BASE_URL": upstream.url,
            "GOOGLE_GEMINI_BASE_URL": f"{upstream.url}/v1beta",
        }
        own = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), OWN)
        with (
            RunningGateway(Settings(), homes[0], environ={**places, **own}) as shared,
            RunningGateway(Settings(), homes[1], environ=places) as plain,
        ):
            told.append(ForwardingGateways(upstream, shared, plain, homes, keys=keys))
            yield told[0]


LIMITS: dict[str, dict[str, int]] = {"free": {}, "spent": {"tokens_per_day": 1}}


def sent_by(
    gateway: RunningGateway,
    name: str,
    path: str,
    method: str,
    plimsoll_key: str,
    own: str = MINE,
    **headers: str,
) -> httpx.Response:
    """A request of a client of this dialect, with a key for the gateway and one for its provider."""
    header, value = dialect_named(name).auth(own)
    more = {header: value} if own else {}
    more |= VERSION if name == "anthropic" else {}
    body = b'--b\r\n\x00\xff"binary"\r\n--b--' if method == "POST" else b""
    kind = {"content-type": "multipart/form-data; boundary=b"} if body else {}
    return http().request(
        method,
        gateway.url + path,
        content=body,
        headers={"x-plimsoll-key": plimsoll_key, **kind, **more, **headers},
    )


def called(one: ForwardedPath) -> str:
    """A listed path as a client calls it."""
    return one.path.format(file="file-1", batch="batch_2", model="model-3")


@pytest.mark.parametrize(("name", "one", "method"), LISTED, ids=IDS)
def test_a_listed_path_passes_unchanged_with_the_callers_own_key(
    gateways: ForwardingGateways, name: str, one: ForwardedPath, method: str
) -> None:
    gateways.reply = Reply(201, b"\x00\xffsound", "audio/mpeg", {"x-served-by": "upstream"})
    path = called(one)
    answer = sent_by(gateways.plain, name, f"{path}?limit=2", method, gateways.keys["free"], accept="audio/*")
    assert (answer.status_code, answer.content) == (201, b"\x00\xffsound")
    assert (answer.headers["content-type"], answer.headers["x-served-by"]) == ("audio/mpeg", "upstream")
    seen = gateways.upstream.requests[-1]
    assert (seen.method, seen.path) == (method, f"{path}?limit=2")
    assert seen.headers[dialect_named(name).key_header].endswith(MINE)
    assert gateways.keys["free"] not in str(seen)
    if method == "POST":
        assert seen.body == b'--b\r\n\x00\xff"binary"\r\n--b--'
        assert seen.headers["content-type"] == "multipart/form-data; boundary=b"
    else:
        assert "content-type" not in seen.headers


@pytest.mark.parametrize(("name", "one", "method"), LISTED, ids=IDS)
def test_with_the_gateways_key_only_paths_without_stored_objects_pass(
    gateways: ForwardingGateways, name: str, one: ForwardedPath, method: str
) -> None:
    gateways.reply = Reply(200, f'{{"echo": "{OWN}"}}'.encode(), headers={"x-echo": OWN})
    before = len(gateways.upstream.requests)
    account = {"openai-organization": "org-other", "x-goog-user-project": "other"}
    answer = sent_by(gateways.shared, name, called(one), method, gateways.keys["one"], own="", **account)
    new = gateways.upstream.requests[before:]
    if one.stored:
        assert (answer.status_code, new) == (403, [])
        assert "Send your own provider key" in answer.text
        return
    assert answer.status_code == 200
    assert new[0].headers[dialect_named(name).key_header].endswith(OWN)
    assert not {*account} & {*new[0].headers}
    assert OWN not in answer.text + str(answer.headers)


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_that_is_reached_closes_every_listed_path(gateways: ForwardingGateways, name: str) -> None:
    gateways.reply = Reply(body=b'{"usage": {"prompt_tokens": 8, "total_tokens": 8}}')
    if used_so_far(gateways.homes[1])["spent"].tokens == 0:
        spending = sent_by(gateways.plain, "openai", "/v1/embeddings", "POST", gateways.keys["spent"])
        assert spending.status_code == 200
        ends = time.monotonic() + 30
        while used_so_far(gateways.homes[1])["spent"].tokens == 0 and time.monotonic() < ends:
            time.sleep(0.02)  # usage is written in batches
    before = len(gateways.upstream.requests)
    for one in forwarded_paths(name):
        for method in one.methods:
            refused = sent_by(gateways.plain, name, called(one), method, gateways.keys["spent"])
            assert refused.status_code == 429, (method, one.path)
            assert "1 token" in refused.text
    assert len(gateways.upstream.requests) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_rejection_is_passed_on_unchanged_and_a_wrong_key_is_not_passed_on(
    gateways: ForwardingGateways, name: str
) -> None:
    gateways.reply = Reply(422, b'{"error": {"message": "No ship may leave."}}', headers={"retry-after": "7"})
    for one in forwarded_paths(name):
        for method in one.methods:
            answer = sent_by(gateways.plain, name, called(one), method, gateways.keys["free"])
            assert (answer.status_code, answer.headers["retry-after"]) == (422, "7")
            assert answer.json() == {"error": {"message": "No ship may leave."}}
            before = len(gateways.upstream.requests)
            wrong = sent_by(gateways.plain, name, called(one), method, "plim-00000000-wrong")
            page = sent_by(
                gateways.plain, name, called(one), method, gateways.keys["free"], origin="https://a.test"
            )
            assert (wrong.status_code, page.status_code) == (401, 403)
            assert len(gateways.upstream.requests) == before


def test_usage_that_is_reported_counts_for_the_key(gateways: ForwardingGateways) -> None:
    gateways.reply = Reply(body=b'{"data": [], "usage": {"prompt_tokens": 4321, "total_tokens": 4321}}')
    before = used_so_far(gateways.homes[0])["two"].tokens
    url, headers = gateways.shared.openai_url + "/embeddings", {"x-plimsoll-key": gateways.keys["two"]}
    assert (
        http().post(url, json={"model": "text-embedding-3-small", "input": "x"}, headers=headers).is_success
    )
    seen = [used_so_far(gateways.homes[0])["two"].tokens - before]
    for _ in range(200):  # usage is written beside the requests
        if seen[-1]:
            break
        threading.Event().wait(0.05)
        seen.append(used_so_far(gateways.homes[0])["two"].tokens - before)
    assert seen[-1] == 4321


def test_a_reply_is_passed_on_while_it_comes(gateways: ForwardingGateways) -> None:
    goes_on = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b"first"
        assert goes_on.wait(60)
        yield b"second"

    gateways.reply = Reply(content_type="audio/mpeg", pieces=pieces())
    headers = {"x-plimsoll-key": gateways.keys["free"], "authorization": f"Bearer {MINE}"}
    url = gateways.plain.openai_url + "/audio/speech"
    with http().stream("POST", url, json={"model": "tts-1", "input": "Ahoy"}, headers=headers) as answer:
        got = answer.iter_raw()
        assert next(got) == b"first"
        goes_on.set()
        assert b"".join(got) == b"second"


def test_nothing_else_is_forwarded(gateways: ForwardingGateways) -> None:
    gateways.reply = Reply()
    before = len(gateways.upstream.requests)
    other = [
        "/v1/fine_tuning/jobs",
        "/v1/organization/users",
        "/v1/vector_stores",
        "/v1/files/a/b/c",
        "/v1/uploads",
    ]
    for path in other:
        assert sent_by(gateways.plain, "openai", path, "GET", gateways.keys["free"]).status_code == 404
    for method, path in (("DELETE", "/v1/embeddings"), ("PUT", "/v1/files"), ("HEAD", "/v1/files")):
        assert sent_by(gateways.plain, "openai", path, method, gateways.keys["free"]).status_code in (
            404,
            405,
        )
    # A path of another dialect's list.
    assert (
        sent_by(gateways.plain, "anthropic", "/v1/embeddings", "POST", gateways.keys["free"]).status_code
        == 404
    )
    compressed = sent_by(
        gateways.plain, "openai", "/v1/files", "POST", gateways.keys["free"], **{"content-encoding": "gzip"}
    )
    assert compressed.status_code == 415
    assert len(gateways.upstream.requests) == before


def test_an_id_never_leads_to_another_path(gateways: ForwardingGateways, tmp_path: Path) -> None:
    gateways.reply = Reply()
    places = {"ANTHROPIC_BASE_URL": gateways.upstream.url}
    before = len(gateways.upstream.requests)
    with RunningGateway(Settings(), tmp_path, environ={**places, "ANTHROPIC_API_KEY": OWN}) as gateway:
        for name in ESCAPES:
            assert get(gateway.url, f"/v1/files/{name}") in (400, 404), name
            assert get(gateway.url, f"/v1/files/{name}/content") in (400, 404), name
        assert len(gateways.upstream.requests) == before
        assert get(gateway.url, "/v1/files/file%3fa=b") == 200
    assert gateways.upstream.requests[-1].path == "/v1/files/file%3Fa%3Db"


def test_an_upstream_of_another_dialect_gets_nothing(tmp_path: Path) -> None:
    def answer(_sent: Sent) -> Reply:
        return Reply()

    with HostileUpstream(answer) as upstream, RunningGateway(upstream.settings(), tmp_path) as gateway:
        refused = http().post(gateway.openai_url + "/embeddings", json={"model": "m", "input": "x"})
        assert (refused.status_code, upstream.requests) == (404, [])
        assert "The upstream uses Anthropic's format" in refused.text


@given(cuts=st.lists(st.integers(0, 120), max_size=6), at=st.integers(0, 40), part=st.integers(16, len(OWN)))
def test_a_key_is_masked_wherever_a_reply_is_cut(cuts: list[int], at: int, part: int) -> None:
    data = b"x" * at + OWN[:part].encode() + b" y " + OWN.encode() + b"z" * 20
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    mask = StreamMask((OWN,))
    pieces = [mask.feed(data[one:other]) for one, other in pairwise(places)]
    whole = b"".join(pieces) + mask.rest()
    assert whole == without(data, [OWN.encode()])
