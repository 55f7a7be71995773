"""`plimsoll plugins new NAME`: creates a folder with a small engine that passes the contract.

$PLIMSOLL_HOME/plugins/context_engine/NAME/__init__.py      the engine, about 30 lines
                                           plugin.yaml      its description
"""

import re
from importlib.resources import files
from pathlib import Path

from plimsoll.errors import PluginError, advice_on
from plimsoll.plugins import COMPRESSOR
from plimsoll.plugins.discovery import ENGINES, NAME

_MANIFEST = """\
name: {name}
version: 0.1.0
description: Keeps the first request and as many of the newest messages as fit.
kind: context_engine
"""


def write_plugin(name: str, home: Path) -> Path:
    """Create the folder of a new engine. Existing files are not changed."""
    if name == COMPRESSOR or not re.fullmatch(NAME, name):
        raise PluginError(
            f"{name!r} is not a valid engine name. Use letters, digits, - and _; {COMPRESSOR} is reserved."
        )
    folder = home / "plugins" / ENGINES / name
    code = files("plimsoll.terminal.plugins").joinpath("engine.template").read_text("utf-8")
    try:
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(code.replace("NAME", name), "utf-8")
        (folder / "plugin.yaml").write_text(_MANIFEST.format(name=name), "utf-8")
    except FileExistsError:
        raise PluginError(f"{folder} exists already. Choose another name or remove the folder.") from None
    except OSError as error:
        raise PluginError(f"{folder} cannot be written: {error.strerror}. {advice_on(error)}") from None
    return folder
