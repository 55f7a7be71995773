"""The hint for a missing extra is a command that works for the way in which Plimsoll was installed."""

from pathlib import Path

import pytest

import plimsoll
from plimsoll.installation import install_command


def test_in_a_clone_the_hint_installs_the_clone() -> None:
    assert install_command("gateway") == "pip install '.[gateway]'"


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("pipx_metadata.json", "pipx inject plimsoll-context 'plimsoll-context[gateway]'"),
        ("uv-receipt.toml", "uv tool install 'plimsoll-context[gateway]'"),
        ("pyvenv.cfg", "pip install 'plimsoll-context[gateway]'"),
    ],
)
def test_an_installed_package_names_the_program_that_installed_it(
    tmp_path: Path, receipt: str, command: str
) -> None:
    (tmp_path / receipt).touch()
    package = tmp_path / "lib" / "python3" / "site-packages" / "plimsoll"
    assert install_command("gateway", prefix=tmp_path, package=package) == command


def test_every_hint_comes_from_here() -> None:
    source = Path(plimsoll.__file__).parent
    fixed = [path.name for path in source.rglob("*.py") if "pip install '" in path.read_text("utf-8")]
    assert fixed == ["installation.py"]
