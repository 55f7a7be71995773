"""When prompt caching is on, what the person reads, and which fields keep a conversation in place."""

from dataclasses import replace

import pytest

from plimsoll.caching import (
    BlockChain,
    apply_anthropic_cache_control,
    caching_policy,
    mark,
    request_extras,
    start_line,
    without_markers,
)
from plimsoll.errors import SettingError

SONNET = "claude-sonnet-4.5"


def test_claude_via_openrouter_is_on_by_itself():
    policy = caching_policy("anthropic/claude-sonnet-4.5", "openrouter")
    assert start_line(policy) == "💾 Prompt caching: ENABLED (Claude via OpenRouter, 5m TTL)"
    assert not policy.native_anthropic


def test_claude_on_anthropics_api_is_on_by_itself():
    policy = caching_policy(SONNET, "anthropic", cache_ttl="1h")
    assert start_line(policy) == "💾 Prompt caching: ENABLED (native Anthropic, 1h TTL)"
    assert policy.native_anthropic


def test_a_provider_that_caches_by_itself_is_not_called_off():
    policy = caching_policy("gpt-5", "openai")
    assert start_line(policy, "openai_automatic").startswith("💾 Prompt caching: automatic")
    assert start_line(policy, "none") == "💾 Prompt caching: off (gpt-5 accepts no cache breakpoints)"
    unwanted = caching_policy("gpt-5", "openai", strategy="none")
    assert (
        start_line(unwanted, "openai_automatic") == "💾 Prompt caching: off (prompt_caching.strategy is none)"
    )


@pytest.mark.parametrize(
    ("provider", "base_url", "route"),
    [
        ("auto", "https://api.anthropic.com/v1", "anthropic"),
        ("auto", "https://openrouter.ai/api/v1", "openrouter"),
        ("openai", "https://openrouter.ai/api/v1", "openrouter"),
        ("anthropic", "http://proxy.internal:9000", "anthropic"),
        ("auto", "https://evil.example/openrouter.ai", "other"),
        ("auto", "https://notopenrouter.ai/v1", "other"),
        ("auto", "https://openrouter.ai@evil.example/v1", "other"),
        ("auto", "HTTPS://API.Anthropic.com:443", "anthropic"),
        ("openai", None, "openai"),
        ("openai", "http://localhost:8080/v1", "other"),
        ("auto", None, "other"),
    ],
)
def test_the_host_says_where_requests_go_and_the_provider_where_the_host_is_unknown(
    provider, base_url, route
):
    assert caching_policy(SONNET, provider, base_url).route == route


@pytest.mark.parametrize(
    ("model", "provider", "reason"),
    [
        ("gpt-5", "openai", "gpt-5 accepts no cache breakpoints"),
        ("qwen3", "openrouter", "qwen3 accepts no cache breakpoints"),
        (SONNET, "openai", "OpenAI accepts no cache breakpoints"),
        (SONNET, "local", "prompt_caching.strategy auto sends no cache breakpoints to unknown servers"),
    ],
)
def test_anything_else_is_off_and_says_why(model, provider, reason):
    policy = caching_policy(model, provider)
    assert not policy.enabled
    assert start_line(policy) == f"💾 Prompt caching: off ({reason})"


@pytest.mark.parametrize("strategy", ["planned", "system_and_3"])
def test_claude_behind_an_unknown_server_gets_markers_if_a_strategy_is_named(strategy):
    policy = caching_policy(SONNET, "auto", "http://litellm.internal:4000/v1", strategy=strategy)
    assert start_line(policy) == "💾 Prompt caching: ENABLED (Claude via this server, 5m TTL)"
    assert not policy.native_anthropic
    assert not caching_policy("gpt-5", "auto", "http://litellm.internal:4000/v1", strategy=strategy).enabled
    assert not caching_policy(SONNET, "auto", "https://api.openai.com/v1", strategy=strategy).enabled


def test_the_strategy_none_switches_it_off():
    policy = caching_policy(SONNET, "anthropic", strategy="none")
    assert start_line(policy) == "💾 Prompt caching: off (prompt_caching.strategy is none)"
    assert request_extras(caching_policy("gpt-5", "openai", strategy="none"), "c") == {}
    reworded = replace(caching_policy("gpt-5", "openai"), reason="prompt_caching.strategy is of no use here")
    assert request_extras(reworded, "c")


def test_auto_plans_and_a_named_strategy_is_kept():
    assert [
        caching_policy(SONNET, "anthropic", strategy=s).strategy for s in ("auto", "planned", "system_and_3")
    ] == [
        "planned",
        "planned",
        "system_and_3",
    ]


def test_an_hour_through_openrouter_is_an_hour_and_its_price_is_stated():
    policy = caching_policy(SONNET, "openrouter", cache_ttl="1h")
    marked = mark([{"role": "system", "content": "Be brief."}], policy, BlockChain())
    assert marked.messages[0]["content"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "passes the 1h TTL on" in policy.notices[0]
    assert start_line(policy).endswith("(Claude via OpenRouter, 1h TTL)")
    assert caching_policy(SONNET, "openrouter").notices == ()
    assert caching_policy(SONNET, "anthropic", cache_ttl="1h").notices == ()


@pytest.mark.parametrize("wrong", [{"cache_ttl": "10m"}, {"strategy": "best"}])
def test_a_wrong_setting_is_named(wrong):
    with pytest.raises(SettingError, match=next(iter(wrong))):
        caching_policy(SONNET, "anthropic", **wrong)


def test_the_routing_key_is_stable_per_conversation_and_does_not_show_its_id():
    router, openai = caching_policy(SONNET, "openrouter"), caching_policy("gpt-5", "openai")
    (key,) = request_extras(router, "secret-chat").values()
    assert request_extras(router, "secret-chat") == {"session_id": key}
    assert request_extras(openai, "secret-chat") == {"prompt_cache_key": key}
    assert request_extras(router, "other") != {"session_id": key}
    assert "secret" not in key
    assert len(key) <= 64
    assert request_extras(caching_policy(SONNET, "anthropic"), "secret-chat") == {}


@pytest.mark.parametrize("strategy", ["system_and_3", "planned", "none"])
def test_marking_changes_nothing_but_markers(strategy):
    messages = [{"role": "system", "content": "s"}, *({"role": "user", "content": str(n)} for n in range(6))]
    policy = caching_policy(SONNET, "anthropic", strategy=strategy)
    chain = BlockChain()
    marked = mark(messages, policy, chain).messages
    again, original = chain.prompt(marked), chain.prompt(messages)
    assert [again.key(block) for block in range(len(again))] == [
        original.key(b) for b in range(len(original))
    ]
    assert (marked == without_markers(messages)) is (strategy == "none")


def test_an_ordinary_request_is_marked_alike_by_both_strategies():
    turns = [{"role": role, "content": str(n)} for n in range(4) for role in ("user", "assistant")]
    messages = [{"role": "system", "content": "s"}, *turns, {"role": "user", "content": "go on"}]
    planned = mark(messages, caching_policy(SONNET, "anthropic"), BlockChain()).messages
    assert planned == apply_anthropic_cache_control(messages, native_anthropic=True)
