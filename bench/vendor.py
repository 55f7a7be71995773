"""Fetches the front-end libraries of the inspector page from npm and writes them into the package.

    .venv/bin/python bench/vendor.py

The page is one plain script, so that it can also be one file without a server. Preact ships as modules only: its two
modules become functions here, their `import` an argument and their `export` the value that is returned.
"""

import re
import subprocess
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).resolve().parents[1] / "src/plimsoll/inspector/assets/vendor"
PACKAGES = {"preact": "11.2.0", "htm": "3.1.1", "diff": "9.0.0"}
_EXPORT = re.compile(r"export\{([^}]*)\};?\s*$")
_IMPORT = re.compile(r'import\{([^}]*)\}from"preact";')
_MAP = re.compile(r"//# sourceMappingURL=.*\s*$")


def fetched(name: str, folder: Path) -> Path:
    """A package, unpacked."""
    command = ["npm", "pack", "--silent", f"{name}@{PACKAGES[name]}"]
    packed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.split()[
        -1
    ]
    with tarfile.open(folder / packed) as archive:
        archive.extractall(folder / name, filter="data")
    return folder / name / "package"


def as_function(code: str, argument: str = "") -> str:
    """A module as a function of what it imports, which returns what it exports."""
    code = _MAP.sub("", code)
    imported = _IMPORT.search(code)
    if imported is not None:
        names = ", ".join(_renamed(one, "{0}: {1}") for one in imported[1].split(","))
        code = _IMPORT.sub(f"const {{{names}}} = {argument};", code)
    exported = _EXPORT.search(code)
    assert exported is not None, "the module exports nothing"
    names = ", ".join(_renamed(one, "{1}: {0}") for one in exported[1].split(","))
    return f"(function () {{{_EXPORT.sub(f'return {{{names}}};', code)}}})()"


def _renamed(pair: str, form: str) -> str:
    inner, _, outer = pair.strip().partition(" as ")
    return form.format(inner, outer or inner)


def main() -> None:
    """Write the libraries and their licences."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        found = {name: fetched(name, Path(scratch)) for name in PACKAGES}
        core = (found["preact"] / "dist/preact.mjs").read_text("utf-8")
        hooks = (found["preact"] / "hooks/dist/hooks.mjs").read_text("utf-8")
        written = {
            "preact.js": f"globalThis.preact = {as_function(core)};\n"
            f"globalThis.preactHooks = {as_function(hooks, 'globalThis.preact')};\n",
            "htm.js": (found["htm"] / "dist/htm.umd.js").read_text("utf-8"),
            "diff.js": (found["diff"] / "dist/diff.min.js").read_text("utf-8"),
        }
        for name, code in written.items():
            package = name.removesuffix(".js")
            (FOLDER / name).write_text(f"/*! {package} {PACKAGES[package]} */\n{code.rstrip()}\n", "utf-8")
            (FOLDER / f"LICENSE-{package}").write_text(
                (found[package] / "LICENSE").read_text("utf-8"), "utf-8"
            )


if __name__ == "__main__":
    main()
