"""Who writes the summaries, in which order, and why."""

import asyncio

import pytest

from plimsoll.providers.auxiliary import resolve_auxiliary
from plimsoll.providers.local import DEFAULT_CONTEXT
from plimsoll.settings.context import AuxiliaryCompressionSettings
from plimsoll.settings.model import ModelSettings

ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-ant-secret-0001"}
OPENAI = {"OPENAI_API_KEY": "sk-secret-0002"}
OPENROUTER = {"OPENROUTER_API_KEY": "sk-or-secret-0003"}
NOUS = {"NOUS_API_KEY": "secret-0004"}


class Probe:
    """A server that has these models, and how often it was asked."""

    def __init__(self, *names):
        self.names, self.asked = names, 0

    async def __call__(self, address):
        self.asked += 1
        return self.names or None


def found(tmp_path, environ=None, main=None, probe=None, **settings):
    return asyncio.run(
        resolve_auxiliary(
            AuxiliaryCompressionSettings(**settings),
            ModelSettings(**(main or {})),
            environ or {},
            home=tmp_path,
            probe=probe or Probe(),
        )
    )


def chain(resolution):
    return [(one.endpoint.provider, one.endpoint.model) for one in resolution.candidates]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (ANTHROPIC, [("anthropic", "claude-haiku-4-5"), ("anthropic", "claude-sonnet-4-5")]),
        (OPENAI, [("openai", "gpt-5-mini"), ("openai", "gpt-5")]),
        (
            OPENROUTER,
            [("openrouter", "anthropic/claude-haiku-4.5"), ("openrouter", "anthropic/claude-sonnet-4.5")],
        ),
        (NOUS, [("nous", "Hermes-4-70B")]),
    ],
)
def test_auto_is_the_cheap_sibling_of_the_main_model_and_then_the_main_model(tmp_path, environ, expected):
    assert chain(found(tmp_path, environ)) == expected


def test_the_headline_says_who_and_why(tmp_path):
    headline = found(tmp_path, ANTHROPIC).headline
    assert headline == "auto → claude-haiku-4-5 at Anthropic, because ANTHROPIC_API_KEY is set"


def test_a_main_model_as_cheap_as_the_sibling_writes_itself(tmp_path):
    resolution = found(tmp_path, OPENAI, {"name": "gpt-5-nano"})
    assert chain(resolution) == [("openai", "gpt-5-nano")]
    assert "as cheap as gpt-5-mini" in resolution.headline


def test_main_is_the_main_model_itself(tmp_path):
    assert chain(found(tmp_path, ANTHROPIC, {"name": "claude-opus-4.5"}, provider="main")) == [
        ("anthropic", "claude-opus-4-5")
    ]


def test_main_with_a_model_is_that_model_at_the_main_models_provider(tmp_path):
    resolution = found(tmp_path, ANTHROPIC, provider="main", model="claude-haiku-5.5")
    assert chain(resolution)[0] == ("anthropic", "claude-haiku-5-5")


def test_a_named_model_finds_its_provider_and_falls_back_on_the_main_model(tmp_path):
    resolution = found(tmp_path, ANTHROPIC | OPENAI, {"name": "claude-opus-4.5"}, model="gpt-5-nano")
    assert chain(resolution) == [("openai", "gpt-5-nano"), ("anthropic", "claude-opus-4-5")]
    assert "auxiliary.compression.model is gpt-5-nano" in resolution.headline
    assert resolution.main is None, "what a person named is not passed over for the warm way"


def test_an_address_of_its_own_is_asked_there(tmp_path):
    resolution = found(tmp_path, base_url="http://127.0.0.1:8000/v1", model="qwen")
    assert resolution.candidates[0].endpoint.base_url == "http://127.0.0.1:8000/v1"
    assert "auxiliary.compression.base_url is" in resolution.headline


def test_a_named_model_without_its_key_is_reported_and_the_main_model_serves(tmp_path):
    resolution = found(tmp_path, ANTHROPIC, {"name": "claude-opus-4.5"}, provider="openai")
    assert chain(resolution) == [("anthropic", "claude-opus-4-5")]
    assert any(
        "auxiliary.compression.provider is openai: set OPENAI_API_KEY" in s for s in resolution.sentences()
    )


def test_with_nothing_configured_and_no_key_no_server_is_contacted(tmp_path):
    probe = Probe("llama3")
    resolution = found(tmp_path, probe=probe)
    assert resolution.candidates == ()
    assert probe.asked == 0
    assert "code writes the summary" in resolution.headline


@pytest.mark.parametrize(
    ("settings", "main"),
    [({"provider": "local"}, {}), ({}, {"provider": "local"}), ({"provider": "main"}, {"provider": "local"})],
)
def test_the_embedded_model_writes_only_where_it_is_named(tmp_path, settings, main):
    assert chain(found(tmp_path, main=main, **settings))[0][0] == "local"
    assert found(tmp_path, provider="main").candidates == ()


def test_a_main_model_whose_key_is_missing_gives_way_to_a_key_that_is_there(tmp_path):
    resolution = found(tmp_path, ANTHROPIC, {"name": "gpt-5"})
    assert chain(resolution)[0] == ("anthropic", "claude-haiku-4-5")
    assert any(
        "The main model is not available: gpt-5 is served by OpenAI" in s for s in resolution.sentences()
    )


def test_a_main_model_at_an_address_of_its_own_has_no_sibling(tmp_path):
    resolution = found(tmp_path, main={"base_url": "http://10.0.0.5:8000/v1", "name": "claude-opus-4.5"})
    assert [one.endpoint.model for one in resolution.candidates] == ["claude-opus-4.5"]


def test_an_address_without_a_model_is_asked_for_no_summary_and_the_setting_is_named(tmp_path):
    # Clients of a gateway name their models themselves, so the settings may have none.
    main = {"base_url": "https://models.example.com/v1"}
    environ = {"PLIMSOLL_API_KEY": "k"}
    resolution = found(tmp_path, environ, main)
    assert resolution.candidates == ()
    assert any("Set model.name" in sentence for sentence in resolution.sentences())
    assert chain(found(tmp_path, environ, main, provider="main", model="small"))[0][1] == "small"


def test_windows_are_those_of_the_server_of_the_model(tmp_path):
    (haiku, sonnet) = found(tmp_path, ANTHROPIC, {"context_length": 50_000}).candidates
    assert (haiku.window, sonnet.window) == (200_000, 50_000)
    (ollama,) = found(tmp_path, main={"provider": "ollama", "name": "qwen3"}).candidates
    assert ollama.window == 4_096, "Ollama cuts what is longer without a word"
    (local,) = found(tmp_path, main={"provider": "local", "context_length": 200_000}).candidates
    assert local.window == DEFAULT_CONTEXT


def test_no_key_is_in_what_is_explained(tmp_path):
    environ = ANTHROPIC | OPENAI | OPENROUTER
    resolution = found(tmp_path, environ, {"name": "gpt-5"}, model="nobody/knows")
    said = repr(resolution) + resolution.headline + " ".join(resolution.sentences())
    assert not any(key in said for key in environ.values())


@pytest.mark.parametrize(
    ("provider", "environ"), [("openrouter", OPENROUTER), ("anthropic", ANTHROPIC), ("openai", OPENAI)]
)
def test_a_provider_named_without_a_model_gives_the_summary_model_of_auto(tmp_path, provider, environ):
    automatic = found(tmp_path, environ)
    assert chain(found(tmp_path, environ, provider=provider)) == chain(automatic)
    # Beside a main model elsewhere too.
    both = {**NOUS, **environ}
    beside = found(tmp_path, both, main={"provider": "nous"}, provider=provider)
    assert chain(beside)[0] == chain(automatic)[0]
    # A main model there that is as cheap writes its own summaries.
    cheap = {"provider": provider, "name": chain(automatic)[0][1]}
    assert chain(found(tmp_path, environ, main=cheap, provider=provider)) == chain(automatic)[:1]
