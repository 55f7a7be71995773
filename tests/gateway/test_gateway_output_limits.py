"""The length of an answer never makes a request fail: limits are lowered to what the model and its window allow."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from clients import http
from gateway_server import RunningGateway, settings_for
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from plimsoll.context import Budget
from plimsoll.dialects.answer_limits import fitted_budget
from plimsoll.gateway.dropin.output_limits import PromptSize, answer_limit
from plimsoll.gateway.dropin.windows import ModelFacts
from plimsoll.models import ModelCard, card_for, estimate_tokens
from plimsoll.testing.scripted_server import ScriptedServer
from plimsoll.testing.scripted_server.captured import CapturedRequest

CLAUDE_CODE_LIMIT = 32_000
PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}
WORD = "harbour "
TOKENS_PER_WORD = estimate_tokens(WORD * 1_000) / 1_000
# Windows of 4,096 to 131,072 tokens, caps of 1,024 to 32,768.
MODELS = (
    "llama-2",
    "llama-3",
    "gpt-4",
    "gpt-3.5-turbo",
    "mistral-7b",
    "gpt-4-32k",
    "gpt-4o",
    "claude-3-haiku",
)


def ask(
    gateway: RunningGateway, dialect: str, said: str | list[dict[str, Any]] = "hi", **body: Any
) -> httpx.Response:
    messages = [{"role": "user", "content": said}] if isinstance(said, str) else said
    headers = {"x-api-key": "key", "anthropic-version": "2023-06-01", **body.pop("headers", {})}
    return http().post(
        gateway.url + PATHS[dialect], json={"messages": messages, **body}, headers=headers, timeout=60
    )


def limit_sent(seen: CapturedRequest) -> int:
    assert seen.request is not None
    assert seen.request.max_tokens is not None
    return seen.request.max_tokens


def answered(server: ScriptedServer) -> CapturedRequest:
    """The last request that the upstream answered."""
    return next(seen for seen in reversed(server.requests) if seen.status == 200)


def test_claude_codes_limit_works_on_a_model_with_a_lower_cap(tmp_path: Path) -> None:
    with (
        ScriptedServer(model="gpt-4o") as server,
        RunningGateway(settings_for(server, "openai"), tmp_path) as gateway,
    ):
        response = ask(gateway, "anthropic", model="gpt-4o", max_tokens=CLAUDE_CODE_LIMIT)
        assert response.status_code == 200, response.text
    assert [limit_sent(seen) for seen in server.requests] == [card_for("gpt-4o").output_cap]


@pytest.mark.parametrize("upstream", ["anthropic", "openai"])
@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_a_limit_as_large_as_the_window_leaves_room_for_a_short_prompt(
    dialect: str, upstream: str, tmp_path: Path
) -> None:
    with (
        ScriptedServer(model="some-model", window=32_000, output_cap=32_000) as server,
        RunningGateway(settings_for(server, upstream, model={"context_length": 32_000}), tmp_path) as gateway,
    ):
        response = ask(gateway, dialect, model="some-model", max_tokens=CLAUDE_CODE_LIMIT)
        assert response.status_code == 200, response.text
        assert response.headers["x-plimsoll-view"] == "log"
    (seen,) = server.requests
    assert 31_900 < limit_sent(seen) < CLAUDE_CODE_LIMIT


def test_a_limit_that_fits_is_sent_as_it_came(tmp_path: Path) -> None:
    with ScriptedServer() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        ask(gateway, "anthropic", model="claude-sonnet-4-5", max_tokens=64_000)
        ask(
            gateway,
            "anthropic",
            model="claude-sonnet-4-5",
            max_tokens=70_000,
            headers={"x-plimsoll": "off"},
        )
    assert [limit_sent(seen) for seen in server.requests] == [64_000, 70_000]


@pytest.mark.parametrize("upstream", ["anthropic", "openai"])
def test_a_cap_that_the_upstream_states_is_kept_to_from_then_on(upstream: str, tmp_path: Path) -> None:
    with (
        ScriptedServer(output_cap=4_000) as server,
        RunningGateway(settings_for(server, upstream), tmp_path) as gateway,
    ):
        for _ in range(2):
            response = ask(gateway, "openai", model="some-model", max_tokens=CLAUDE_CODE_LIMIT)
            assert response.status_code == 200, response.text
    sent = [limit_sent(seen) for seen in server.requests]
    assert sent == ([CLAUDE_CODE_LIMIT, 4_000, 4_000])


@pytest.mark.parametrize("upstream", ["anthropic", "openai"])
def test_prompt_and_answer_that_exceed_an_unknown_window_get_a_shorter_answer_and_no_compaction(
    upstream: str, tmp_path: Path
) -> None:
    history = [{"role": role, "content": WORD * 80} for _ in range(8) for role in ("user", "assistant")] + [
        {"role": "user", "content": "And now?"}
    ]
    with (
        ScriptedServer(model="llama-2", window=9_000, output_cap=9_000) as server,
        RunningGateway(settings_for(server, upstream), tmp_path) as gateway,
    ):
        for _ in range(2):
            response = ask(gateway, upstream, history, model="some-model", max_tokens=8_500)
            assert response.status_code == 200, response.text
            assert response.headers["x-plimsoll-view"] == "log"
    assert [seen.status for seen in server.requests] == [400, 200, 200]
    assert limit_sent(answered(server)) > 5_000


def test_the_setting_that_an_output_error_names_makes_the_request_succeed(tmp_path: Path) -> None:
    body = {"model": "some-model", "max_tokens": CLAUDE_CODE_LIMIT, "headers": {"x-plimsoll": "off"}}
    with ScriptedServer(output_cap=4_000) as server:
        with RunningGateway(settings_for(server), tmp_path / "before") as gateway:
            refused = ask(gateway, "openai", **body)
        assert refused.status_code == 400
        assert "set model.max_output_tokens to 4000 or less" in refused.json()["error"]["message"]
        named = settings_for(server, model={"max_output_tokens": 4_000})
        with RunningGateway(named, tmp_path / "after") as gateway:
            assert ask(gateway, "openai", **body).status_code == 200


def test_model_max_output_tokens_and_a_cards_output_cap_limit_every_answer(tmp_path: Path) -> None:
    sections: dict[str, Any] = {"max_output_tokens": 5_000, "cards": {"some-model": {"output_cap": 3_000}}}
    with (
        ScriptedServer() as server,
        RunningGateway(settings_for(server, model=sections), tmp_path) as gateway,
    ):
        for name in ("some-model", "claude-sonnet-4-5"):
            assert ask(gateway, "anthropic", model=name, max_tokens=32_000).status_code == 200
    assert [limit_sent(seen) for seen in server.requests] == [3_000, 5_000]


@pytest.mark.parametrize(("budget", "expected"), [(30_000, 15_000), (1_500, None)])
def test_a_thinking_budget_shrinks_with_the_answer(budget: int, expected: int | None, tmp_path: Path) -> None:
    sections: dict[str, Any] = {"max_output_tokens": 16_000}
    thinking = {"type": "enabled", "budget_tokens": budget}
    with (
        ScriptedServer() as server,
        RunningGateway(settings_for(server, model=sections), tmp_path) as gateway,
    ):
        response = ask(
            gateway, "anthropic", model="claude-sonnet-4-5", max_tokens=CLAUDE_CODE_LIMIT, thinking=thinking
        )
        assert response.status_code == 200, response.text
    (seen,) = server.requests
    assert seen.request is not None
    assert seen.request.thinking is not None
    assert seen.request.thinking.budget_tokens == expected


@pytest.mark.parametrize(
    ("model", "asked", "effort"),
    [
        ("gpt-4o", {"thinking": {"type": "enabled", "budget_tokens": 31_999}}, None),
        ("gpt-4o", {"output_config": {"effort": "high"}}, None),
        ("gpt-5", {"thinking": {"type": "enabled", "budget_tokens": 31_999}}, "high"),
        ("gpt-5", {"thinking": {"type": "disabled"}}, "minimal"),
        ("gpt-5.2", {"thinking": {"type": "disabled"}}, "none"),
        ("o3", {"output_config": {"effort": "max"}}, "high"),
        ("some-model", {"output_config": {"effort": "high"}}, None),
        ("taught", {"output_config": {"effort": "high"}}, "high"),
    ],
)
def test_reasoning_effort_is_sent_only_to_models_that_accept_it(
    model: str, asked: dict[str, Any], effort: str | None, tmp_path: Path
) -> None:
    cards: dict[str, Any] = {"cards": {"taught": {"efforts": ["low", "high"]}}}
    with (
        ScriptedServer(model=model) as server,
        RunningGateway(settings_for(server, "openai", model=cards), tmp_path) as gateway,
    ):
        body = {"model": model, "max_tokens": 8_000, "temperature": 0.5, **asked}
        response = ask(gateway, "anthropic", **body)
        assert response.status_code == 200, response.text
    (seen,) = server.requests
    assert seen.body is not None
    assert seen.body.get("reasoning_effort") == effort


@pytest.mark.parametrize(("beta", "view"), [("context-1m-2025-08-07", "log"), ("other", "compacted")])
@pytest.mark.rewrites_history("without the beta, the window makes a compaction due")
def test_the_long_context_beta_is_a_window_of_a_million_tokens(beta: str, view: str, tmp_path: Path) -> None:
    history = [
        {"role": role, "content": WORD * 4_000} for _ in range(14) for role in ("user", "assistant")
    ] + [{"role": "user", "content": "And now?"}]
    with (
        ScriptedServer(window=1_000_000) as server,
        RunningGateway(settings_for(server), tmp_path) as gateway,
    ):
        headers = {"anthropic-beta": f"{beta},prompt-caching-2024-07-31"}
        response = ask(
            gateway, "anthropic", history, model="claude-sonnet-4-5", max_tokens=99, headers=headers
        )
        assert response.status_code == 200, response.text
        assert response.headers["x-plimsoll-view"] == view


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[bool, str], Any]]:
    """One gateway for each dialect of its upstream, with and without compaction."""
    with ExitStack() as stack:
        made = {}
        for compacts in (False, True):
            for upstream in ("anthropic", "openai"):
                server = stack.enter_context(ScriptedServer(model="gpt-4o"))
                chosen = settings_for(server, upstream, compression={"enabled": compacts})
                home = tmp_path_factory.mktemp("home")
                made[compacts, upstream] = (server, stack.enter_context(RunningGateway(chosen, home)))
        yield made


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    model=st.sampled_from(MODELS),
    share=st.floats(0.0, 1.0),
    asked=st.integers(1, 200_000),
    messages=st.integers(0, 3),
    dialect=st.sampled_from(sorted(PATHS)),
    upstream=st.sampled_from(sorted(PATHS)),
    compacts=st.booleans(),
    stream=st.booleans(),
)
def test_a_request_that_fits_is_never_refused_or_compacted_because_of_its_output_limit(
    pairs: dict[tuple[bool, str], Any],
    model: str,
    share: float,
    asked: int,
    messages: int,
    dialect: str,
    upstream: str,
    compacts: bool,
    stream: bool,
) -> None:
    server, gateway = pairs[compacts, upstream]
    card = card_for(model)
    # Below the threshold of a compaction where there is one, else as far as the window goes.
    words = int(share * card.window * (0.42 if compacts else 0.99) / TOKENS_PER_WORD)
    each = words // (2 * messages + 1)
    history = [
        {"role": ("user", "assistant")[n % 2], "content": "hi " + WORD * each}
        for n in range(2 * messages + 1)
    ]
    before = len(server.requests)
    response = ask(gateway, dialect, history, model=model, max_tokens=asked, stream=stream)
    seen = server.requests[before:]
    last = seen[-1]
    assume(last.request is not None)
    if response.status_code != 200:
        alone = ask(gateway, dialect, history, model=model, max_tokens=1)
        assert alone.status_code != 200, response.text
        return
    assert response.headers["x-plimsoll-view"] == "log"
    assert len(seen) <= 2
    assert last.usage is not None
    assert 0 < limit_sent(last) <= min(asked, card.output_cap)
    assert last.usage.prompt_tokens + limit_sent(last) <= card.window


@given(
    st.integers(1, 2_000_000),
    st.integers(1, 1_000_000),
    st.none() | st.integers(1, 200_000),
    st.integers(0, 2_000_000),
)
def test_a_lowered_limit_keeps_to_the_cap_and_to_the_window(
    asked: int, window: int, cap: int | None, tokens: int
) -> None:
    facts = ModelFacts("any", ModelCard("any", window=window), None, Budget(window), output_cap=cap)  # type: ignore[arg-type]
    for margin in (0.0, 0.03, 0.1):
        limit = answer_limit(asked, facts, PromptSize(tokens, margin))
        assert 1 <= limit <= min(asked, cap or asked)
        if tokens < window - 1:
            assert tokens + limit <= window


@given(st.integers(1_024, 200_000), st.integers(1_025, 400_000), st.integers(1, 400_000))
def test_a_fitted_budget_is_smaller_than_its_limit(budget: int, asked: int, limit: int) -> None:
    assume(budget < asked)
    fitted = fitted_budget(budget, asked, limit)
    assert fitted is None or 1_024 <= fitted <= budget
    if fitted is not None and limit < asked:
        assert fitted < limit
