"""Loads a plugin: runs its code and collects what it registers.

    DiscoveredPlugin ─► package (isolation) ─► register(ctx) ─► Plugin(engines, tools, hooks, commands)

Every failure is one sentence with the plugin's own error and its location; no traceback.
A plugin without `register` offers the engine class that its `__init__.py` defines.
"""

import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from plimsoll.context import ContextEngine
from plimsoll.errors import PluginError
from plimsoll.plugins.discovery import DiscoveredPlugin
from plimsoll.plugins.hermes import Services, hermes_modules, serving
from plimsoll.plugins.isolation import InjectedModules, load_package
from plimsoll.plugins.offers import EngineContext, EngineOffer
from plimsoll.plugins.plugin_engine import PluginEngine
from plimsoll.plugins.registration import PluginContext, RegisteredEngine, Registrations
from plimsoll.plugins.trust import TrustFile
from plimsoll.secrets import redact

_LONGEST_ERROR = 300
# Threads that a plugin started belong to no conversation; the newest conversation's services answer them.
_NEWEST: dict[tuple[Path, Path], Services] = {}


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin whose code has run, and what it offers."""

    found: DiscoveredPlugin
    registered: Registrations
    for_hermes: bool = False

    def offers(self) -> list[EngineOffer]:
        """Its engines, each under its own name."""
        return [
            engine_offer(engine, self.found.source, self.for_hermes, self.found)
            for engine in self.registered.engines
        ]

    def offer(self, name: str) -> EngineOffer | None:
        """The engine with this name; if the plugin itself has this name, its only engine."""
        for engine in self.registered.engines:
            if engine.name == name:
                return engine_offer(engine, self.found.source, self.for_hermes, self.found)
        if self.found.name == name and len(self.registered.engines) == 1:
            own = self.registered.engines[0]
            renamed = RegisteredEngine(name, own.description, own.engine)
            return engine_offer(renamed, self.found.source, self.for_hermes, self.found)
        return None


def load_plugin(found: DiscoveredPlugin, services: Services) -> Plugin:
    """Run a plugin's code and collect its registrations; raises `PluginError` if it may not run or fails."""
    if found.obstacle:
        raise PluginError(found.obstacle)
    context = PluginContext(found.name, found.manifest, services.home)
    injected = None
    try:
        with serving(services):
            if found.entry is not None:
                _register_entry(found.entry.load(), context)
            elif found.path is not None:
                modules = hermes_modules(_newest(found.path, services))
                trust = TrustFile.under(services.home)
                allowed = trust.trusted_files(found.path) if found.where == "project" else None
                package, injected = load_package(found.path, modules, str(services.home), allowed)
                _register_package(package, context)
    except (Exception, SystemExit) as error:  # plugin code may raise anything; report it
        raise PluginError(_failure(found, error)) from None
    return Plugin(found, context.registered, for_hermes=_is_for_hermes(injected))


def engine_offer(
    engine: RegisteredEngine, source: str, as_text: bool, found: DiscoveredPlugin | None = None
) -> EngineOffer:
    """A plugin's engine as an offer; making it runs the plugin's constructor."""

    def make(context: EngineContext) -> ContextEngine:
        services = Services(context.home, context.summarizer)
        try:
            with serving(services):
                inner = _created(engine.engine, context)
            return _wrapped(inner, engine.name, services, context, as_text)
        except (Exception, SystemExit) as error:  # plugin code may raise anything; report it
            reason = f"{_error_words(error)}{_place(error, found.path if found else None)}"
            raise PluginError(f"engine {engine.name!r} cannot be created: {reason}.") from None

    return EngineOffer(engine.name, engine.description, source, make)


def _wrapped(
    inner: Any, name: str, services: Services, context: EngineContext, as_text: bool
) -> PluginEngine:
    """The wrapped plugin engine, with its window set."""
    compression = context.settings.compression
    # Anything that the engine does not define is as the user configured it.
    for attribute, value in (
        ("threshold_percent", compression.threshold),
        ("protect_last_n", compression.protect_last_n),
    ):
        if attribute not in getattr(inner, "__dict__", {attribute: None}) and _inherits(inner, attribute):
            setattr(inner, attribute, value)
    engine = PluginEngine(
        inner, name, services, window=context.window, threshold=compression.threshold, as_text=as_text
    )
    engine.update_model(context.model, context.window)
    return engine


def _newest(folder: Path, services: Services) -> Services:
    shared = _NEWEST.setdefault((folder.resolve(), services.home), Services(services.home))
    shared.summarizer = services.summarizer
    return shared


def _register_package(package: ModuleType, context: PluginContext) -> None:
    register = getattr(package, "register", None)
    if callable(register):
        register(context)
        return
    engines = [
        value
        for value in vars(package).values()
        if isinstance(value, type)
        and issubclass(value, ContextEngine)
        and not inspect.isabstract(value)
        and value.__module__.partition(".")[0] == package.__name__
    ]
    if len(engines) != 1:
        raise PluginError("__init__.py has no register(ctx) and does not define exactly one engine class")
    context.register_context_engine(engines[0])


def _register_entry(loaded: Any, context: PluginContext) -> None:
    if isinstance(loaded, type) and issubclass(loaded, ContextEngine):
        context.register_context_engine(loaded)
        return
    register = getattr(loaded, "register", None) if isinstance(loaded, ModuleType) else loaded
    if not callable(register):
        raise PluginError("its entry point is neither an engine class nor a register(ctx) function")
    register(context)


def _created(engine: Any, context: EngineContext) -> Any:
    """The engine itself: an object unchanged, a class or function called with the context or without arguments."""
    if not isinstance(engine, type) and callable(getattr(engine, "compress", None)):
        return engine
    if not callable(engine):
        raise PluginError(f"{type(engine).__name__} is neither an engine nor an engine factory")
    return engine(context) if _wants_context(engine) else engine()


def _wants_context(make: Callable[..., Any]) -> bool:
    """Whether a callable needs an argument; a class whose arguments all have defaults does not."""
    parameters = list(inspect.signature(make).parameters.values())
    if not parameters or parameters[0].kind not in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ):
        return False
    return parameters[0].default is inspect.Parameter.empty or parameters[0].name == "context"


def _inherits(inner: Any, attribute: str) -> bool:
    return isinstance(inner, ContextEngine) and not any(
        attribute in vars(kind) for kind in type(inner).__mro__[: type(inner).__mro__.index(ContextEngine)]
    )


def _is_for_hermes(injected: InjectedModules | None) -> bool:
    return injected is not None and bool(injected.used)


def _failure(found: DiscoveredPlugin, error: BaseException) -> str:
    return f"plugin {found.name!r} cannot be loaded: {_error_words(error)}{_place(error, found.path)}."


def _error_words(error: BaseException) -> str:
    # A plugin's text goes to a terminal: one line, no control characters, no secrets.
    printable = "".join(c if c.isprintable() else " " for c in str(error))
    text = redact(" ".join(printable.split()))[:_LONGEST_ERROR].rstrip(".")
    return text if isinstance(error, PluginError) else f"{type(error).__name__}: {text}".rstrip(": ")


def _place(error: BaseException, folder: Path | None) -> str:
    """The last line of the plugin in the error's traceback."""
    if folder is None:
        return ""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({Path(error.filename).name}, line {error.lineno})" if "line" not in str(error) else ""
    root = str(folder.resolve())
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(root)]
    return f" ({Path(lines[-1].filename).relative_to(root)}, line {lines[-1].lineno})" if lines else ""
