"""A plugin sees modules that were lent to it; everybody else sees what was there before."""

import importlib
import logging
import py_compile
import sys
import threading
from types import ModuleType

import pytest
from plugin_folders import write

from plimsoll import ContextEngine
from plimsoll.plugins.hermes import Services, hermes_modules, serving
from plimsoll.plugins.isolation import load_package

USES = """
from agent.context_engine import ContextEngine
import hermes_cli.config
from agent import auxiliary_client
from . import later

def home():
    from hermes_constants import get_hermes_home
    return get_hermes_home()
"""
LATER = """
import importlib

def lazily():
    from agent.auxiliary_client import call_llm
    return call_llm

def dynamically():
    return importlib.import_module("agent.auxiliary_client").call_llm

def not_lent():
    import agent.redact
"""


class Writer:
    context_length = 1_000

    def __init__(self, words):
        self.words = words

    def summarize(self, prompt, max_tokens):
        return f"{self.words}: {prompt} ({max_tokens})"


@pytest.fixture
def plugin(tmp_path):
    folder = write(tmp_path / "guest", USES)
    (folder / "later.py").write_text(LATER)
    package, lent = load_package(folder, hermes_modules(Services(tmp_path, Writer("shared"))))
    return package, lent


def test_lent_modules_are_found_at_the_top_lazily_and_by_name(plugin, tmp_path):
    package, lent = plugin
    assert issubclass(package.ContextEngine, ContextEngine)
    assert package.home() == tmp_path
    assert package.hermes_cli.config.get_hermes_home() == tmp_path
    assert package.later.lazily() is package.later.dynamically() is package.auxiliary_client.call_llm
    assert "agent.context_engine" in lent.used


def test_a_thread_of_the_plugin_finds_them_too(plugin):
    package, _ = plugin
    found = []
    thread = threading.Thread(target=lambda: found.append(package.later.lazily()))
    thread.start()
    thread.join()
    assert found == [package.auxiliary_client.call_llm]


def test_nobody_else_finds_them(plugin):
    assert not {"hermes_cli", "hermes_constants", "agent.context_engine"} & set(sys.modules)
    for name in ("hermes_cli.config", "hermes_constants", "agent.auxiliary_client"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_the_users_own_module_of_the_same_name_is_left_alone(plugin, monkeypatch):
    package, _ = plugin
    own = ModuleType("agent")
    own.mine = True
    monkeypatch.setitem(sys.modules, "agent", own)
    import agent

    assert agent is own
    assert package.later.lazily() is package.auxiliary_client.call_llm
    assert importlib.import_module("agent") is own
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'agent\.redact'"):
        package.later.not_lent()


def test_other_imports_of_the_plugin_are_everybodys(plugin):
    package, _ = plugin
    import json

    exec("import json", vars(package))
    assert package.json is json


def test_a_package_is_loaded_once_for_each_home(tmp_path):
    folder = write(tmp_path / "guest", "import itertools\nvalue = object()\n")
    first, _ = load_package(folder, {}, "one home")
    assert load_package(folder, {}, "one home")[0] is first
    assert load_package(folder, {}, "another home")[0] is not first


def test_a_compiled_file_beside_the_source_is_not_run(tmp_path):
    folder = write(tmp_path / "guest", "value = 1\n")
    source = folder / "__init__.py"
    evil = tmp_path / "evil.py"
    evil.write_text("value = 2\n")
    stale = importlib.util.cache_from_source(str(source))
    (folder / "__pycache__").mkdir()
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(evil), stale, invalidation_mode=mode)
    assert load_package(folder, {})[0].value == 1


def test_call_llm_asks_whoever_serves_the_conversation_at_hand(plugin, tmp_path):
    package, _ = plugin
    call_llm = package.later.lazily()
    asked = {"messages": [{"role": "system", "content": "Brief."}, {"role": "user", "content": "Say it."}]}
    answer = call_llm(task="compression", max_tokens=50, temperature=0.3, model="a/b", timeout=20, **asked)
    assert answer.choices[0].message.content == "shared: Brief.\n\nSay it. (50)"
    with serving(Services(tmp_path, Writer("own"))):
        assert call_llm("compression", **asked).choices[0].message.content.startswith("own: ")


def test_call_llm_without_a_model_says_what_to_set(plugin, tmp_path):
    with serving(Services(tmp_path)), pytest.raises(RuntimeError, match=r"set auxiliary\.compression\.model"):
        plugin[0].later.lazily()(messages=[{"role": "user", "content": "x"}])


def test_call_llm_gives_up_after_its_timeout(plugin, tmp_path):
    gate = threading.Event()

    class Slow(Writer):
        def summarize(self, prompt, max_tokens):
            gate.wait(60)
            return ""

    with serving(Services(tmp_path, Slow("slow"))), pytest.raises(TimeoutError, match=r"within 0\.05 s"):
        plugin[0].later.lazily()(messages=[], timeout=0.05)
    gate.set()


def test_a_model_that_fails_fails_in_the_plugin(plugin, tmp_path):
    class Broken(Writer):
        def summarize(self, prompt, max_tokens):
            raise ValueError("no")

    with serving(Services(tmp_path, Broken(""))), pytest.raises(ValueError, match="no"):
        plugin[0].later.lazily()(messages=[], timeout=20)


def test_secrets_do_not_reach_the_model(plugin):
    secret = "sk-ant-api03-" + "a1B2" * 10
    answer = plugin[0].later.lazily()(messages=[{"role": "user", "content": f"ANTHROPIC_API_KEY={secret}"}])
    assert secret not in answer.choices[0].message.content


def test_what_a_plugin_logs_is_not_written_into_the_chat(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    write(tmp_path / "guest", "import logging\nlogging.getLogger(__name__).warning('storm')\n")
    load_package(tmp_path / "guest", {})
    assert capfd.readouterr().err == ""
