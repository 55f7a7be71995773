"""A plugin.yaml of a cloned project must not hang the commands that only list plugins."""

from pathlib import Path

import pytest

from plimsoll.errors import PluginError
from plimsoll.plugins.manifest import MAX_BYTES, read_manifest

LEVELS = 9
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, LEVELS)
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{BOMB}description: *a{LEVELS - 1}\n", "alias"),
        (f"{BOMB}requires_env: *a{LEVELS - 1}\n", "alias"),
        ("name: &a [*a]\n", "alias"),
        ("base: &b {x: 1}\nother:\n  <<: *b\n", "alias"),
        ("description: " + "x" * MAX_BYTES, "bytes"),
        ("description: " + "[" * 3_000 + "]" * 3_000, "levels"),
    ],
    ids=["description", "names", "itself", "merge", "long", "deep"],
)
def test_a_manifest_that_would_expand_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "plugin.yaml").write_text(text, "utf-8")
    with pytest.raises(PluginError, match=why):
        read_manifest(tmp_path)
