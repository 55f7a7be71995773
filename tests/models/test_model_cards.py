"""Model cards: every name in use finds the right card, and the configuration has the last word."""

import subprocess
import sys
import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.errors import SettingError
from plimsoll.models import (
    DEFAULT_WINDOW,
    ModelCard,
    card_for,
    shipped_cards,
    unknown_model_notice,
)
from plimsoll.models.names import pieces_of, spellings

CACHE_STYLES = ("anthropic", "openai_breakpoints", "openai_automatic", "gemini_implicit", "prefix", "none")
NAMES = [
    ("claude-sonnet-4-5-20250929", "claude-sonnet-4.5"),
    ("anthropic/claude-sonnet-4.5", "claude-sonnet-4.5"),
    ("openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4.5"),
    ("anthropic/claude-sonnet-4.5:beta", "claude-sonnet-4.5"),
    ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4.5"),
    (
        "arn:aws:bedrock:us-east-1:1234:inference-profile/eu.anthropic.claude-opus-4-1-20250805-v1:0",
        "claude-opus-4.1",
    ),
    ("vertex_ai/claude-opus-4-5@20251101", "claude-opus-4.5"),
    ("claude-opus-4-20250514", "claude-opus-4"),
    ("claude-opus-4-0", "claude-opus-4"),
    ("claude-3-5-haiku-latest", "claude-3.5-haiku"),
    ("claude-haiku-3.5", "claude-3.5-haiku"),
    ("Claude 4.5 Sonnet", "claude-sonnet-4.5"),
    ("claude-opus-4-6-fast", "claude-opus-4.6"),
    ("claude-opus-5-5", "claude-opus-5.5"),
    ("claude-fable-5-1", "claude-fable-5.1"),
    ("claude-fable-5", "claude-fable-5"),
    ("gpt-5.2", "gpt-5.2"),
    ("gpt-5.2-2025-12-11", "gpt-5.2"),
    ("openrouter/openai/gpt-5.2", "gpt-5.2"),
    ("openai/gpt-5.2-codex", "gpt-5.2"),
    ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
    ("gpt-5-2025-08-07", "gpt-5"),
    ("gpt-5-chat-latest", "gpt-5-chat"),
    ("gpt-5.6-sol", "gpt-5.6"),
    ("azure/gpt-4o", "gpt-4o"),
    ("gpt-4o-2024-08-06", "gpt-4o"),
    ("ft:gpt-4o-mini-2024-07-18:acme::abc123", "gpt-4o-mini"),
    ("gpt-4-0613", "gpt-4"),
    ("gpt-4-1106-preview", "gpt-4-turbo"),
    ("o3-2025-04-16", "o3"),
    ("o4-mini", "o4-mini"),
    ("models/gemini-2.5-pro", "gemini-2.5-pro"),
    ("gemini-2.5-flash-lite-preview-09-2025", "gemini-2.5-flash-lite"),
    ("gemini-2.0-flash-001", "gemini-2.0-flash"),
    ("google/gemini-3-pro-preview", "gemini-3-pro"),
    ("deepseek/deepseek-chat", "deepseek-chat"),
    ("deepseek-v3-0324", "deepseek-chat"),
    ("deepseek-r1:14b", "deepseek-r1"),
    ("qwen3-coder:30b", "qwen3-coder"),
    ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3-coder"),
    ("qwen2.5:0.5b", "qwen2.5"),
    ("qwen/qwen3-235b-a22b-2507", "qwen3-2507"),
    ("qwen3:1.7b", "qwen3"),
    ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2-0905"),
    ("kimi-k2.5", "kimi-k2.5"),
    ("x-ai/grok-4", "grok-4"),
    ("grok-4-0709", "grok-4"),
    ("grok-4-1-fast-reasoning", "grok-4.1-fast"),
    ("meta-llama/Llama-3.3-70B-Instruct", "llama-3.3"),
    ("llama3.3:70b", "llama-3.3"),
    ("us.meta.llama3-3-70b-instruct-v1:0", "llama-3.3"),
    ("accounts/fireworks/models/llama-v3p3-70b-instruct", "llama-3.3"),
    ("llama3:8b", "llama-3"),
    ("mistral-large-latest", "mistral-large"),
    ("mistral-large-2411", "mistral-large-2411"),
    ("open-mixtral-8x22b", "mixtral-8x22b"),
    ("smollm2:1.7b", "smollm2"),
    ("/models/SmolLM2-360M-Instruct-Q4_K_M.gguf", "smollm2"),
    ("  GPT-5.2  ", "gpt-5.2"),
    ("ANTHROPIC/CLAUDE-SONNET-4.5", "claude-sonnet-4.5"),
]


@pytest.mark.parametrize(("typed", "card"), NAMES)
def test_a_name_as_people_type_it_finds_its_card(typed: str, card: str) -> None:
    found = card_for(typed)
    assert found.known
    assert found.name == card


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "/",
        "my-own-model",
        "claude-opus-4-9",
        "gpt-5.9",
        "gpt-5.5-mini",
        "gemini-9-pro",
        "gpt",
        "claude",
        "llama",
    ],
)
def test_a_model_without_a_card_is_unknown_and_not_a_near_relative(typed: str) -> None:
    assert card_for(typed) == ModelCard(name=typed, known=False, states_output_cap=False)


@pytest.mark.parametrize("suffix", ["[1m]", "-1m", "-20250929[1m]", "-1m:beta"])
def test_the_long_context_suffix_gives_a_million_tokens(suffix: str) -> None:
    card = card_for("claude-sonnet-4-5" + suffix)
    assert card.window == 1_000_000
    assert card.name == "claude-sonnet-4.5"
    assert card_for("claude-sonnet-4-5").window == 200_000


def test_parameter_counts_are_not_mistaken_for_a_long_context() -> None:
    assert card_for("SmolLM2-135M").window == 8_192


VENDORS = [
    "",
    "openrouter/",
    "anthropic/",
    "bedrock/us.vendor.",
    "bedrock/eu.vendor.",
    "vertex_ai/",
    "azure/eu-west/",
]
DECORATIONS = [
    "",
    "-20250929",
    "@20251101",
    "-2025-12-11",
    "-latest",
    "-20250929-v1:0",
    ":free",
    ":beta",
    "-preview",
]


@given(
    card=st.sampled_from(shipped_cards()),
    vendor=st.sampled_from(VENDORS),
    decoration=st.sampled_from(DECORATIONS),
    dashes=st.booleans(),
    upper=st.booleans(),
    spaces=st.sampled_from(["", " ", "\t\n"]),
)
def test_vendor_region_date_case_and_punctuation_do_not_change_the_card(
    card: ModelCard, vendor: str, decoration: str, dashes: bool, upper: bool, spaces: str
) -> None:
    name = card.name.replace(".", "-") if dashes else card.name
    typed = spaces + vendor + name + decoration + spaces
    assert card_for(typed.upper() if upper else typed) == card


@given(st.text() | st.text(alphabet="claude-gpt54o./:@[]1m ", max_size=40))
def test_no_text_makes_a_look_up_raise(name: str) -> None:
    card = card_for(name)
    assert card.window > 0
    assert card.known or card.name == name
    assert unknown_model_notice(card).count("model.context_length") == (0 if card.known else 1)


def test_every_card_is_complete_dated_and_plausible() -> None:
    for card in shipped_cards():
        assert card.as_of[:2] == "20", card
        assert 0 < card.output_cap <= card.window, card
        assert 0 < card.prompt_limit <= card.window, card
        assert card.cache.style in CACHE_STYLES, card
        assert (card.cache.style == "none") == (card.cache.lifetimes == ()), card
        assert card.prices.cache_read <= card.prices.input <= card.prices.write_5m <= card.prices.write_1h, (
            card
        )
        assert (card.long_prompt is None) == (card.long_prices is None), card


def test_no_two_cards_claim_the_same_spelling() -> None:
    text = files("plimsoll.models").joinpath("cards.toml").read_text(encoding="utf-8")
    claimed: dict[tuple[str, ...], str] = {}
    for section in tomllib.loads(text).values():
        for name, facts in section["cards"].items():
            for spelling in (name, *facts.get("also", ())):
                assert card_for(spelling).name == name
                for pieces in spellings(spelling):
                    assert claimed.setdefault(pieces, name) == name
    assert len(shipped_cards()) > 100


@pytest.mark.parametrize(
    ("name", "minimum", "prices"),
    [
        ("claude-opus-5-5", 512, (4, 20, 0.20, 5, 8)),
        ("claude-fable-5.1", 512, (10, 50, 0.25, 12.5, 20)),
        ("claude-opus-4-8", 1024, (5, 25, 0.5, 6.25, 10)),
        ("claude-opus-4-7", 2048, (5, 25, 0.5, 6.25, 10)),
        ("claude-opus-4-5", 4096, (5, 25, 0.5, 6.25, 10)),
        ("claude-sonnet-4-5", 1024, (3, 15, 0.3, 3.75, 6)),
        ("claude-haiku-4-5", 4096, (1, 5, 0.1, 1.25, 2)),
        ("claude-3-5-haiku", 2048, (0.8, 4, 0.08, 1, 1.6)),
    ],
)
def test_anthropic_facts(name: str, minimum: int, prices: tuple[float, ...]) -> None:
    card = card_for(name)
    found = card.prices
    assert (found.input, found.output, found.cache_read, found.write_5m, found.write_1h) == pytest.approx(
        prices
    )
    assert (card.cache.style, card.cache.minimum, card.cache.lifetimes) == ("anthropic", minimum, (300, 3600))


def test_thinking_is_bound_to_the_prefix_on_the_models_that_say_so() -> None:
    bound = {card.name for card in shipped_cards() if card.preserved_thinking}
    assert bound == {"claude-fable-5.1", "claude-mythos-5.1", "claude-opus-5.5", "claude-sonnet-5.5"}


def test_a_long_prompt_is_billed_at_the_long_prices() -> None:
    card = card_for("claude-haiku-5.5")
    assert card.prices_for(100_000).input == 0.10
    assert card.prices_for(100_001).input == 0.50
    assert card_for("gpt-5").prices_for(10**9) == card_for("gpt-5").prices


def test_openai_writes_cost_extra_from_gpt_5_6_on() -> None:
    new, old = card_for("gpt-5.6"), card_for("gpt-5.2")
    assert new.cache.style == "openai_breakpoints"
    assert new.prices.write_5m == pytest.approx(1.25 * new.prices.input)
    assert old.cache.style == "openai_automatic"
    assert old.prices.write_5m == old.prices.input


def test_the_prompt_limit_is_the_input_cap_where_there_is_one() -> None:
    assert (card_for("gpt-5").window, card_for("gpt-5").prompt_limit) == (400_000, 272_000)
    assert card_for("claude-opus-4-5").prompt_limit == 200_000


def test_smollm2_is_small_and_free() -> None:
    card = card_for("smollm2")
    assert (card.window, card.prices.input, card.prices.output, card.cache.style) == (8_192, 0, 0, "prefix")


def test_the_notice_for_an_unknown_model_states_the_default_and_the_setting() -> None:
    notice = unknown_model_notice(card_for("acme-1"))
    assert "'acme-1'" in notice
    assert f"{DEFAULT_WINDOW:,}" in notice
    assert "model.context_length" in notice
    assert unknown_model_notice(card_for("gpt-5")) == ""
    assert len(unknown_model_notice(card_for("x" * 10_000))) < 300


def test_an_override_matches_the_typed_name_or_the_card_name() -> None:
    overrides = {"claude-sonnet-4-5": {"window": 500_000}, "Azure/Our-Deployment": {"window": 64_000}}
    assert card_for("openrouter/anthropic/claude-sonnet-4.5", overrides).window == 500_000
    assert card_for("azure/our-deployment", overrides).window == 64_000
    assert card_for("azure/our-deployment", overrides).known
    assert card_for("gpt-5", overrides) == card_for("gpt-5")


def test_the_typed_name_outranks_the_card_name() -> None:
    overrides = {"azure/gpt-4o": {"window": 64_000}, "gpt-4o": {"window": 100_000, "output_cap": 1_000}}
    card = card_for("azure/gpt-4o", overrides)
    assert (card.window, card.output_cap) == (64_000, 1_000)


def test_an_override_changes_single_facts_and_keeps_the_others() -> None:
    shipped = card_for("claude-opus-4.5")
    card = card_for("claude-opus-4.5", {"claude-opus-4.5": {"prices": {"input": 4}, "cache_minimum": 1024}})
    assert (card.prices.input, card.prices.output) == (4.0, shipped.prices.output)
    assert (card.cache.minimum, card.cache.style) == (1024, "anthropic")
    assert card_for("claude-opus-4.5") == shipped


def test_an_overridden_price_applies_to_long_prompts_too() -> None:
    card = card_for("claude-haiku-5.5", {"claude-haiku-5.5": {"prices": {"input": 0.3}}})
    assert (card.prices_for(1).input, card.prices_for(10**6).input) == (0.3, 0.3)
    assert card.prices_for(10**6).output == 2.5


def test_an_overridden_window_is_not_limited_by_a_shipped_input_cap() -> None:
    assert card_for("gpt-5", {"gpt-5": {"window": 300_000}}).prompt_limit == 300_000


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"windw": 1}, "windw"),
        ({"window": 0}, "at least 1"),
        ({"window": "big"}, "'big'"),
        ({"window": True}, "True"),
        ({"prices": {"input": -1}}, "-1"),
        ({"prices": {"inputs": 1}}, "cache_read"),
        ({"prices": 3}, "prices"),
        ({"cache_minimum": -1}, "at least 0"),
        ({"preserved_thinking": "yes"}, "'yes'"),
        (5, "mapping"),
    ],
)
def test_a_bad_override_is_an_error_that_names_it(changes: object, said: str) -> None:
    with pytest.raises(SettingError, match="gpt-5") as raised:
        card_for("gpt-5", {"gpt-5": changes})  # type: ignore[dict-item]
    assert said in str(raised.value)


def test_importing_the_package_does_not_parse_the_cards() -> None:
    code = "from plimsoll.models import catalogue; print(catalogue._cards_by_spelling.cache_info())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "currsize=0" in done.stdout


def test_pieces_are_words_numbers_and_sizes() -> None:
    assert pieces_of("Llama-3.3-70B_v1:0 [1m] 1.7b") == (
        "llama",
        "3",
        "3",
        "70b",
        "v",
        "1",
        "0",
        "1m",
        "1.7b",
    )
