"""Which engine a name means: folder, then registered, then built in; and what never runs."""

import subprocess
import sys

import pytest
from plugin_folders import ENGINE, leaves_a_trace, write

from plimsoll import ContextCompressor, ContextEngine, register_context_engine
from plimsoll.config import BUILT_IN_ENGINES
from plimsoll.errors import PluginError
from plimsoll.plugins import PluginEngine, TrustFile, built_in_engines, engine_names, resolve_plugins
from plimsoll.plugins.registration import RegisteredEngine


class Plain(ContextEngine):
    word = "program"

    @property
    def name(self):
        return "mine"

    def update_from_response(self, usage):
        self.last_prompt_tokens = usage["prompt_tokens"]

    def should_compress(self, prompt_tokens=None):
        return False

    def compress(self, messages, current_tokens=None, focus_topic=None, **later):
        return messages


GENERAL = ENGINE.format(name="mine", word="general")


def chosen(place, name, *enabled):
    return resolve_plugins(name, place.locations(*enabled), place.context())


def test_a_folder_under_home_serves(place):
    folder = place.engine("mine", "home")
    found = chosen(place, "mine")
    assert found.engine.inner.word == "home"
    assert found.engine.name == "mine"
    assert found.source == str(folder)
    assert found.problems == ()


def test_a_folder_outranks_what_is_registered(place):
    place.engine("mine", "home")
    place.general("extra", GENERAL)
    register_context_engine(Plain(), "mine")
    assert chosen(place, "mine", "extra").engine.inner.word == "home"


def test_the_home_outranks_a_trusted_project(place):
    place.engine("mine", "home")
    TrustFile.under(place.home).trust(place.engine("mine", "project", project=True))
    assert chosen(place, "mine").engine.inner.word == "home"


def test_a_trusted_project_outranks_what_is_registered(place):
    TrustFile.under(place.home).trust(place.engine("mine", "project", project=True))
    place.general("extra", GENERAL)
    assert chosen(place, "mine", "extra").engine.inner.word == "project"


def test_an_engine_that_an_enabled_plugin_registers_serves(place):
    place.general("extra", GENERAL)
    assert chosen(place, "mine", "extra").engine.inner.word == "general"


def test_an_enabled_plugin_alone_activates_no_engine(place):
    place.general("extra", GENERAL)
    found = chosen(place, "compressor", "extra")
    assert type(found.engine) is ContextCompressor
    assert found.problems == ()


def test_a_plugin_that_is_named_as_engine_needs_not_be_enabled(place):
    place.general("mine", GENERAL)
    assert chosen(place, "mine").engine.inner.word == "general"


def test_an_engine_of_the_program_serves_after_plugins(place):
    register_context_engine(Plain, "mine")
    assert chosen(place, "mine").engine.inner.word == "program"
    place.general("extra", GENERAL)
    assert chosen(place, "mine", "extra").engine.inner.word == "general"


def test_built_in_engines_come_through_the_same_door(place):
    for offer in built_in_engines():
        engine = chosen(place, offer.name).engine
        assert engine.name == offer.name
        assert engine.context_length == 8_000
        assert offer.description
    assert built_in_engines()[0].name == "compressor"
    assert set(BUILT_IN_ENGINES) == {offer.name for offer in built_in_engines()}


def test_an_unknown_engine_means_the_built_in_one_and_a_sentence(place):
    place.engine("mine")
    found = chosen(place, "mime")
    assert type(found.engine) is ContextCompressor
    assert found.problems == (
        "context.engine is 'mime', but there is no engine with that name. Did you mean mine? "
        "The built-in compressor is used; `plimsoll plugins use NAME` chooses another.",
    )


@pytest.mark.parametrize("project", [False, True])
def test_a_folder_called_compressor_never_runs(place, tmp_path, project):
    folder = place.engine("compressor", before=leaves_a_trace(tmp_path / "trace"), project=project)
    TrustFile.under(place.home).trust(folder)
    found = chosen(place, "compressor", "compressor")
    assert type(found.engine) is ContextCompressor
    assert not (tmp_path / "trace").exists()


def test_nobody_may_register_the_name_compressor(place):
    with pytest.raises(PluginError, match="always means the built-in"):
        register_context_engine(Plain(), "compressor")
    place.general("extra", ENGINE.format(name="compressor", word="x"))
    assert type(chosen(place, "compressor", "extra").engine) is ContextCompressor


def test_code_that_is_not_named_never_runs(place, tmp_path):
    trace = leaves_a_trace(tmp_path / "trace")
    place.engine("other", before=trace)
    place.general("another", trace)
    TrustFile.under(place.home).trust(place.engine("third", before=trace, project=True))
    place.engine("mine", "home")
    place.general("used", GENERAL)
    found = chosen(place, "mine", "used")
    assert found.engine.inner.word == "home"
    assert set(engine_names(place.locations())) >= {"other", "third", "mine", "compressor"}
    for command in (["plugins", "list"], ["plugins", "info", "other"], ["config", "check"]):
        assert place.run(*command).returncode == 0
    assert not (tmp_path / "trace").exists()


def test_a_project_that_is_not_trusted_does_not_run_even_when_it_is_named(place, tmp_path):
    folder = place.engine("mine", before=leaves_a_trace(tmp_path / "trace"), project=True)
    found = chosen(place, "mine")
    assert type(found.engine) is ContextCompressor
    assert f"`plimsoll plugins trust {folder}`" in found.problems[0]
    place.general("extra", leaves_a_trace(tmp_path / "trace"), project=True)
    assert "not trusted" in chosen(place, "compressor", "extra").problems[0]
    assert not (tmp_path / "trace").exists()


def test_an_untrusted_project_shadows_nothing(place):
    place.engine("mine", "project", project=True)
    place.general("extra", GENERAL)
    assert chosen(place, "mine", "extra").engine.inner.word == "general"


def test_a_change_in_a_trusted_folder_ends_the_trust(place):
    folder = place.engine("mine", "project", project=True)
    TrustFile.under(place.home).trust(folder)
    (folder / "later.py").write_text("x = 1\n")
    assert "has changed since it was trusted" in chosen(place, "mine").problems[0]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import nowhere\n", "ModuleNotFoundError: No module named 'nowhere' (__init__.py, line 1)"),
        ("def f(:\n", "SyntaxError: invalid syntax (__init__.py, line 1)"),
        ("raise SystemExit('bye')\n", "SystemExit: bye (__init__.py, line 1)"),
        ("x = 1\n", "has no register(ctx) and does not define exactly one engine class"),
        ("def register(ctx):\n    pass\n", "registers no context engine"),
        ("def register(ctx):\n    ctx.register_context_engine(7)\n", "int is neither an engine nor"),
        ("def register(ctx):\n    ctx.register_context_engine(object)\n", "has no compress()"),
        ("def register(ctx):\n    1 / 0\n", "ZeroDivisionError: division by zero (__init__.py, line 2)"),
    ],
)
def test_a_broken_plugin_is_a_sentence_and_the_built_in_serves(place, code, sentence):
    place.engine("mine", code=code)
    found = chosen(place, "mine")
    assert type(found.engine) is ContextCompressor
    assert sentence in found.problems[0]
    assert "Traceback" not in found.problems[0]
    assert found.problems[0].endswith("`plimsoll plugins use NAME` chooses another.")


def test_a_broken_plugin_leaves_no_module_behind_and_can_be_corrected(place):
    folder = place.engine("mine", code="from . import other\nimport nowhere\n")
    (folder / "other.py").write_text("x = 1\n")
    before = set(sys.modules)
    assert chosen(place, "mine").problems
    assert set(sys.modules) == before
    (folder / "__init__.py").write_text(ENGINE.format(name="mine", word="corrected"))
    assert chosen(place, "mine").engine.inner.word == "corrected"


def test_a_variable_that_a_plugin_needs_is_named(place, tmp_path):
    place.engine("mine", before=leaves_a_trace(tmp_path / "trace"), manifest="requires_env: [HARBOUR_KEY]\n")
    found = chosen(place, "mine")
    assert "needs HARBOUR_KEY in the environment, and it is not set" in found.problems[0]
    assert not (tmp_path / "trace").exists()
    with_key = resolve_plugins("mine", place.locations(HARBOUR_KEY="x"), place.context())
    assert with_key.problems == ()


def test_a_secret_in_a_plugins_error_is_not_shown(place):
    secret = "sk-ant-api03-" + "a1B2" * 10
    place.engine("mine", code=f"raise ValueError('bad key {secret}')\n")
    assert secret not in chosen(place, "mine").problems[0]


def test_an_enabled_plugin_that_is_not_there_is_reported(place):
    assert (
        "plugins.enabled: there is no plugin called 'nope'" in chosen(place, "compressor", "nope").problems[0]
    )


def test_an_engine_that_is_enabled_instead_of_named_is_reported(place):
    place.engine("mine")
    assert "`plimsoll plugins use mine`" in chosen(place, "compressor", "mine").problems[0]


def test_a_plugins_words_cannot_drive_the_terminal(place):
    place.engine("mine", code="raise ValueError('a\\x1b[31mb\\nc')\n")
    assert "ValueError: a [31mb c (__init__.py, line 1)" in chosen(place, "mine").problems[0]


def test_a_class_is_made_with_the_context_where_it_wants_it(place):
    made = []

    class Wants(Plain):
        def __init__(self, context):
            made.append(context)

    register_context_engine(Wants, "wants")
    context = place.context(window=12_345)
    engine = resolve_plugins("wants", place.locations(), context).engine
    assert isinstance(engine, PluginEngine)
    assert made == [context]
    assert engine.context_length == 12_345
    assert engine.threshold_tokens == 6_172


def test_an_engine_without_register_is_found_by_its_class(place):
    place.engine("mine", code=ENGINE.format(name="mine", word="class").partition("def register")[0])
    assert chosen(place, "mine").engine.inner.word == "class"


def test_what_is_registered_has_a_name():
    with pytest.raises(PluginError, match="needs a name"):
        register_context_engine(lambda context: None)
    assert RegisteredEngine("a", "", None).name == "a"


def test_config_check_fails_for_an_unknown_or_broken_engine_and_says_where(place):
    place.engine("mine")
    place.engine("broken", code="import nowhere\n")
    place.config("# mine\ncontext:\n  engine: mine\n")
    assert place.run("config", "check").returncode == 0
    place.config("# mine\ncontext:\n  engine: mime\n")
    unknown = place.run("config", "check")
    assert unknown.returncode == 2
    assert (
        "config.yaml:3: context.engine is 'mime', but there is no engine with that name. Did you mean mine?"
        in unknown.stderr
    )
    place.config("# mine\ncontext:\n  engine: broken\n")
    broken = place.run("config", "check")
    assert broken.returncode == 2
    assert "No module named 'nowhere'" in broken.stderr
    assert "Traceback" not in broken.stderr


def test_an_installed_package_offers_its_engine_by_an_entry_point(place, tmp_path):
    """In a process of its own, because packages are found on its path."""
    site = tmp_path / "site"
    trace = leaves_a_trace(tmp_path / "trace")
    write(site / "keep_ends", trace + ENGINE.format(name="keep-ends", word="package"))
    about = site / "keep_ends-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: keep-ends\nVersion: 1.2\nSummary: Keeps ends.\n"
    )
    (about / "entry_points.txt").write_text("[plimsoll]\nkeep-ends = keep_ends:register\n")
    listed = place.run("plugins", "list", PYTHONPATH=str(site))
    assert "keep-ends" in listed.stdout
    assert "Keeps ends." in listed.stdout
    assert not (tmp_path / "trace").exists()
    used = place.run("plugins", "use", "keep-ends", PYTHONPATH=str(site))
    assert used.returncode == 0, used.stderr
    assert (tmp_path / "trace").exists()
    assert place.run("config", "check", PYTHONPATH=str(site)).returncode == 0
    assert place.run("config", "check").returncode == 2  # the package is not on the path


def test_importing_plimsoll_and_its_plugins_package_imports_no_plugin():
    code = "import plimsoll.plugins, sys; print([m for m in sys.modules if m.startswith('_plimsoll_plugin')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
