"""Every mistake in a configuration is reported with its place, its value and its range."""

from pathlib import Path

import pytest

from plimsoll.config import ConfigReport, check_settings, load_settings
from plimsoll.errors import SettingError


def checked(home: Path, text: str = "", **variables: str) -> ConfigReport:
    (home / "config.yaml").write_text(text, encoding="utf-8")
    return check_settings(home, variables)


def told(home: Path, text: str = "", **variables: str) -> str:
    return "\n".join(str(problem) for problem in checked(home, text, **variables).problems)


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("compression.threshold", "-0.01", "a number from 0 to 1"),
        ("compression.threshold", "1.01", "a number from 0 to 1"),
        ("compression.threshold", ".nan", "a number from 0 to 1"),
        ("compression.threshold", "true", "a number from 0 to 1"),
        ("compression.threshold", "", "a number from 0 to 1"),
        ("compression.target_ratio", "0.09", "a number from 0.1 to 0.8"),
        ("compression.target_ratio", "0.81", "a number from 0.1 to 0.8"),
        ("compression.protect_last_n", "0", "a whole number at least 1"),
        ("compression.protect_last_n", "2.5", "a whole number at least 1"),
        ("compression.protect_last_n", "[3]", "a whole number at least 1"),
        ("compression.policy", "price", "one of threshold, cost"),
        ("compression.enabled", "1", "true or false"),
        ("compression.background", "sometimes", "true or false"),
        ("prompt_caching.cache_ttl", "10m", "one of 5m, 1h"),
        ("prompt_caching.strategy", "all", "one of auto, system_and_3, planned, none"),
        ("context.engine", "../evil", "an engine's name"),
        ("context.engine", '""', "an engine's name"),
        ("model.name", "4", "text, not empty, or null"),
        ("model.context_length", "1023", "a whole number at least 1024, or null"),
        ("model.max_output_tokens", "0", "a whole number at least 1, or null"),
        ("model.base_url", "ftp://x", "an http:// or https:// address"),
        ("model.base_url", '"http://[::1"', "an http:// or https:// address"),
        ("tools.timeout", "0", "a number above 0 and at most 3600"),
        ("tools.timeout", "3601", "a number above 0 and at most 3600"),
        ("tools.output_limit", "999", "a whole number at least 1000"),
    ],
)
def test_a_value_of_the_wrong_type_or_out_of_range_is_reported_with_line_value_and_range(
    tmp_path: Path, key: str, value: str, allowed: str
) -> None:
    section, name = key.split(".")
    (problem,) = checked(tmp_path, f"# first line\n{section}:\n  {name}: {value}\n").problems
    assert problem.where == f"{tmp_path / 'config.yaml'}:3"
    assert problem.text.startswith(f"{key} is ")
    assert allowed in problem.text


def test_the_ends_of_every_range_are_inside_it(tmp_path: Path) -> None:
    text = (
        "compression: {threshold: 1, target_ratio: 0.10, protect_last_n: 1}\nmodel: {context_length: 1024}\n"
        "prompt_caching: {cache_ttl: 1h}\n"
    )
    assert checked(tmp_path, text).problems == ()
    assert checked(tmp_path, "compression: {threshold: 0, target_ratio: 0.80}").problems == ()


def test_yes_is_text_in_yaml_1_2_and_the_sentence_says_what_to_write(tmp_path: Path) -> None:
    assert 'compression.enabled is "yes"; it must be true or false; write true.' in told(
        tmp_path, "compression:\n  enabled: yes\n"
    )


def test_a_number_in_quotes_is_text(tmp_path: Path) -> None:
    assert "write it without quotes" in told(tmp_path, 'compression:\n  threshold: "0.5"\n')


def test_a_misspelled_choice_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    assert "did you mean planned?" in told(tmp_path, "prompt_caching:\n  strategy: planed\n")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("compression:\n  treshold: 0.5\n", "compression.threshold"),
        ("threshold: 0.5\n", "compression.threshold"),
        ("prompt_cache:\n  ttl: 5m\n", "Did you mean prompt_caching?"),
        ("compresion:\n  enabled: true\n", "Did you mean compression?"),
        ("model:\n  cards:\n    gpt-5.6: {windw: 2000}\n", "model.cards.gpt-5.6.window"),
        ("1: 2\n", "The sections are model, context, "),
        ("cache_ttl: 1h\n", "Did you mean prompt_caching.cache_ttl?"),
        ("tools:\n  timout: 5\n", "Did you mean tools.timeout?"),
        ("mcpServers:\n  docs: {command: x}\n", "Did you mean mcp_servers?"),
        ("mcp_servers:\n  docs: {comand: x}\n", "Did you mean mcp_servers.docs.command?"),
        ("mcp_servers:\n  docs: {command: x, zzz: 1}\n", "The keys of mcp_servers.docs are command, args"),
        ("compression:\n  zzz: 1\n", "The keys of compression are enabled, threshold"),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest_valid_one(tmp_path: Path, text: str, meant: str) -> None:
    (problem,) = checked(tmp_path, text).problems
    assert "is not a setting" in problem.text
    assert meant in problem.text


def test_protect_first_n_is_refused_as_hard_coded(tmp_path: Path) -> None:
    assert "it is 3 and hard-coded" in told(tmp_path, "compression:\n  protect_first_n: 3\n")
    assert "it is 3 and hard-coded" in told(tmp_path, PLIMSOLL_COMPRESSION__PROTECT_FIRST_N="3")


@pytest.mark.parametrize(
    "name", ["api_key", "apiKey", "API-KEY", "token", "openai_api_key", "password", "secret"]
)
def test_a_secret_is_refused_and_its_value_is_not_repeated(tmp_path: Path, name: str) -> None:
    sentence = told(tmp_path, f"model:\n  {name}: hunter2\n")
    assert "hunter2" not in sentence
    assert "ANTHROPIC_API_KEY" in sentence


@pytest.mark.parametrize(
    "text",
    [
        "model: {base_url: 'https://me:hunter2@host/v1'}",
        "model: {base_url: 'https://host/v1?api_key=hunter2'}",
        "openai: hunter2",
        "openai: {api_key: hunter2}",
        "model: {context_length: sk-ant-hunter2hunter2}",
        "model:\n  api_key: *hunter2",
        "mcp_servers: {a: {command: x, env: hunter2}}",
        "mcp_servers: {a: {command: x, env: [hunter2]}}",
        "mcp_servers: {a: {command: x, env: {A: [hunter2]}}}",
        "mcp_servers: {a: {command: x, headers: {A: hunter2}}}",
        "mcp_servers: {a: {url: 'http://x', env: {A: hunter2}}}",
        "mcp_servers: {a: {url: 'http://x?key=hunter2'}}",
        "mcp_servers: {a: {command: x, api_key: hunter2}}",
        "mcp_servers: {a: {command: x, env: {A: hunter2, A: hunter2}}}",
        "mcp_servers: {a: {command: x, env: {A: {hunter2}}}}",
    ],
)
def test_what_looks_like_a_secret_is_never_shown(tmp_path: Path, text: str) -> None:
    sentence = told(tmp_path, text)
    assert sentence
    assert "hunter2" not in sentence


def test_a_secret_in_a_variable_is_not_shown(tmp_path: Path) -> None:
    sentence = told(tmp_path, PLIMSOLL_MODEL__API_KEY="hunter2")
    assert "PLIMSOLL_MODEL__API_KEY" in sentence
    assert "hunter2" not in sentence


def test_an_unknown_variable_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    sentence = told(tmp_path, PLIMSOLL_COMPRESSION__TRESHOLD="0.4")
    assert "Did you mean PLIMSOLL_COMPRESSION__THRESHOLD?" in sentence


def test_a_variable_with_one_underscore_too_few_is_reported_not_obeyed(tmp_path: Path) -> None:
    report = checked(tmp_path, PLIMSOLL_COMPRESSION_THRESHOLD="0.4")
    assert report.loaded is not None
    assert report.loaded.settings.compression.threshold == 0.5
    assert any("PLIMSOLL_COMPRESSION__THRESHOLD" in notice for notice in report.notices)


def test_a_model_card_cannot_be_set_by_a_variable(tmp_path: Path) -> None:
    assert "set in config.yaml" in told(tmp_path, PLIMSOLL_MODEL__CARDS__X__WINDOW="4096")


def test_a_server_cannot_be_set_by_a_variable(tmp_path: Path) -> None:
    sentence = told(tmp_path, PLIMSOLL_MCP_SERVERS__X__ENV__TOKEN="hunter2")
    assert sentence.endswith(
        "mcp_servers is set in config.yaml; a variable name cannot contain the name of a server."
    )


@pytest.mark.parametrize(
    ("server", "place", "sentence"),
    [
        ("", 2, "mcp_servers.docs is empty; a server needs either command or url."),
        (" {}", 2, "mcp_servers.docs is empty; a server needs either command or url."),
        (" {timeout: 5}", 2, "mcp_servers.docs is incomplete; a server needs either command or url."),
        (" docs-server", 2, 'mcp_servers.docs is "docs-server", but it is a section; its keys are command'),
        ("\n    command: x\n    url: http://x", 4, 'mcp_servers.docs.url is "http://x"; it has no effect'),
        ("\n    url: http://x\n    args: [a]", 4, "mcp_servers.docs.args is a list; it has no effect"),
        (
            "\n    command: x\n    args: [a, 5]",
            4,
            "mcp_servers.docs.args.1 is 5; it must be a list of strings",
        ),
        ("\n    command: x\n    args: -v", 4, 'mcp_servers.docs.args is "-v"; it must be a list of strings'),
        ("\n    command: x\n    env: {A: 5}", 4, "mcp_servers.docs.env.A is (not shown); it must be names"),
        (
            "\n    command: x\n    env: {A: }",
            4,
            "mcp_servers.docs.env.A is null; it must be names and strings",
        ),
        ("\n    command: x\n    env: {5: a}", 4, "mcp_servers.docs.env.5 is (not shown); it must be names"),
        ("\n    command: 5", 3, "mcp_servers.docs.command is 5; it must be text"),
        ("\n    command: x\n    timeout: 0", 4, "mcp_servers.docs.timeout is 0; it must be a number above 0"),
        ("\n    command: x\n    enabled: off", 4, "it must be true or false; write false."),
        ("\n    url: ftp://x", 3, "it must be an http:// or https:// address."),
    ],
)
def test_a_server_that_makes_no_sense_is_reported_once_with_its_line(
    tmp_path: Path, server: str, place: int, sentence: str
) -> None:
    (problem,) = checked(tmp_path, f"mcp_servers:\n  docs:{server}\n").problems
    assert problem.where == f"{tmp_path / 'config.yaml'}:{place}"
    assert sentence in problem.text


def test_braces_without_quotes_are_reported_with_what_helps(tmp_path: Path) -> None:
    sentence = told(tmp_path, "mcp_servers: {a: {command: x, env: {A: ${B}}}}\n")
    assert 'Quote text that contains braces, such as "${NAME}".' in sentence


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = "compression:\n  treshold: 1\n  threshold: 2\nmodel:\n  context_length: x\n"
    problems = checked(tmp_path, text, PLIMSOLL_COMPRESSION__TARGET_RATIO="5").problems
    assert [str(problem).rpartition("config.yaml:")[2][:1] for problem in problems] == ["2", "3", "5", "P"]
    with pytest.raises(SettingError, match="3 settings are invalid"):
        load_settings(tmp_path, {})


def test_a_wrong_value_in_the_file_is_reported_even_where_a_variable_overrides_it(tmp_path: Path) -> None:
    text = "compression:\n  threshold: 2\n"
    assert "compression.threshold is 2" in told(tmp_path, text, PLIMSOLL_COMPRESSION__THRESHOLD="0.4")


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: b: c\n", ":1:5", "mapping values are not allowed here"),
        ("compression:\n\tenabled: true\n", ":2:1", "Indent with spaces"),
        ("a: [1\n", ":2:1", "not valid YAML"),
        ("a: !thing b\n", ":1:4", "not valid YAML"),
        ("a: 1\n---\nb: 2\n", ":2:1", "another document"),
        ("a: ok\nb: \x01\n", ":2:4", "is not allowed"),
    ],
)
def test_a_yaml_mistake_is_reported_with_line_and_column(
    tmp_path: Path, text: str, place: str, words: str
) -> None:
    (problem,) = checked(tmp_path, text).problems
    assert problem.where == f"{tmp_path / 'config.yaml'}{place}"
    assert words in problem.text


def test_every_duplicate_key_is_reported_with_both_lines(tmp_path: Path) -> None:
    text = "compression:\n  enabled: true\n  enabled: false\nmodel:\ncompression:\n  threshold: 0.3\n"
    first, second = checked(tmp_path, text).problems
    assert str(first).endswith(
        "config.yaml:3: compression.enabled is set twice, first on line 2. Keep one of them."
    )
    assert str(second).endswith("config.yaml:5: compression is set twice, first on line 1. Keep one of them.")


@pytest.mark.parametrize("text", ["- a\n- b\n", "just text\n", "42\n"])
def test_a_file_that_is_no_mapping_is_a_mistake(tmp_path: Path, text: str) -> None:
    assert "contains no settings" in told(tmp_path, text)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only a comment\n", "---\n", "compression:\n# threshold: 1\nmodel:\n"]
)
def test_an_empty_file_or_section_means_the_defaults(tmp_path: Path, text: str) -> None:
    assert checked(tmp_path, text).problems == ()


def test_a_section_that_is_a_value_is_reported_with_its_keys(tmp_path: Path) -> None:
    assert 'prompt_caching is "5m", but it is a section; its keys are cache_ttl, strategy.' in told(
        tmp_path, "prompt_caching: 5m\n"
    )


def test_a_missing_file_means_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "nowhere", {}).settings.compression.threshold == 0.5


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(SettingError, match="cannot be read: Is a directory"):
        load_settings(tmp_path, {})


def test_a_file_that_is_not_utf_8_is_reported_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"# ok\nmodel:\n  name: caf\xe9\n")
    with pytest.raises(SettingError, match=r"config\.yaml:3: byte 0xe9 is not UTF-8"):
        load_settings(tmp_path, {})


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"\xef\xbb\xbfcompression:\n  threshold: 0.3\n")
    assert load_settings(tmp_path, {}).settings.compression.threshold == 0.3


@pytest.mark.parametrize("text", ["model: &m {cards: *m}", "a: &a {b: *a}", "model: " + "[" * 3000])
def test_a_file_that_contains_itself_or_is_nested_without_end_is_reported(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, text)


def test_a_provider_of_another_name_needs_an_address_from_whichever_source(tmp_path: Path) -> None:
    text = "auxiliary:\n  compression:\n    provider: mine\n"
    (problem,) = checked(tmp_path, text).problems
    assert str(problem).startswith(
        f'{tmp_path / "config.yaml"}:3: auxiliary.compression.provider is "mine"; '
    )
    assert "needs base_url" in problem.text
    assert (
        checked(tmp_path, text, PLIMSOLL_AUXILIARY__COMPRESSION__BASE_URL="http://localhost:1").problems == ()
    )


def test_main_names_a_provider_for_side_work_only(tmp_path: Path) -> None:
    assert checked(tmp_path, "auxiliary: {compression: {provider: main}}").problems == ()
    assert "needs base_url" in told(tmp_path, "model: {provider: main}")


def test_a_reply_cannot_be_as_long_as_the_window(tmp_path: Path) -> None:
    text = "model:\n  context_length: 2000\n  max_output_tokens: 2000\n"
    assert "model.max_output_tokens is 2000; it must be smaller than context_length" in told(tmp_path, text)


def test_an_unknown_engine_fails_the_check_but_not_the_loading(tmp_path: Path) -> None:
    assert "there is no engine with that name. Did you mean compressor?" in told(
        tmp_path, "context: {engine: compresor}"
    )
    assert load_settings(tmp_path, {}).settings.context.engine == "compresor"
    assert check_settings(tmp_path, {}, known_engines=("compressor", "compresor")).problems == ()


def test_a_flag_that_is_no_setting_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"command line: compression\.enable is not a setting"):
        load_settings(tmp_path, {}, {"compression.enable": True})
