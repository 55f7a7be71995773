"""`set_value` changes one key and not one other byte."""

import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from plimsoll.config import load_settings, scalar_text, set_value
from plimsoll.errors import SettingError

WRITTEN = """\
# My settings, by hand.

compression:   # the usual
    threshold: 0.50     # half
    enabled: true
    # protect_last_n: 5

# Who writes summaries
auxiliary:
    compression:
        model: 'small one'   # cheap
        base_url: ~
model:
prompt_caching: {cache_ttl: "5m"}  # short
"""


def edited(tmp_path: Path, key: str, value: Any, text: str = WRITTEN) -> str:
    file = tmp_path / "config.yaml"
    file.write_bytes(text.encode())
    set_value(file, key, value)
    assert load_settings(tmp_path, {}).value(key) == value
    return file.read_bytes().decode()


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("compression.threshold", 0.4, "threshold: 0.50     # half", "threshold: 0.4     # half"),
        ("compression.enabled", False, "enabled: true", "enabled: false"),
        ("auxiliary.compression.model", "big", "'small one'   # cheap", "'big'   # cheap"),
        ("auxiliary.compression.model", None, "'small one'   # cheap", "null   # cheap"),
        ("auxiliary.compression.base_url", "http://x/v1", "base_url: ~", "base_url: http://x/v1"),
        ("prompt_caching.cache_ttl", "1h", '"5m"', '"1h"'),
        ("prompt_caching.strategy", "none", '"5m"}', '"5m", strategy: none}'),
        ("compression.protect_last_n", 7, "enabled: true\n", "enabled: true\n    protect_last_n: 7\n"),
        ("auxiliary.compression.provider", "main", "base_url: ~\n", "base_url: ~\n        provider: main\n"),
        ("model.name", "m", "model:\n", "model:\n    name: m\n"),
        (
            "model.cards.gpt-5.6.prices.input",
            1.5,
            "model:\n",
            "model:\n    cards:\n        gpt-5.6:\n            prices:\n                input: 1.5\n",
        ),
        ("context.engine", "lcm", "# short\n", "# short\ncontext:\n    engine: lcm\n"),
        ("tools.timeout", 30, "# short\n", "# short\ntools:\n    timeout: 30\n"),
        (
            "mcp_servers.my.docs.command",
            "docs-server",
            "# short\n",
            "# short\nmcp_servers:\n    my.docs:\n        command: docs-server\n",
        ),
    ],
)
def test_comments_order_quotes_and_indentation_survive(
    tmp_path: Path, key: str, value: Any, old: str, new: str
) -> None:
    assert WRITTEN.count(old) == 1
    assert edited(tmp_path, key, value) == WRITTEN.replace(old, new)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "compression:\n  threshold: 0.4\n"),
        ("# only this", "# only this\ncompression:\n  threshold: 0.4\n"),
        ("---\n", "---\ncompression:\n  threshold: 0.4\n"),
        ("{}\n", "{compression: {threshold: 0.4}}\n"),
        ("compression: {}\n", "compression: {threshold: 0.4}\n"),
        ("compression: null # later\nmodel:\n", "compression:  # later\n  threshold: 0.4\nmodel:\n"),
        ("compression:\r\n  enabled: true\r\n", "compression:\r\n  enabled: true\r\n  threshold: 0.4\r\n"),
        ("compression:\n  enabled: true", "compression:\n  enabled: true\n  threshold: 0.4\n"),
        ("compression:\n  threshold:   # what?\n", "compression:\n  threshold: 0.4   # what?\n"),
        ("compression:\n  threshold: # what?\n", "compression:\n  threshold: 0.4 # what?\n"),
        ("model:\n  name: a\n...\n", "model:\n  name: a\ncompression:\n  threshold: 0.4\n...\n"),
        ("{compression: , model: {}}\n", "{compression: {threshold: 0.4} , model: {}}\n"),
    ],
)
def test_a_key_finds_its_place_in_files_of_any_shape(tmp_path: Path, before: str, after: str) -> None:
    assert edited(tmp_path, "compression.threshold", 0.4, before) == after


SERVER = """\
mcp_servers:
  docs:
    command: docs-server
    args: [a, b]  # two
    env: {A: b}
    # the rest
  more: {command: x, args: []}
tools:
"""


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("mcp_servers.docs.args", ["--fast", "1"], "[a, b]", '["--fast", "1"]'),
        ("mcp_servers.docs.args", [], "[a, b]", "[]"),
        ("mcp_servers.docs.env", {"A": "${B}", "C": "d"}, "{A: b}", '{A: "${B}", C: d}'),
        ("mcp_servers.more.args", ["a"], "args: []", "args: [a]"),
        ("mcp_servers.more.env", {"A": "b"}, "args: []}", "args: [], env: {A: b}}"),
        ("mcp_servers.docs.timeout", 5, "env: {A: b}\n", "env: {A: b}\n    timeout: 5\n"),
    ],
)
def test_lists_and_maps_are_one_value(tmp_path: Path, key: str, value: Any, old: str, new: str) -> None:
    assert edited(tmp_path, key, value, SERVER) == SERVER.replace(old, new)


def test_a_key_added_after_a_list_precedes_what_follows_the_list(tmp_path: Path) -> None:
    text = "mcp_servers:\n  docs:\n    command: x\n    args:\n      - a\n      - b\n\n# tools\ntools:\n"
    wanted = text.replace("- b\n", "- b\n    timeout: 5\n")
    assert edited(tmp_path, "mcp_servers.docs.timeout", 5, text) == wanted


def test_a_list_of_lines_is_changed_by_hand_and_no_secret_is_reported(tmp_path: Path) -> None:
    text = "mcp_servers:\n  docs:\n    command: x\n    env:\n      A: b # why\n"
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(SettingError, match=r'set mcp_servers\.docs\.env = {A: "\(not shown\)"} yourself'):
        set_value(tmp_path / "config.yaml", "mcp_servers.docs.env", {"A": "hunter2"})
    assert (tmp_path / "config.yaml").read_text() == text


def test_a_missing_file_is_created_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.yaml"
    set_value(file, "compression.threshold", 0.4)
    assert file.read_text() == "compression:\n  threshold: 0.4\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_file_keeps_its_mode_its_link_and_its_byte_order_mark(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.yaml"
    kept.write_bytes(b"\xef\xbb\xbf# mine\n")
    kept.chmod(0o640)
    link = tmp_path / "config.yaml"
    link.symlink_to(kept)
    set_value(link, "compression.threshold", 0.4)
    assert link.is_symlink()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert kept.read_bytes() == b"\xef\xbb\xbf# mine\ncompression:\n  threshold: 0.4\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.yaml", "dotfiles.yaml"]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("compression.threshold", 2, "it must be a number from 0 to 1. Nothing was written."),
        ("compression.treshold", 0.4, "Did you mean compression.threshold"),
        ("compression.protect_first_n", 3, "hard-coded"),
        ("compression", 3, "is a section"),
        ("model.api_key", "hunter2", "secrets do not belong"),
        ("model.provider", "mine", "needs base_url"),
        ("compression.threshold", {"a": 1}, "it must be a number"),
        (
            "mcp_servers.docs.timeout",
            5,
            "mcp_servers.docs is incomplete; a server needs either command or url",
        ),
        ("mcp_servers.docs.env.WORD", "hunter2", "mcp_servers.docs.env is one setting"),
        ("mcp_servers.docs.env", "hunter2", r"env is \(not shown\); it must be names and strings"),
        ("mcp_servers.docs.url", "http://x?token=hunter2", "contains a secret"),
    ],
)
def test_a_wrong_value_is_refused_and_the_file_left_alone(
    tmp_path: Path, key: str, value: Any, words: str
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(WRITTEN)
    with pytest.raises(SettingError, match=words) as caught:
        set_value(file, key, value)
    assert "hunter2" not in str(caught.value)
    assert file.read_text() == WRITTEN


def test_mistakes_are_corrected_one_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("compression:\n  threshold: 7\n  protect_last_n: 0\n")
    set_value(file, "compression.threshold", 0.7)
    set_value(file, "compression.protect_last_n", 3)
    assert load_settings(tmp_path, {}).settings.compression.protect_last_n == 3


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("model: {context_length: &n 3000, max_output_tokens: *n}\n", "model.context_length"),
        (
            "model: {context_length: &n 5000}\ncompression: {protect_last_n: *n}\n",
            "compression.protect_last_n",
        ),
        ("model: &m {context_length: 5000}\nother: *m\n", "model.max_output_tokens"),
        ("compression:\n  protect_last_n:\n    - 1\n", "compression.protect_last_n"),
        ("compression: {enabled: true,}\n", "compression.protect_last_n"),
        ("compression: 5\n", "compression.protect_last_n"),
        ("compression: {protect_last_n: {a: 1}}\n", "compression.protect_last_n"),
    ],
)
def test_where_more_than_the_one_key_would_change_nothing_is_written(
    tmp_path: Path, text: str, key: str
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(SettingError, match="yourself"):
        set_value(file, key, 4096)
    assert file.read_text() == text


@pytest.mark.parametrize("text", ["a: b: c\n", "model:\nmodel:\n", "- a\n"])
def test_a_file_that_cannot_be_read_is_not_edited(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(SettingError, match=r"config\.yaml:"):
        set_value(file, "compression.threshold", 0.4)
    assert file.read_text() == text


def test_setting_an_older_spelling_sets_the_key_of_today(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    (notice,) = set_value(file, "compression.summary_model", "small")
    assert "auxiliary.compression.model" in notice
    assert load_settings(tmp_path, {}).notices == ()
    assert load_settings(tmp_path, {}).settings.auxiliary.compression.model == "small"


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(
    changes=st.lists(
        st.one_of(
            st.tuples(st.just("compression.threshold"), st.floats(1e-9, 1)),
            st.tuples(st.just("compression.protect_last_n"), st.integers(1, 10**12)),
            st.tuples(st.just("auxiliary.compression.model"), NAMES | st.none()),
            st.tuples(st.just("model.name"), NAMES),
            st.tuples(NAMES.map(lambda name: f"model.cards.{name}.prices.output"), st.floats(0, 1e9)),
        ),
        max_size=4,
    ),
    start=st.sampled_from(["", WRITTEN, "{}", "model: {name: a}\n"]),
)
def test_whatever_is_set_reads_back_and_every_comment_stays(
    changes: list[tuple[str, Any]], start: str
) -> None:
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "config.yaml"
        file.write_text(start, encoding="utf-8")
        for key, value in changes:
            set_value(file, key, value)
            assert load_settings(Path(home), {}).value(key) == value
        after = file.read_text(encoding="utf-8")
        for key, value in dict(changes).items():
            assert load_settings(Path(home), {}).value(key) == value
        for comment in (line[line.index("#") :] for line in start.splitlines() if "#" in line):
            assert comment in after


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)


@example(":")
@example("\u2028")
@example(1e-05)
@example([",", "#", "${A}", "a: b"])
@example({"": "", "-": "{}"})
@given(SCALARS | st.lists(SCALARS) | st.dictionaries(st.text(max_size=100), SCALARS))
def test_a_value_reads_back_as_the_same_value_of_the_same_type(value: Any) -> None:
    text = scalar_text(value)
    assert "\n" not in text
    assert repr(YAML(typ="safe", pure=True).load(f"key: {text}\n")["key"]) == repr(value)


@pytest.mark.parametrize(
    ("number", "reason", "advice"),
    [
        (errno.EROFS, "Read-only file system", "That location is read-only; choose another one."),
        (errno.EACCES, "Permission denied", "Check its permissions."),
        (errno.ENOSPC, "No space left on device", "Free some disk space."),
    ],
)
def test_a_home_that_cannot_be_written_is_a_sentence_with_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str, advice: str
) -> None:
    def refused(**_: Any) -> tuple[int, str]:
        raise OSError(number, reason)

    monkeypatch.setattr(tempfile, "mkstemp", refused)
    with pytest.raises(SettingError) as caught:
        set_value(tmp_path / "home" / "config.yaml", "compression.threshold", 0.4)
    assert f"config.yaml cannot be written: {reason}. {advice} Nothing was changed." in str(caught.value)


def test_a_home_that_cannot_be_made_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(SettingError, match=r"cannot be written: Permission denied\. Check its permissions"):
        set_value(tmp_path / "home" / "config.yaml", "compression.threshold", 0.4)


def test_a_write_that_fails_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.yaml").write_text("compression:\n  threshold: 0.5\n")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SettingError, match="Free some disk space"):
        set_value(tmp_path / "config.yaml", "compression.threshold", 0.4)
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]
    assert "0.5" in (tmp_path / "config.yaml").read_text()
