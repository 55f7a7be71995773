"""`plimsoll plugins` without a terminal: list, use, info, check, trust, untrust."""

import json
from pathlib import Path

import pytest
from plugin_folders import leaves_a_trace

COMMENTED = """\
# my settings
compression:
  threshold: 0.4   # early

context:           # which engine
  engine: compressor   # the default
# the end
"""


def test_list_shows_what_there_is_what_is_active_and_what_cannot_be_used(place):
    place.engine("mine", manifest="description: Keeps both ends.\nversion: 1.2.0\n")
    place.engine("theirs", project=True)
    register = "def register(ctx):\n    pass\n"
    place.general("notes", register, manifest="description: Takes notes.\n")
    place.config("context:\n  engine: mine\nplugins:\n  enabled: [notes]\n")
    shown = place.run("plugins", "list").stdout
    assert "● mine" in shown
    assert "Keeps both ends." in shown
    assert "○ compressor" in shown
    assert "× theirs" in shown
    assert "plimsoll plugins trust" in shown
    assert "● notes" in shown
    assert place.run("plugins").stdout == shown  # a pipe is no terminal


def test_list_as_json(place):
    place.engine("mine")
    found = json.loads(place.run("plugins", "list", "--json").stdout)
    assert found["context_engine"] == "compressor"
    in_use = {one["name"]: one["in_use"] for one in found["engines"]}
    assert in_use["compressor"] is True
    assert in_use["mine"] is False


def test_an_engine_that_is_named_and_missing_is_seen_in_the_list(place):
    place.config("context:\n  engine: gone\n")
    assert "× gone is set in context.engine but does not exist" in place.run("plugins", "list").stdout


@pytest.mark.parametrize("code", ["raise RuntimeError('no disk')\n", "def register(ctx: broken\n", "x = 1\n"])
def test_a_broken_engine_is_not_in_use_and_the_built_in_is(place, code):
    place.engine("mine", code=code)
    place.general("notes", "raise RuntimeError('no ink')\n")
    place.config("context:\n  engine: mine\nplugins:\n  enabled: [notes]\n")
    shown = place.run("plugins", "list").stdout
    assert "× mine" in shown
    assert "● compressor" in shown
    assert "× notes" in shown
    assert "no ink" in shown
    found = json.loads(place.run("plugins", "list", "--json").stdout)
    assert [one["name"] for one in found["engines"] + found["general"] if one["in_use"]] == ["compressor"]
    assert all(
        one["obstacle"] for one in found["engines"] + found["general"] if one["name"] in ("mine", "notes")
    )
    assert "cannot be used" in place.run("plugins", "info", "mine").stdout


def test_list_runs_no_code_of_a_plugin_that_the_settings_do_not_name(place):
    place.engine("other", before=leaves_a_trace(place.home / "trace"))
    place.run("plugins", "list")
    assert not (place.home / "trace").exists()


def test_use_changes_one_word_of_the_file(place):
    place.engine("mine")
    place.config(COMMENTED)
    done = place.run("plugins", "use", "mine")
    assert done.returncode == 0, done.stderr
    assert (place.home / "config.yaml").read_text() == COMMENTED.replace("engine: compressor", "engine: mine")
    assert place.run("plugins", "use", "compressor").returncode == 0
    assert (place.home / "config.yaml").read_text() == COMMENTED


def test_use_writes_the_file_where_there_is_none(place):
    place.engine("mine")
    assert place.run("plugins", "use", "mine").returncode == 0
    assert (place.home / "config.yaml").read_text() == "context:\n  engine: mine\n"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("mime", "Did you mean mine?"),
        ("broken", "No module named 'nowhere'"),
        ("theirs", "not trusted"),
        ("../x", "there is no engine with that name"),
    ],
)
def test_use_refuses_what_does_not_work_and_changes_nothing(place, name, sentence):
    place.engine("mine")
    place.engine("broken", code="import nowhere\n")
    place.engine("theirs", project=True)
    place.config(COMMENTED)
    done = place.run("plugins", "use", name)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Nothing was changed." in done.stderr
    assert "Traceback" not in done.stderr
    assert (place.home / "config.yaml").read_text() == COMMENTED


def test_use_says_where_a_variable_outranks_the_file(place):
    place.engine("mine")
    done = place.run("plugins", "use", "mine", PLIMSOLL_CONTEXT__ENGINE="compressor")
    assert "PLIMSOLL_CONTEXT__ENGINE overrides it here: compressor." in done.stdout


def test_info_tells_what_the_manifest_says(place):
    place.engine(
        "mine",
        manifest="""\
        name: mine
        version: 0.1
        description: Keeps both ends.
        author: Somebody
        kind: context_engine
        requires_env: [{name: HARBOUR_KEY, description: x}]
        provides_tools: [mine_grep]
        """,
    )
    shown = place.run("plugins", "info", "mine").stdout
    for piece in ("Keeps both ends.", "0.1", "Somebody", "HARBOUR_KEY", "mine_grep", "cannot be used"):
        assert piece in shown
    missing = place.run("plugins", "info", "nothing")
    assert missing.returncode == 2
    assert "plugins list" in missing.stderr


def test_trust_lets_a_projects_engine_run_and_untrust_ends_it(place, tmp_path):
    folder = place.engine("theirs", before=leaves_a_trace(tmp_path / "trace"), project=True)
    named = folder.relative_to(place.project)
    assert place.run("plugins", "use", "theirs").returncode == 2
    assert not (tmp_path / "trace").exists()
    assert place.run("plugins", "trust", str(named)).returncode == 0
    assert not (tmp_path / "trace").exists()  # trusting runs nothing
    assert place.run("plugins", "use", "theirs").returncode == 0
    assert (tmp_path / "trace").exists()
    assert place.run("plugins", "untrust", str(named)).returncode == 0
    assert place.run("config", "check").returncode == 2
    assert "was not trusted" in place.run("plugins", "untrust", str(named)).stderr


def test_trust_needs_a_plugin(place):
    for path, sentence in (("nowhere", "is not a folder"), (".", "contains no __init__.py")):
        done = place.run("plugins", "trust", path)
        assert done.returncode == 2
        assert sentence in done.stderr


def test_check_names_every_property_and_shows_what_breaks_one(place):
    folder = place.engine("mine")
    done = place.run("plugins", "check", str(folder), "--examples", "10")
    assert done.returncode == 1
    assert "kept    input is untouched" in done.stdout
    assert "BROKEN  newest request stays word for word" in done.stdout
    assert "messages: " in done.stdout
    assert " of 12 properties hold in 10 conversations" in done.stdout
    assert sorted(path.name for path in place.home.iterdir()) == ["plugins"]


def test_check_of_what_cannot_be_loaded_is_a_sentence(place):
    done = place.run("plugins", "check", str(place.engine("mine", code="import nowhere\n")))
    assert done.returncode == 2
    assert "No module named 'nowhere' (__init__.py, line 1)" in done.stderr
    assert "Traceback" not in done.stderr


def test_new_writes_an_engine_that_serves_as_it_is(place):
    made = place.run("plugins", "new", "keep-ends")
    assert made.returncode == 0, made.stderr
    assert place.run("plugins", "use", "keep-ends").returncode == 0
    checked = place.run("plugins", "check", "keep-ends", "--examples", "10")
    assert checked.returncode == 0, checked.stdout
    for name, sentence in (
        ("keep-ends", "exists already"),
        ("compressor", "is not a valid engine name"),
        ("a/b", "is not a valid engine name"),
    ):
        done = place.run("plugins", "new", name)
        assert done.returncode == 2
        assert sentence in done.stderr


@pytest.mark.slow
def test_the_engine_that_new_writes_keeps_the_contract(place):
    place.run("plugins", "new", "keep-ends")
    done = place.run("plugins", "check", "keep-ends", "--examples", "50")
    assert done.returncode == 0, done.stdout


def test_the_engine_in_the_documentation_is_the_one_that_new_writes(place):
    place.run("plugins", "new", "keep-ends")
    written = (place.home / "plugins" / "context_engine" / "keep-ends" / "__init__.py").read_text()
    page = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text("utf-8")
    assert f"```python\n{written}```" in page
