"""One client's text must not shrink a model's window for others."""

import json
from pathlib import Path

import pytest
from clients import http
from gateway_server import RunningGateway
from hostile_upstream import HostileUpstream, Reply, Sent
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.config import Settings
from plimsoll.gateway.dropin.windows import LEARNED_SECONDS, Windows, is_plausible, states_number
from plimsoll.models import card_for
from plimsoll.providers import Endpoint

MODEL = "gpt-4.1"
QUOTED = "maximum context length is 2000 tokens"


def quoting(sent: Sent) -> Reply:
    """Refuses a role that it does not know, and quotes it, as real servers do."""
    roles = [message["role"] for message in json.loads(sent.body)["messages"]]
    unknown = next((role for role in roles if role not in ("user", "assistant", "system")), None)
    if unknown is None:
        said = {"choices": [{"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]}
        return Reply(
            body=json.dumps({"id": "1", "object": "chat.completion", "model": MODEL, **said}).encode()
        )
    error = {"message": f"Invalid value: '{unknown}'.", "type": "invalid_request_error", "code": None}
    return Reply(400, json.dumps({"error": error}).encode())


def window(gateway: RunningGateway, upstream: HostileUpstream) -> int:
    endpoint = Endpoint("openai", f"{upstream.url}/v1", "openai", model=MODEL)
    return gateway.within.open_desk.windows.facts(endpoint, MODEL).window


@pytest.mark.parametrize("words", ["", "word " * 1_500], ids=["a small request", "a request of that size"])
@pytest.mark.parametrize(
    "role",
    [QUOTED, QUOTED.replace("2000", "2,000"), QUOTED.replace("2000", "２０００"), f"{QUOTED}0000"],
    ids=["plain", "separated", "full width", "longer"],
)
def test_a_limit_that_the_client_wrote_is_not_learned(tmp_path: Path, words: str, role: str) -> None:
    messages = [{"role": "user", "content": f"Hello. {words}"}, {"role": role, "content": "x"}]
    # Escapes in the body, so that no byte of the number stands there as the upstream quotes it.
    body = json.dumps({"model": MODEL, "messages": messages}, ensure_ascii=False).replace("2", "\\u0032")
    with (
        HostileUpstream(quoting) as upstream,
        RunningGateway(upstream.settings("openai"), tmp_path, environ={"OPENAI_API_KEY": "k"}) as gateway,
    ):
        before = window(gateway, upstream)
        refused = http().post(f"{gateway.url}/v1/chat/completions", content=body)
        assert refused.status_code == 400
        assert len(upstream.requests) >= 1
        assert window(gateway, upstream) == before == card_for(MODEL).prompt_limit


def learned(now: list[float]) -> tuple[Windows, Endpoint]:
    windows = Windows(
        Settings(), lambda endpoint: card_for(endpoint.model), lambda window: window // 5, lambda: now[0]
    )
    return windows, Endpoint("openai", "https://one.example/v1", "openai", model=MODEL)


def test_a_learned_limit_expires() -> None:
    now = [0.0]
    windows, endpoint = learned(now)
    before = windows.facts(endpoint, MODEL).window
    windows.learn(endpoint, MODEL, 50_000, is_credible=True)
    now[0] = LEARNED_SECONDS - 1
    assert windows.facts(endpoint, MODEL).window == 50_000
    now[0] = LEARNED_SECONDS
    assert windows.facts(endpoint, MODEL).window == before


def test_a_learned_limit_holds_for_one_upstream_and_one_model() -> None:
    windows, endpoint = learned([0.0])
    other = Endpoint("openai", "https://two.example/v1", "openai", model=MODEL)
    before = windows.facts(other, MODEL).window, windows.facts(endpoint, "gpt-4o").window
    windows.learn(endpoint, MODEL, 50_000, is_credible=True)
    assert (windows.facts(other, MODEL).window, windows.facts(endpoint, "gpt-4o").window) == before


def test_a_limit_that_is_not_credible_holds_for_one_request() -> None:
    windows, endpoint = learned([0.0])
    assert windows.learn(endpoint, MODEL, 50_000, is_credible=False).window == 50_000
    assert windows.facts(endpoint, MODEL).window == card_for(MODEL).prompt_limit


def test_a_request_of_half_the_stated_window_makes_it_plausible() -> None:
    assert is_plausible(2_000, 1_000)
    assert not is_plausible(2_000, 999)


@given(
    st.integers(1_000, 2_000_000),
    st.sampled_from(["{}", "{:,}", "{:_}", "x{}y", "9{}"]),
    st.text(max_size=20),
)
def test_a_number_is_found_however_it_is_written(number: int, form: str, words: str) -> None:
    assert states_number(f"{words} {form.format(number)} tokens", number)
