"""Later sources win, and every value knows which one set it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.config import all_keys, load_settings, plimsoll_home
from plimsoll.config.document import parse_document
from plimsoll.config.load import examine
from plimsoll.config.scalars import scalar_text
from plimsoll.config.schema import Setting
from plimsoll.errors import SettingError
from plimsoll.models import card_for
from plimsoll.settings.model import CardOverrides, ModelSettings, PriceOverrides

VALID_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "compression.enabled": st.booleans(),
    "compression.threshold": st.floats(0.0, 1.0, allow_subnormal=False),
    "compression.target_ratio": st.floats(0.10, 0.80),
    "compression.protect_last_n": st.integers(1, 10**9),
    "compression.target_tokens": st.integers(1, 10**9),
    "compression.evidence": st.booleans(),
    "compression.background": st.booleans(),
    "compression.prompt_file": st.sampled_from(["/srv/prompt.md", "~/prompt.md"]),
    "compression.policy": st.sampled_from(["threshold", "cost"]),
    "context.engine": st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]*", fullmatch=True).filter(
        lambda t: t != "null"
    ),
    "auxiliary.compression.model": st.text(
        st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1
    ),
    "auxiliary.compression.api_mode": st.sampled_from(
        ["auto", "chat_completions", "responses", "anthropic_messages", "gemini"]
    ),
    "auxiliary.compression.provider": st.sampled_from(["auto", "openrouter", "main", "local"]),
    "auxiliary.compression.base_url": st.sampled_from(["http://localhost:8080/v1", "https://example.org"]),
    "auxiliary.compression.idle_timeout": st.floats(0.1, 3600),
    "prompt_caching.cache_ttl": st.sampled_from(["5m", "1h"]),
    "prompt_caching.strategy": st.sampled_from(["auto", "system_and_3", "planned", "none"]),
    "model.name": st.sampled_from(["claude-sonnet-4.5", "4", "1e3", "true", "openai/gpt-5.6", "a: b"]),
    "model.provider": st.sampled_from(["auto", "anthropic", "ollama"]),
    "model.api_mode": st.sampled_from(
        ["auto", "chat_completions", "responses", "anthropic_messages", "gemini"]
    ),
    "model.base_url": st.sampled_from(["http://localhost:8080/v1", "https://example.org"]),
    "model.context_length": st.integers(10_000, 10**7),
    "model.max_output_tokens": st.integers(1, 9_999),
    "archive.url": st.sampled_from(["sqlite:///srv/plimsoll.db", "sqlite:///a%20b.db"]),
    "agent.max_requests": st.integers(1, 10**6),
    "agent.max_seconds": st.floats(0.1, 10**6),
    "agent.max_money": st.floats(0.01, 10**6),
    "plugins.enabled": st.lists(st.sampled_from(["notes", "hermes-lcm", "4", "true"])),
    "tools.terminal.allow": st.lists(st.sampled_from(["pytest", "git commit", "*", "true"])),
    "tools.terminal.sandbox": st.booleans(),
    "tools.terminal.network": st.booleans(),
    "tools.timeout": st.floats(0.1, 3600),
    "tools.edits": st.sampled_from(["ask", "accept", "plan"]),
    "tools.output_limit": st.integers(1_000, 10**9),
    "gateway.host": st.sampled_from(["127.0.0.1", "::1", "0.0.0.0"]),
    "gateway.port": st.integers(1, 65_535),
    "gateway.workers": st.integers(1, 64),
    "gateway.compaction_workers": st.integers(0, 64),
    "gateway.limit_wait_seconds": st.floats(0, 3600, allow_subnormal=False),
    "gateway.on_disconnect": st.sampled_from(["cancel", "finish"]),
    "gateway.keys": st.sampled_from(["auto", "required", "off"]),
    "gateway.allowed_origins": st.lists(
        st.sampled_from(["https://example.org", "http://localhost:3000", "*"])
    ),
    "gateway.body_limit": st.integers(1_000, 10**9),
    "gateway.depth_limit": st.integers(4, 500),
    "gateway.conversation_memory": st.integers(10**6, 10**9),
    "gateway.recall": st.booleans(),
    "gateway.recall_rounds": st.integers(1, 32),
    "gateway.recall_tokens": st.integers(100, 10**6),
    "gateway.element_limit": st.integers(100, 10**7),
    "gateway.header_limit": st.integers(1_000, 10**6),
    "gateway.receive_seconds": st.floats(0.1, 3600),
    "gateway.send_seconds": st.floats(0.1, 3600),
    "gateway.connections": st.integers(1, 10**6),
    "gateway.shutdown_seconds": st.floats(1, 3600),
    "gateway.metrics": st.booleans(),
    "gateway.log": st.sampled_from(["auto", "json", "text", "off"]),
    "gateway.log_contents": st.booleans(),
    "gateway.traces": st.sampled_from(["http://localhost:4318", "https://traces.example.org"]),
    "gateway.sessions.tools": st.lists(st.sampled_from(["terminal", "read_file", "mcp", "plugins"])),
    "gateway.sessions.waiting": st.integers(0, 10_000),
    "gateway.store_conversations": st.booleans(),
    "gateway.sessions.open": st.integers(0, 100_000),
    "gateway.sessions.patience_seconds": st.floats(0.1, 3600),
    "gateway.sessions.lease_seconds": st.floats(5, 3600),
    "gateway.sessions.hygiene_seconds": st.floats(1, 3600),
    "gateway.matrix.homeserver": st.sampled_from(["http://localhost:8008", "https://matrix.example.org"]),
    "gateway.matrix.token": st.sampled_from(["${MATRIX_TOKEN}", "${_T1}"]),
    "gateway.matrix.allowed_users": st.lists(st.sampled_from(["@ada:example.org", "@b:localhost:8448"])),
    "gateway.matrix.allowed_rooms": st.lists(st.sampled_from(["!abc:example.org", "!def"])),
    "gateway.telegram.base_url": st.sampled_from(["http://localhost:8081", "https://api.example.org/bots"]),
    "gateway.telegram.token": st.sampled_from(["${TELEGRAM_TOKEN}", "${_T1}"]),
    "gateway.telegram.allowed_users": st.lists(st.sampled_from(["112233", "@ada"])),
    "gateway.telegram.allowed_chats": st.lists(st.sampled_from(["-100123", "7"])),
}
WITH_VARIABLE = [setting for setting in all_keys() if setting.variable]


def test_the_property_below_covers_every_key() -> None:
    assert {setting.key for setting in WITH_VARIABLE} == set(VALID_VALUES)


@st.composite
def one_key_from_some_sources(draw: st.DrawFn) -> tuple[Setting, dict[str, Any]]:
    setting = draw(st.sampled_from(WITH_VARIABLE))
    kinds = draw(st.sets(st.sampled_from(["file", "variable", "flag"])))
    return setting, {kind: draw(VALID_VALUES[setting.key]) for kind in sorted(kinds)}


def as_variable(value: Any) -> str:
    return value if isinstance(value, str) else scalar_text(value)


@given(one_key_from_some_sources())
def test_the_highest_source_wins_and_is_named(drawn: tuple[Setting, dict[str, Any]]) -> None:
    setting, values = drawn
    text = ""
    if "file" in values:
        for depth, name in enumerate(setting.path):
            text += f"{'  ' * depth}{name}:" + ("\n" if depth < len(setting.path) - 1 else "")
        text += f" {scalar_text(values['file'])}\n"
    assert setting.variable is not None
    environ = {setting.variable: as_variable(values["variable"])} if "variable" in values else {}
    flags = {setting.key: values["flag"]} if "flag" in values else {}

    report = examine(parse_document(Path("config.yaml"), text), environ, flags)

    assert report.problems == ()
    assert report.loaded is not None
    order = [kind for kind in ("flag", "variable", "file") if kind in values]
    winner = order[0] if order else "default"
    assert report.loaded.source(setting.key).kind == winner
    assert report.loaded.value(setting.key) == values.get(winner, setting.default)
    assert [given.source.kind for given in report.loaded.overridden(setting.key)] == order[1:]


def test_the_file_source_has_its_line_and_the_variable_its_name(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("# c\ncompression:\n\n  threshold: 0.4\n  target_ratio: 0.3\n")
    loaded = load_settings(
        tmp_path, {"PLIMSOLL_COMPRESSION__TARGET_RATIO": "0.5"}, {"compression.protect_last_n": 7}
    )
    assert str(loaded.source("compression.threshold")) == f"{tmp_path / 'config.yaml'}:4"
    assert str(loaded.source("compression.target_ratio")) == "PLIMSOLL_COMPRESSION__TARGET_RATIO"
    assert str(loaded.source("compression.protect_last_n")) == "command line"
    assert str(loaded.source("compression.enabled")) == "default"
    assert [(g.value, g.source.line) for g in loaded.overridden("compression.target_ratio")] == [(0.3, 5)]


def test_asking_for_the_source_of_an_unknown_key_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"Did you mean compression\.threshold"):
        load_settings(tmp_path, {}).source("compression.treshold")


def test_a_flag_that_is_none_was_not_given(tmp_path: Path) -> None:
    assert str(
        load_settings(tmp_path, {}, {"compression.threshold": None}).source("compression.threshold")
    ) == ("default")


def test_an_empty_variable_is_not_set_and_null_is_null(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model: {name: some-model}\n")
    assert load_settings(tmp_path, {"PLIMSOLL_MODEL__NAME": ""}).settings.model.name == "some-model"
    assert load_settings(tmp_path, {"PLIMSOLL_MODEL__NAME": "null"}).settings.model.name is None


def test_a_variable_that_only_shares_the_prefix_is_no_setting(tmp_path: Path) -> None:
    environ = {"PLIMSOLL_HOME": str(tmp_path), "PLIMSOLL_ANYTHING": "x", "PLIMSOLLX__Y": "z", "PATH": "/bin"}
    loaded = load_settings(None, environ)
    assert loaded.path == tmp_path / "config.yaml"
    assert loaded.notices == ()


def test_home_is_the_variable_or_a_hidden_directory() -> None:
    assert plimsoll_home({"PLIMSOLL_HOME": "/srv/p", "HOME": "/home/ada"}) == Path("/srv/p")
    assert plimsoll_home({"HOME": "/home/ada"}) == Path("/home/ada/.plimsoll")


def test_settings_cannot_be_changed_after_loading(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {}).settings
    with pytest.raises(ValueError, match="frozen"):
        settings.compression.threshold = 0.9  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("compression:\n  summary_model: small\n", "auxiliary.compression.model", 2),
        ("model:\n  cache_ttl: 1h\n", "prompt_caching.cache_ttl", 2),
    ],
)
def test_an_older_spelling_works_and_is_reported(tmp_path: Path, text: str, key: str, line: int) -> None:
    (tmp_path / "config.yaml").write_text(text)
    loaded = load_settings(tmp_path, {})
    assert loaded.value(key) in ("small", "1h")
    assert loaded.source(key).line == line
    (notice,) = loaded.notices
    assert f"config.yaml:{line}: " in notice
    assert f"is now called {key}" in notice


def test_where_both_spellings_are_set_the_new_one_wins_and_that_is_reported(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("prompt_caching:\n  cache_ttl: 5m\nmodel:\n  cache_ttl: 1h\n")
    loaded = load_settings(tmp_path, {})
    assert loaded.settings.prompt_caching.cache_ttl == "5m"
    assert (
        "model.cache_ttl is an older spelling of prompt_caching.cache_ttl, which is set too and wins"
        in (loaded.notices[0])
    )


def test_the_new_spelling_in_the_file_wins_over_the_older_one_in_a_variable(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("auxiliary: {compression: {model: new}}\n")
    loaded = load_settings(tmp_path, {"PLIMSOLL_COMPRESSION__SUMMARY_MODEL": "old"})
    assert loaded.settings.auxiliary.compression.model == "new"
    assert "PLIMSOLL_COMPRESSION__SUMMARY_MODEL" in loaded.notices[0]


def test_a_wrong_value_under_an_older_spelling_is_reported_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model:\n  cache_ttl: 2h\n")
    with pytest.raises(
        SettingError, match=r'config.yaml:2: model.cache_ttl is "2h"; it must be one of 5m, 1h'
    ):
        load_settings(tmp_path, {})


def test_a_card_override_replaces_only_the_facts_that_it_names(tmp_path: Path) -> None:
    text = (
        "model:\n  cards:\n    gpt-5.6: {window: 400000, cache_minimum: 1, prices: {input: 2}}\n    other:\n"
    )
    (tmp_path / "config.yaml").write_text(text)
    loaded = load_settings(tmp_path, {})
    shipped = card_for("gpt-5.6")
    changed = load_settings(tmp_path, {}, {"model.name": "gpt-5.6"}).settings.model.card()
    assert (changed.window, changed.output_cap) == (400_000, shipped.output_cap)
    assert changed.prices == replace(shipped.prices, input=2)
    assert changed.cache.minimum == 1
    assert loaded.source("model.cards.gpt-5.6.prices.input").line == 3
    assert loaded.value("model.cards.unheard-of.window") is None


def test_an_empty_override_changes_nothing() -> None:
    settings = ModelSettings(name="gpt-5.6", cards={"gpt-5.6": CardOverrides(prices=PriceOverrides())})
    assert settings.card() == card_for("gpt-5.6")
