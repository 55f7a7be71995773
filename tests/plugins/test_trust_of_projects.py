"""Trust is given to a folder as it is, and ends with the first changed byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.errors import PluginError
from plimsoll.plugins import TrustFile, fingerprint, resolve_plugins


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "project" / "plugin"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("x = 1\n")
    (folder / "inner" / "more.py").write_text("y = 1\n")
    return folder


@pytest.fixture
def trust(tmp_path):
    return TrustFile.under(tmp_path / "home")


def test_trust_is_given_and_taken_back(trust, folder):
    assert trust.state(folder) == "unknown"
    trust.trust(folder)
    assert trust.state(folder) == "trusted"
    assert trust.untrust(folder)
    assert trust.state(folder) == "unknown"
    assert not trust.untrust(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "__init__.py").write_text("x = 2\n"),
        lambda folder: (folder / "inner" / "more.py").unlink(),
        lambda folder: (folder / "inner" / "more.py").rename(folder / "inner" / "other.py"),
        lambda folder: (folder / "data.bin").write_bytes(b""),
        lambda folder: (folder / "inner" / "more.pyc").write_bytes(b"x"),
    ],
)
def test_any_change_ends_it(trust, folder, change):
    trust.trust(folder)
    change(folder)
    assert trust.state(folder) == "changed"
    trust.trust(folder)
    assert trust.state(folder) == "trusted"


def test_compiled_files_do_not_count(trust, folder):
    trust.trust(folder)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert trust.state(folder) == "trusted"


def test_it_holds_for_the_real_path(trust, folder, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(folder)
    trust.trust(link)
    assert trust.state(folder) == "trusted"
    moved = folder.rename(tmp_path / "elsewhere")
    assert trust.state(moved) == "unknown"


def test_a_link_to_another_folder_cannot_be_trusted(trust, folder, tmp_path):
    (folder / "away").symlink_to(tmp_path)
    with pytest.raises(PluginError, match="is a link to another folder"):
        trust.trust(folder)


def test_a_file_of_trust_that_is_garbled_is_reported(trust, folder):
    trust.trust(folder)
    trust.path.write_text("{")
    with pytest.raises(PluginError, match="Remove it and trust again"):
        trust.state(folder)


LAZY = """
from plimsoll import ContextEngine
from .early import base

class Engine(ContextEngine):
    name = "lazy"
    def update_from_response(self, usage): ...
    def should_compress(self, prompt_tokens=None): return False
    def compress(self, messages, **later):
        from .late import words
        return [{"role": "user", "content": words}]
"""


def test_a_file_that_changes_while_the_plugin_runs_is_not_run(place):
    folder = place.engine("lazy", code=LAZY, project=True)
    (folder / "early.py").write_text("base = 1\n")
    (folder / "late.py").write_text("words = 'as trusted'\n")
    TrustFile.under(place.home).trust(folder)
    engine = resolve_plugins("lazy", place.locations(), place.context()).engine
    (folder / "late.py").write_text("words = 'something else'\n")
    with pytest.raises(ImportError, match="has changed since it was trusted"):
        engine.compress([])
    (folder / "late.py").write_text("words = 'as trusted'\n")
    assert engine.compress([])[0]["content"] == "as trusted"


names = st.text("abc", min_size=1, max_size=3)


@given(
    st.dictionaries(names, st.binary(max_size=5), max_size=4),
    st.dictionaries(names, st.binary(max_size=5), max_size=4),
)
def test_two_folders_have_one_fingerprint_only_where_they_are_the_same(tmp_path_factory, one, two):
    prints = []
    for files in (one, two):
        folder = tmp_path_factory.mktemp("files")
        for name, data in files.items():
            (folder / name).write_bytes(data)
        prints.append(fingerprint(folder))
    assert (prints[0] == prints[1]) == (one == two)
