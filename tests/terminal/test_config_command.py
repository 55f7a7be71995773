"""`plimsoll config`, and the `plimsoll` command around it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from ruamel.yaml import YAML

from plimsoll import __version__
from plimsoll.config import all_keys, load_settings
from plimsoll.errors import UserError
from plimsoll.terminal.main import COMMANDS, main, plimsoll


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("PLIMSOLL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(plimsoll, arguments, prog_name="plimsoll")


def run_python(code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PLIMSOLL_")}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environ | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_path_names_the_file_whether_or_not_it_exists(home: Path) -> None:
    assert run("config", "path").output == f"{home / 'config.yaml'}\n"


def test_show_is_yaml_with_the_source_of_what_is_not_a_default(home: Path) -> None:
    (home / "config.yaml").write_text(
        "compression:\n  threshold: 0.4\nmodel: {cards: {a.b: {window: 2048}}}\n"
    )
    result = run("config", "show")
    assert f"threshold: 0.4  # {home / 'config.yaml'}:2\n" in result.output
    assert "target_ratio: 0.2\n" in result.output
    assert YAML(typ="safe").load(result.output) == load_settings(home, {}).settings.model_dump(mode="json")


def test_show_json_is_json_alone_and_notices_go_to_standard_error(home: Path) -> None:
    (home / "config.yaml").write_text("model:\n  cache_ttl: 1h\n")
    result = run("config", "show", "--json")
    assert json.loads(result.stdout)["prompt_caching"]["cache_ttl"] == "1h"
    assert "is now called prompt_caching.cache_ttl" in result.stderr


SERVERS = """\
mcp_servers:
  my.docs:
    command: docs-server
    args: [--fast, --token, hunter2, --api-key=hunter2, sk-hunter2hunter2]
    env: {A_NAME: hunter2}
  web:
    url: https://x/mcp
    headers:
      Authorization: Bearer hunter2
"""


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_show_prints_the_names_below_env_and_headers_and_never_a_value(
    home: Path, form: tuple[str, ...]
) -> None:
    (home / "config.yaml").write_text(SERVERS)
    output = run("config", "show", *form).output
    assert "hunter2" not in output
    servers = YAML(typ="safe").load(output)["mcp_servers"]
    assert servers["my.docs"]["args"][0] == "--fast"
    assert servers["my.docs"]["env"] == {"A_NAME": "(not shown)"}
    assert servers["web"]["headers"] == {"Authorization": "(not shown)"}


def test_show_names_the_source_of_a_list_and_of_a_map(home: Path) -> None:
    (home / "config.yaml").write_text(SERVERS)
    output = run("config", "show").output
    assert f'env: {{A_NAME: "(not shown)"}}  # {home / "config.yaml"}:5\n' in output
    assert f'headers: {{Authorization: "(not shown)"}}  # {home / "config.yaml"}:8\n' in output
    assert "    env: {}\n" in output


def test_explain_and_set_never_repeat_what_is_below_env(home: Path) -> None:
    (home / "config.yaml").write_text(SERVERS)
    explained = run("config", "explain", "mcp_servers.my.docs.env").output
    assert explained.startswith('mcp_servers.my.docs.env = {A_NAME: "(not shown)"}\n')
    done = run("config", "set", "mcp_servers.my.docs.env", "{OTHER: hunter3}")
    assert done.output == f'{home / "config.yaml"}: mcp_servers.my.docs.env = {{OTHER: "(not shown)"}}\n'
    assert "env: {OTHER: hunter3}\n" in (home / "config.yaml").read_text()


def test_a_server_is_set_up_by_setting_its_keys(home: Path) -> None:
    run("config", "set", "mcp_servers.docs.command", "docs-server")
    run("config", "set", "mcp_servers.docs.args", "[--fast, '8080']")
    run("config", "set", "mcp_servers.docs.timeout", "5")
    assert run("config", "explain", "mcp_servers.docs.timeout").output.startswith(
        "mcp_servers.docs.timeout = 5"
    )
    server = load_settings(home, {}).settings.mcp_servers["docs"]
    assert (server.command, server.args, server.timeout) == ("docs-server", ["--fast", "8080"], 5)


def test_explaining_a_key_of_a_server_that_is_not_there_gives_the_default(home: Path) -> None:
    assert "timeout = 60.0\n" in run("config", "explain", "mcp_servers.absent.timeout").output


def test_check_says_in_one_line_that_all_is_good(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        run("config", "check").output == f"{home / 'config.yaml'}: no such file, using defaults, no errors\n"
    )
    (home / "config.yaml").write_text("compression:\n  threshold: 0.4\n  enabled: true\n")
    assert run("config", "check").output == f"{home / 'config.yaml'}: 2 settings, no errors\n"
    monkeypatch.setenv("PLIMSOLL_MODEL__NAME", "m")
    assert run("config", "check").output.endswith(": 2 settings, 1 from the environment, no errors\n")


def test_check_reports_every_mistake_and_exits_with_2(home: Path) -> None:
    (home / "config.yaml").write_text("compression:\n  treshold: 1\n  threshold: 5\n")
    result = run("config", "check")
    assert result.exit_code == 2
    assert f"{home / 'config.yaml'}:2: " in result.stderr
    assert f"{home / 'config.yaml'}:3: " in result.stderr


def test_check_fails_for_an_engine_that_is_not_installed(home: Path) -> None:
    (home / "config.yaml").write_text("context:\n  engine: nothing\n")
    result = run("config", "check")
    assert result.exit_code == 2
    assert "Installed: compressor" in result.stderr


def test_explain_shows_value_range_default_source_and_what_it_overrides(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "config.yaml").write_text("compression:\n  threshold: 0.4\n")
    monkeypatch.setenv("PLIMSOLL_COMPRESSION__THRESHOLD", "0.3")
    lines = run("config", "explain", "compression.threshold").output.splitlines()
    assert lines[0] == "compression.threshold = 0.3"
    assert "  allowed:    a number from 0 to 1" in lines
    assert "  default:    0.5" in lines
    assert "  set by:     PLIMSOLL_COMPRESSION__THRESHOLD" in lines
    assert f"  overrides:  0.4 ({home / 'config.yaml'}:2), 0.5 (default)" in lines


@pytest.mark.parametrize("setting", all_keys(), ids=lambda setting: setting.key)
def test_every_key_can_be_explained(home: Path, setting: object) -> None:
    key = getattr(setting, "key", "")
    result = run("config", "explain", key)
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"{key} = ")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("compression.thresold", "Did you mean compression.threshold?"),
        ("protect_first_n", "hard-coded"),
    ],
)
def test_explaining_an_unknown_key_gives_the_nearest(home: Path, key: str, words: str) -> None:
    result = run("config", "explain", key)
    assert result.exit_code == 2
    assert result.stderr.startswith("plimsoll: ")
    assert words in result.stderr


def test_explain_knows_older_spellings(home: Path) -> None:
    result = run("config", "explain", "model.cache_ttl")
    assert result.stdout.startswith("prompt_caching.cache_ttl = 5m")


def test_set_writes_the_file_and_keeps_comments(home: Path) -> None:
    (home / "config.yaml").write_text("# mine\ncompression:\n  threshold: 0.5  # half\n")
    result = run("config", "set", "compression.threshold", "0.4")
    assert result.output == f"{home / 'config.yaml'}: compression.threshold = 0.4\n"
    assert (home / "config.yaml").read_text() == "# mine\ncompression:\n  threshold: 0.4  # half\n"


def test_set_takes_a_name_that_looks_like_a_number_as_text(home: Path) -> None:
    run("config", "set", "model.name", "4")
    assert (home / "config.yaml").read_text() == 'model:\n  name: "4"\n'


def test_set_refuses_a_wrong_value_with_a_sentence(home: Path) -> None:
    result = run("config", "set", "compression.enabled", "yes")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        'plimsoll: compression.enabled is "yes"; it must be true or false; write true.'
    )
    assert not (home / "config.yaml").exists()


def test_set_says_when_the_environment_still_overrides(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_COMPRESSION__THRESHOLD", "0.3")
    result = run("config", "set", "compression.threshold", "0.4")
    assert "note: PLIMSOLL_COMPRESSION__THRESHOLD overrides it here: 0.3." in result.stderr


def test_help_lists_every_command_without_loading_one() -> None:
    code = (
        "import sys\nfrom plimsoll.terminal.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('pydantic', 'ruamel', 'rich')))\n"
        "print(sorted(m for m in sys.modules if m.startswith('plimsoll.')))\n"
    )
    lines = run_python(code).stdout.splitlines()
    for name, (_, line) in COMMANDS.items():
        assert any(name in shown and line in shown for shown in lines)
    loaded = [
        "plimsoll.errors",
        "plimsoll.terminal",
        "plimsoll.terminal.interruption",
        "plimsoll.terminal.main",
    ]
    assert lines[-2:] == ["[]", str(loaded)]


def test_importing_plimsoll_loads_no_settings_library() -> None:
    code = (
        "import sys, plimsoll; print([m for m in ('pydantic', 'ruamel.yaml', 'click') if m in sys.modules])"
    )
    assert run_python(code).stdout == "[]\n"


def test_the_installed_command_prints_its_version() -> None:
    command = Path(sys.executable).with_name("plimsoll")
    result = subprocess.run([command, "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout == f"plimsoll {__version__}\n"
    assert result.stderr == ""


def test_a_mistake_is_one_sentence_without_traceback(home: Path) -> None:
    code = "from plimsoll.terminal.main import main; main()"
    result = run_python(code, "config", "explain", "nonsense", PLIMSOLL_HOME=str(home))
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("plimsoll: nonsense is not a setting.")
    assert "Traceback" not in result.stderr


def a_command_that_raises(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    @click.command()
    def fail() -> None:
        raise error

    monkeypatch.setitem(plimsoll.commands, "fail", fail)


def test_a_users_error_exits_with_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_command_that_raises(monkeypatch, UserError("the file is empty."))
    with pytest.raises(SystemExit) as left:
        main(["fail"])
    assert left.value.code == 2
    assert capsys.readouterr().err == "plimsoll: the file is empty.\n"


def test_an_interrupt_exits_with_130_and_says_that_the_command_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_command_that_raises(monkeypatch, KeyboardInterrupt())
    with pytest.raises(SystemExit) as left:
        main(["fail"])
    assert left.value.code == 130
    assert capsys.readouterr().err.strip() == "plimsoll: Stopped."


def test_any_other_error_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    a_command_that_raises(monkeypatch, ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        main(["fail"])


def test_a_reader_that_leaves_early_is_met_with_silence(home: Path) -> None:
    code = (
        "import sys, click\nfrom plimsoll.terminal.main import main, plimsoll\n"
        "@plimsoll.command()\ndef flood():\n    for _ in range(100000): click.echo('x' * 80)\n"
        "main(['flood'])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) != 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_for_this_command(shell: str) -> None:
    assert "_PLIMSOLL_COMPLETE" in run("completion", shell).stdout


@pytest.mark.parametrize(
    ("words", "position", "offered"),
    [
        ("plimsoll conf", "1", {"config"}),
        ("plimsoll config ex", "2", {"explain"}),
        ("plimsoll config explain prompt", "3", {"prompt_caching.cache_ttl", "prompt_caching.strategy"}),
    ],
)
def test_commands_and_keys_are_completed(words: str, position: str, offered: set[str]) -> None:
    result = run_python(
        "from plimsoll.terminal.main import main; main()",
        _PLIMSOLL_COMPLETE="bash_complete",
        COMP_WORDS=words,
        COMP_CWORD=position,
    )
    assert {line.partition(",")[2] for line in result.stdout.splitlines()} == offered
