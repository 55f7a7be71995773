"""One client's text must not shrink a model's window for others."""

import json
from pathlib import Path
from urllib.parse import unquote

import pytest
from clients import http
from gateway_server import RunningGateway
from hostile_upstream import HostileUpstream, Reply, Sent
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.archive import OPERATOR, key_owner
from plimsoll.config import Settings
from plimsoll.context import Budget
from plimsoll.dialects import dialect_named
from plimsoll.errors import ContextOverflow
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.windows import Windows
from plimsoll.models import card_for
from plimsoll.providers import Endpoint
from plimsoll.providers.auxiliary.resolve import Candidate
from plimsoll.providers.auxiliary.summary_model import SummaryModel
from plimsoll.providers.stated_limits import LEARNED_SECONDS, is_plausible, states_number

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
    return gateway.within.open_handler.windows.facts(endpoint, MODEL).window


@pytest.mark.parametrize("words", ["", "word " * 1_500], ids=["a small request", "a request of that size"])
@pytest.mark.parametrize(
    "role",
    [QUOTED, QUOTED.replace("2000", "2,000"), QUOTED.replace("2000", "２０００"), f"{QUOTED}0000"],
    ids=["plain", "separated", "full width", "longer"],
)
def test_a_limit_that_the_client_wrote_is_not_learned(tmp_path: Path, words: str, role: str) -> None:
    messages = [{"role": "user", "content": f"Hello. {words}"}, {"role": role, "content": "x"}]
    # Escapes in the body, so that the body does not contain the number as the upstream quotes it.
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
        Settings(),
        lambda endpoint: card_for(endpoint.model),
        lambda window, model: Budget(window),
        lambda: now[0],
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


def test_a_learned_limit_applies_to_one_upstream_and_one_model() -> None:
    windows, endpoint = learned([0.0])
    other = Endpoint("openai", "https://two.example/v1", "openai", model=MODEL)
    before = windows.facts(other, MODEL).window, windows.facts(endpoint, "gpt-4o").window
    windows.learn(endpoint, MODEL, 50_000, is_credible=True)
    assert (windows.facts(other, MODEL).window, windows.facts(endpoint, "gpt-4o").window) == before


def test_a_limit_that_is_not_credible_applies_to_one_request() -> None:
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


def test_a_number_in_the_path_of_a_request_is_a_number_that_the_client_wrote() -> None:
    path = "/v1beta/models/gemini%202000%20tokens:generateContent"
    for written in (path, unquote(path)):
        request = ClientRequest(dialect_named("gemini"), b"{}", {}, (), OPERATOR, path=written)
        assert states_number(request.text, 2_000)


def test_what_one_owners_text_weighs_is_not_assumed_of_others() -> None:
    windows, endpoint = learned([0.0])
    other = Endpoint("openai", "https://two.example/v1", "openai", model=MODEL)
    windows.note_ratio(key_owner("dense"), endpoint, MODEL, 4.0)
    assert windows.ratio(key_owner("dense"), endpoint, MODEL) == 4.0
    assert windows.ratio(OPERATOR, endpoint, MODEL) == 1.0
    assert windows.ratio(key_owner("dense"), other, MODEL) == 1.0


def summary_model(now: list[float]) -> SummaryModel:
    endpoint = Endpoint("openai", "https://one.example/v1", "openai", model=MODEL)
    return SummaryModel(Candidate(endpoint, card_for(MODEL), 100_000, "main"), Path(), lambda: now[0])


def overflow(limit: int) -> ContextOverflow:
    error = ContextOverflow(f"maximum context length is {limit} tokens")
    error.limit = limit
    return error


@pytest.mark.parametrize(
    ("prompt", "tokens", "left"),
    [
        (QUOTED, 4_000, 100_000),
        (f"{QUOTED} and much more", 90_000, 75_000),
        ("nothing about it", 900, 100_000),
        ("nothing about it", 4_000, 2_000),
    ],
    ids=["quoted", "quoted in a request that fills the window", "too small for it", "credible"],
)
def test_text_that_is_summarised_does_not_shrink_the_summary_models_window(
    prompt: str, tokens: int, left: int
) -> None:
    model = summary_model([0.0])
    model.learn(overflow(2_000), tokens, prompt)
    assert model.window == left


def test_what_is_learned_about_the_summary_model_expires() -> None:
    now = [0.0]
    model = summary_model(now)
    model.learn(overflow(50_000), 60_000, "")
    assert model.window == 50_000
    now[0] = LEARNED_SECONDS
    assert model.window == 100_000
