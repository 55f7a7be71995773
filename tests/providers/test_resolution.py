"""Who answers under which settings and environment, and what the person is told about it."""

import asyncio
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.errors import MissingKey, SettingError, UnknownModel, UserError
from plimsoll.providers import Endpoint, Resolution, model_at, resolve, served_models
from plimsoll.providers.local import embedded_model, model_path
from plimsoll.settings.model import ModelSettings
from plimsoll.testing.scripted_server import ScriptedServer

HOME = Path("/nowhere/plimsoll")
SECRET = "plk-secret-0123456789"


def found(
    settings: ModelSettings | None = None,
    environ: dict[str, str] | None = None,
    served: tuple[str, ...] | None = None,
) -> Resolution:
    async def probe(_: str) -> tuple[str, ...] | None:
        return served

    return asyncio.run(resolve(settings or ModelSettings(), environ or {}, home=HOME, probe=probe))


@pytest.mark.parametrize(
    ("variables", "provider", "model"),
    [
        (["ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "OPENAI_API_KEY"], "anthropic", "claude-sonnet-4-5"),
        (["ANTHROPIC_AUTH_TOKEN"], "anthropic", "claude-sonnet-4-5"),
        (
            ["NOUS_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"],
            "openrouter",
            "anthropic/claude-sonnet-4.5",
        ),
        (["NOUS_API_KEY", "OPENAI_API_KEY"], "openai", "gpt-5"),
        (["NOUS_API_KEY", "GOOGLE_API_KEY"], "gemini", "gemini-2.5-pro"),
        (["NOUS_API_KEY"], "nous", "Hermes-4-70B"),
    ],
)
def test_the_first_key_in_the_order_decides(variables: list[str], provider: str, model: str):
    resolution = found(environ=dict.fromkeys(variables, SECRET), served=("llama3",))
    assert (resolution.endpoint.provider, resolution.endpoint.model) == (provider, model)
    assert resolution.endpoint.key == SECRET
    last = resolution.explanation[-1]
    assert last.taken
    assert model in last.sentence
    assert SECRET not in repr(resolution)


def test_without_a_key_ollama_answers_and_without_ollama_the_embedded_model():
    assert found(served=("llama3.2", "qwen3")).endpoint == Endpoint(
        "ollama", "http://127.0.0.1:11434/v1", "openai", model="llama3.2"
    )
    for served in (None, ()):
        resolution = found(served=served)
        assert resolution.endpoint.embedded
        assert resolution.endpoint.model == str(model_path(HOME))
        assert "plimsoll models fetch" in resolution.sentences()[-1]


def test_every_step_states_why_it_was_not_used():
    sentences = found().sentences()
    for name in ("ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "OPENAI_API_KEY", "NOUS_API_KEY", "Ollama"):
        assert any(name in sentence for sentence in sentences)
    assert [step.taken for step in found().explanation] == [False] * (len(sentences) - 1) + [True]


def test_an_empty_variable_is_no_key_and_a_newline_at_its_end_is_not_part_of_it():
    assert found(environ={"OPENAI_API_KEY": "  "}).endpoint.provider == "local"
    assert found(environ={"OPENAI_API_KEY": f"{SECRET}\n"}).endpoint.key == SECRET


@pytest.mark.parametrize(
    ("variable", "headers"),
    [
        ("ANTHROPIC_API_KEY", {"x-api-key": SECRET}),
        ("ANTHROPIC_AUTH_TOKEN", {"authorization": f"Bearer {SECRET}"}),
    ],
)
def test_anthropics_key_and_token_go_into_their_own_headers(variable: str, headers: dict[str, str]):
    sent = found(environ={variable: SECRET}).endpoint.request_headers()
    assert sent == {"content-type": "application/json", "anthropic-version": "2023-06-01", **headers}


@pytest.mark.parametrize(
    ("name", "variables", "provider", "model"),
    [
        ("claude-opus-4.5", ["ANTHROPIC_API_KEY"], "anthropic", "claude-opus-4-5"),
        ("anthropic/claude-opus-4.5", ["ANTHROPIC_API_KEY"], "anthropic", "claude-opus-4-5"),
        ("claude-opus-4.5", ["OPENROUTER_API_KEY"], "openrouter", "anthropic/claude-opus-4.5"),
        ("openrouter/anthropic/claude-opus-4.5", ["OPENROUTER_API_KEY", "ANTHROPIC_API_KEY"], "openrouter",
         "anthropic/claude-opus-4.5"),
        ("meta-llama/llama-4", ["OPENROUTER_API_KEY"], "openrouter", "meta-llama/llama-4"),
        ("nous/Hermes-4-405B", ["OPENROUTER_API_KEY"], "openrouter", "nousresearch/Hermes-4-405B"),
        ("gpt-5.2", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"], "openai", "gpt-5.2"),
        ("o3-mini", ["OPENAI_API_KEY"], "openai", "o3-mini"),
        ("ollama/qwen3:8b", ["OPENAI_API_KEY"], "ollama", "qwen3:8b"),
        ("gpt-oss:20b", ["OPENAI_API_KEY"], "ollama", "gpt-oss:20b"),
        ("llama3.2", [], "ollama", "llama3.2"),
    ],
)  # fmt: skip
def test_a_named_model_finds_its_provider(name: str, variables: list[str], provider: str, model: str):
    environ = dict.fromkeys(variables, SECRET)
    endpoint = found(ModelSettings(name=name), environ, ("gpt-oss:20b", "llama3.2:latest")).endpoint
    assert (endpoint.provider, endpoint.model) == (provider, model)


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        (ModelSettings(provider="anthropic"), "ANTHROPIC_API_KEY"),
        (ModelSettings(provider="openai", name="gpt-5"), "OPENAI_API_KEY"),
        (ModelSettings(provider="openrouter"), "OPENROUTER_API_KEY"),
        (ModelSettings(provider="nous"), "NOUS_API_KEY"),
        (ModelSettings(name="claude-opus-4.5"), "ANTHROPIC_API_KEY"),
        (ModelSettings(name="openrouter/x/y"), "OPENROUTER_API_KEY"),
        (ModelSettings(base_url="https://models.example.com/v1"), "PLIMSOLL_API_KEY"),
        (
            ModelSettings(provider="groq", base_url="https://models.example.com/v1"),
            "GROQ_API_KEY or PLIMSOLL_API_KEY",
        ),
        (ModelSettings(base_url="https://api.openai.com/v1"), "OPENAI_API_KEY"),
    ],
)
def test_a_missing_key_is_one_sentence_with_the_variables_name(settings: ModelSettings, variable: str):
    with pytest.raises(MissingKey, match=variable) as raised:
        found(settings, served=("llama3",))
    assert "\n" not in str(raised.value)


def test_a_named_model_is_never_replaced_by_another():
    with pytest.raises(UnknownModel, match=r"No provider is known for mystery-1.*or set model.provider"):
        found(ModelSettings(name="mystery-1"), {"OPENAI_API_KEY": SECRET}, ("llama3",))


def test_a_model_file_is_served_here():
    for settings in (
        ModelSettings(name="/models/x.gguf"),
        ModelSettings(name="/models/x.gguf", provider="local"),
    ):
        endpoint = found(settings).endpoint
        assert (endpoint.embedded, endpoint.model) == (True, "/models/x.gguf")


def test_the_embedded_model_can_be_named():
    for settings in (ModelSettings(provider="local"), ModelSettings(name=embedded_model().name)):
        assert found(settings, {"OPENAI_API_KEY": SECRET}).endpoint.embedded


def test_an_address_of_ones_own_takes_a_key_where_there_is_one_and_needs_none_nearby():
    near = ModelSettings(base_url="http://127.0.0.1:8000/v1", name="qwen")
    assert found(near).endpoint == Endpoint("custom", "http://127.0.0.1:8000/v1", "openai", model="qwen")
    environ = {"PLIMSOLL_API_KEY": SECRET, "OPENAI_API_KEY": "other"}
    assert found(near, environ).endpoint.key == SECRET
    named = ModelSettings(base_url="https://api.groq.example/v1", provider="groq", name="llama")
    assert (
        found(named, {"GROQ_API_KEY": SECRET, **dict.fromkeys(["OPENAI_API_KEY"], "other")}).endpoint.key
        == SECRET
    )


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        (ModelSettings(base_url="https://api.anthropic.com", name="claude-opus-4.5"), "ANTHROPIC_API_KEY"),
        (ModelSettings(base_url="https://api.anthropic.com", provider="anthropic"), "ANTHROPIC_API_KEY"),
        (ModelSettings(base_url="https://openrouter.ai/api/v1", name="x/y"), "OPENROUTER_API_KEY"),
        (ModelSettings(base_url="https://openrouter.ai/api/v1", provider="openai"), "OPENROUTER_API_KEY"),
        (ModelSettings(base_url="http://some-host.example.com/v1", name="y"), "PLIMSOLL_API_KEY"),
        (ModelSettings(base_url="https://gw.example.com/v1", provider="groq", name="y"), "PLIMSOLL_API_KEY"),
    ],
)
def test_a_key_is_sent_only_to_its_owner(settings: ModelSettings, variable: str):
    with pytest.raises(MissingKey, match=variable) as raised:
        found(settings, {"OPENAI_API_KEY": SECRET})
    assert "\n" not in str(raised.value)


def test_a_key_for_no_provider_is_not_sent_to_one():
    with pytest.raises(MissingKey, match="ANTHROPIC_API_KEY"):
        found(ModelSettings(base_url="https://api.anthropic.com"), {"PLIMSOLL_API_KEY": SECRET})


def test_a_server_in_the_network_gets_no_key_that_is_not_meant_for_it():
    near = ModelSettings(base_url="http://192.168.1.20:8000/v1", name="qwen")
    assert found(near, {"OPENAI_API_KEY": SECRET}).endpoint.key is None
    assert found(near, {"PLIMSOLL_API_KEY": SECRET}).endpoint.key == SECRET


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        (ModelSettings(base_url="https://gw.example.com/v1", name="y"), "PLIMSOLL_API_KEY"),
        (ModelSettings(base_url="https://gw.example.com/v1", name="y", provider="groq"), "GROQ_API_KEY"),
        (
            ModelSettings(base_url="https://gw.example.com", name="y", provider="anthropic"),
            "ANTHROPIC_API_KEY",
        ),
        (ModelSettings(base_url="http://127.0.0.1:8000/v1", name="y"), "OPENAI_API_KEY"),
    ],
)
def test_the_explanation_names_the_variable_whose_key_is_sent(settings: ModelSettings, variable: str):
    resolution = found(settings, {variable: SECRET})
    assert resolution.endpoint.key == SECRET
    assert f"with the key in {variable}" in resolution.sentences()[-1]


@pytest.mark.parametrize(
    ("variable", "settings"),
    [
        ("OPENAI_BASE_URL", ModelSettings(provider="openai")),
        ("OLLAMA_HOST", ModelSettings(provider="ollama")),
    ],
)
@pytest.mark.parametrize("address", ["http://bob:hunter2@host/v1", "http://host/v1?api_key=hunter2"])
def test_a_secret_in_an_address_variable_is_refused_without_being_shown(
    variable: str, settings: ModelSettings, address: str
):
    with pytest.raises(SettingError, match=f"{variable}.*contains a secret") as raised:
        found(settings, {"OPENAI_API_KEY": SECRET, variable: address})
    assert "hunter2" not in str(raised.value)


def test_an_address_variable_that_is_no_address_is_a_sentence():
    for variable, value in (("OPENAI_BASE_URL", "api.example.com"), ("OLLAMA_HOST", "127.0.0.1:99999")):
        provider = "openai" if variable == "OPENAI_BASE_URL" else "ollama"
        with pytest.raises(SettingError, match=variable):
            found(ModelSettings(provider=provider), {"OPENAI_API_KEY": SECRET, variable: value})
    assert (
        found(environ={"OLLAMA_HOST": ":8080"}, served=("m",)).endpoint.base_url == "http://127.0.0.1:8080/v1"
    )


def test_an_address_without_a_model_is_asked_for_its_first_one():
    near = ModelSettings(base_url="http://192.168.1.20:8000")
    assert found(near, served=("served-model",)).endpoint.model == "served-model"


def test_an_address_of_a_known_provider_is_that_provider():
    settings = ModelSettings(base_url="https://openrouter.ai/api/v1", name="openrouter/openai/gpt-5")
    endpoint = found(settings, {"OPENROUTER_API_KEY": SECRET}).endpoint
    assert (endpoint.provider, endpoint.model, endpoint.key) == ("openrouter", "openai/gpt-5", SECRET)
    native = ModelSettings(base_url="https://api.anthropic.com/v1", name="claude-opus-4.5")
    assert found(native, {"ANTHROPIC_API_KEY": SECRET}).endpoint.dialect == "anthropic"


def test_addresses_in_the_environment_are_used():
    environ = {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": "http://proxy.internal/v1"}
    assert found(environ=environ).endpoint.base_url == "http://proxy.internal/v1"
    for value in ("0.0.0.0", "127.0.0.1:11434", "http://127.0.0.1:11434/"):
        endpoint = found(environ={"OLLAMA_HOST": value}, served=("m",)).endpoint
        assert endpoint.base_url == "http://127.0.0.1:11434/v1"


@pytest.mark.parametrize(
    ("base_url", "dialect", "url"),
    [
        ("https://api.openai.com/v1", "openai", "https://api.openai.com/v1/chat/completions"),
        ("http://127.0.0.1:8000", "openai", "http://127.0.0.1:8000/v1/chat/completions"),
        ("http://127.0.0.1:8000/", "openai", "http://127.0.0.1:8000/v1/chat/completions"),
        ("https://h.example/api/v1/chat/completions", "openai", "https://h.example/api/v1/chat/completions"),
        ("https://h.example/x?api-version=2", "openai", "https://h.example/x/chat/completions?api-version=2"),
        ("https://api.anthropic.com", "anthropic", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1", "anthropic", "https://api.anthropic.com/v1/messages"),
        ("https://api.deepseek.example/anthropic", "anthropic", "https://api.deepseek.example/anthropic/v1/messages"),
    ],
)  # fmt: skip
def test_requests_go_where_the_address_says(base_url: str, dialect: str, url: str):
    assert Endpoint("x", base_url, "openai" if dialect == "openai" else "anthropic").url == url


def test_the_long_window_of_a_claude_model_is_asked_for_by_a_header():
    assert model_at("anthropic", "claude-sonnet-4.5[1m]") == (
        "claude-sonnet-4-5",
        (("anthropic-beta", "context-1m-2025-08-07"),),
    )


def test_a_real_server_lists_its_models_and_no_server_is_none():
    with ScriptedServer(model="claude-sonnet-4.5", models=("gpt-5",)) as server:
        assert asyncio.run(served_models(server.openai_url)) == ("claude-sonnet-4.5", "gpt-5")
        assert asyncio.run(served_models(f"{server.gemini_url}/v1beta")) == ("claude-sonnet-4.5", "gpt-5")
        gone = server.openai_url
    assert asyncio.run(served_models(gone)) is None


@hypothesis.settings(deadline=None)
@given(
    name=st.none() | st.text(min_size=1),
    provider=st.sampled_from(["auto", "openrouter", "nous", "anthropic", "openai", "ollama", "local"]),
    variables=st.sets(st.sampled_from(["ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "OPENAI_API_KEY"])),
)
def test_any_name_gives_an_endpoint_or_a_sentence(name: str | None, provider: str, variables: set[str]):
    said = ""
    try:
        resolution = found(ModelSettings(name=name, provider=provider), dict.fromkeys(variables, SECRET))
    except UserError as error:
        said = str(error)
    else:
        assert resolution.explanation[-1].taken
        said = repr(resolution)
    assert said
    assert SECRET not in said
