"""The wiring: settings in, working parts out."""

from plimsoll.assembly import build_compressor, open_auxiliary, resolve_summaries
from plimsoll.config import load_settings
from plimsoll.terminal.explanation import explain

KEY = "sk-ant-the-key-of-this-test-0123"
ENVIRON = {"ANTHROPIC_API_KEY": KEY}


def settings(tmp_path, text=""):
    (tmp_path / "config.yaml").write_text(text)
    return load_settings(tmp_path, {}).settings


def test_the_compressor_is_built_as_configured(tmp_path):
    engine = build_compressor(
        settings(
            tmp_path, "model: {name: claude-sonnet-4.5}\ncompression: {threshold: 0.4, protect_last_n: 7}\n"
        )
    )
    assert engine.context_length == 200_000
    assert engine.threshold_tokens == 80_000
    assert engine.protect_last_n == 7
    assert build_compressor(settings(tmp_path), window=8_000).context_length == 8_000


def test_without_anybody_to_ask_there_is_no_auxiliary(tmp_path):
    found = settings(tmp_path)
    assert open_auxiliary(found, resolve_summaries(found, {}, tmp_path), tmp_path) is None


def test_a_key_is_enough_for_an_auxiliary_that_may_read_the_main_models_cache(tmp_path):
    found = settings(tmp_path, "auxiliary: {compression: {idle_timeout: 25}}\n")
    resolution = resolve_summaries(found, ENVIRON, tmp_path)
    auxiliary = open_auxiliary(found, resolution, tmp_path)
    assert auxiliary is not None
    assert auxiliary.idle == 25
    assert [model.title for model in auxiliary.models] == [
        "claude-haiku-4-5 at Anthropic",
        "claude-sonnet-4-5 at Anthropic",
    ]
    assert auxiliary.main is auxiliary.models[1]
    assert auxiliary.at_once > 1
    assert KEY not in repr(auxiliary) + repr(resolution)
    auxiliary.close()


def test_only_settings_that_name_a_model_are_resolved(tmp_path):
    read = settings(tmp_path)
    assert explain("compression.threshold", read, ENVIRON, tmp_path) == ()
    assert explain("auxiliary.compression.base_url", read, ENVIRON, tmp_path)[0].startswith(
        "auto → claude-haiku"
    )
    assert "Anthropic answers" in explain("model.name", read, ENVIRON, tmp_path)[0]


def test_explaining_never_starts_or_fetches_the_embedded_model(tmp_path):
    read = settings(tmp_path, "model: {provider: local}\n")
    assert "not installed" in explain("model.provider", read, {}, tmp_path)[0]
    assert "on this machine" in explain("auxiliary.compression.model", read, {}, tmp_path)[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.yaml"]
