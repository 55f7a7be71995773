"""How this installation of Plimsoll gets an extra: the command depends on how it was installed.

a clone      pip install '.[gateway]'
pipx         pipx inject plimsoll-context 'plimsoll-context[gateway]'
uv tool      uv tool install 'plimsoll-context[gateway]'
otherwise    pip install 'plimsoll-context[gateway]'
"""

import sys
from pathlib import Path

DISTRIBUTION = "plimsoll-context"  # on the package index; the import and the command are `plimsoll`
_PACKAGE = Path(__file__).resolve().parent


def install_command(extra: str, *, prefix: Path | None = None, package: Path = _PACKAGE) -> str:
    """The command that installs an extra; `prefix` is the environment, by default that of this process."""
    prefix = Path(sys.prefix) if prefix is None else prefix
    named = f"'{DISTRIBUTION}[{extra}]'"
    if (package.parent.parent / "pyproject.toml").exists():
        return f"pip install '.[{extra}]'"
    # The files in which these programs record what they installed.
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx inject {DISTRIBUTION} {named}"
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install {named}"
    return f"pip install {named}"
