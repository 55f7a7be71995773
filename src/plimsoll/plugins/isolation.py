"""Loads a plugin's package from its folder, with injected modules that only it can see.

    import statement in the plugin ──► the plugin's own __import__ ──┬─► injected: agent, hermes_cli, …
                                                                    └─► everything else, as usual
    the same statement anywhere else ──► the normal import

Each module of the package gets its own builtins, in which only `__import__` differs. Python uses
it whenever code of that module imports something: at load time, inside functions, and in any
thread. `sys.modules` never contains an injected module, so the user's own module called `agent`
is neither hidden nor changed.

Only source files are compiled, in memory, so the code that runs is the code in the folder.
"""

import builtins
import importlib
import logging
import sys
import threading
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

PREFIX = "_plimsoll_plugin_"
_LOCK = threading.RLock()
_PACKAGES: dict[str, "InjectedModules"] = {}  # the loaded packages, and the modules injected into each


class InjectedModules:
    """Modules by their full name, and which of them were imported."""

    def __init__(self, modules: Mapping[str, ModuleType], allowed: Mapping[str, str] | None = None) -> None:
        self.modules = dict(modules)
        self._allowed = allowed
        self.roots = frozenset(name.partition(".")[0] for name in modules)
        self.used: set[str] = set()
        self.builtins = {**vars(builtins), "__import__": self._import}
        self._importlib = _Importlib(self)

    def find(self, name: str) -> ModuleType | None:
        """The injected module with this name; raises if its root is injected but the module does not exist."""
        if name.partition(".")[0] not in self.roots:
            return None
        if name not in self.modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        self.used.add(name)
        return self.modules[name]

    def approve(self, path: str, data: bytes) -> None:
        """Reject a file that differs from the trusted one, even if it is imported late."""
        if self._allowed is not None and self._allowed.get(path) != sha256(data).hexdigest():
            raise ImportError(f"{path} has changed since it was trusted", path=path)

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        found = self.find(name) if level == 0 else None
        if found is None:
            module = builtins.__import__(name, globals, locals, fromlist or (), level)
            return self._importlib if module is importlib else module
        if not fromlist:
            return self.modules[name.partition(".")[0]]
        for wanted in fromlist:
            if f"{name}.{wanted}" in self.modules:
                self.used.add(f"{name}.{wanted}")
        return found


class _Importlib(ModuleType):
    """`importlib` as the plugin sees it: `import_module` finds injected modules."""

    def __init__(self, injected: InjectedModules) -> None:
        super().__init__("importlib", importlib.__doc__)
        self._injected = injected

    def import_module(self, name: str, package: str | None = None) -> ModuleType:
        """The usual function, with injected modules."""
        return self._injected.find(name) or importlib.import_module(name, package)

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib, name)


class _Loader(SourceFileLoader):
    """Runs a module's source with the package's own builtins."""

    def __init__(self, name: str, path: str, injected: InjectedModules) -> None:
        super().__init__(name, path)
        self._injected = injected

    def get_code(self, fullname: str) -> CodeType:
        # Directly from the source: a compiled file next to it could differ.
        source = self.get_data(self.path)
        self._injected.approve(self.path, source)
        return self.source_to_code(source, self.path)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = self._injected.builtins
        super().exec_module(module)


class _Finder(MetaPathFinder):
    """Finds the modules of a plugin's package; ignores every other name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, below, _ = fullname.partition(".")
        if not below or root not in _PACKAGES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path, _PACKAGES[root])
            spec.cached = None
        elif spec is not None and spec.has_location and spec.origin:
            _PACKAGES[root].approve(spec.origin, Path(spec.origin).read_bytes())
        return spec


def load_package(
    directory: Path,
    modules: Mapping[str, ModuleType],
    scope: str = "",
    allowed: Mapping[str, str] | None = None,
) -> tuple[ModuleType, InjectedModules]:
    """The package in a folder and its injected modules; loaded once for each folder and scope.

    With `allowed`, only files with these hashes run, now and later. Errors of the plugin propagate, and its
    modules are removed.
    """
    real = directory.resolve()
    mark = sha256(f"{real}\0{scope}".encode()).hexdigest()[:12]
    name = PREFIX + "".join(c if c.isalnum() else "_" for c in real.name) + "_" + mark
    with _LOCK:
        if name in _PACKAGES:
            return sys.modules[name], _PACKAGES[name]
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
        importlib.invalidate_caches()
        # Without a handler, Python would write a plugin's log lines into the chat.
        logging.getLogger(name).addHandler(logging.NullHandler())
        injected = _PACKAGES[name] = InjectedModules(modules, allowed)
        init = str(real / "__init__.py")
        spec = spec_from_file_location(
            name, init, loader=_Loader(name, init, injected), submodule_search_locations=[str(real)]
        )
        assert spec is not None  # a loader was given
        assert spec.loader is not None
        module = sys.modules[name] = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            _forget(name)
            raise
        return module, injected


def _forget(name: str) -> None:
    del _PACKAGES[name]
    for other in [module for module in sys.modules if module == name or module.startswith(f"{name}.")]:
        del sys.modules[other]
