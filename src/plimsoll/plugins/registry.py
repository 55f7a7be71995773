"""Engines that the running program registers without a plugin folder.

    from plimsoll import register_context_engine
    register_context_engine(MyEngine, name="mine")        then `context.engine: mine` finds it

Registering activates nothing: the configuration must name the engine.
"""

import threading
from typing import Any

from plimsoll.errors import PluginError
from plimsoll.plugins.offers import COMPRESSOR
from plimsoll.plugins.registration import RegisteredEngine

_LOCK = threading.Lock()
_ENGINES: dict[str, RegisteredEngine] = {}


def register_context_engine(engine: Any, name: str | None = None, description: str = "") -> None:
    """Register an engine under a name: an object, or a class or function called with an `EngineContext`.

    Without `name`, the engine's own name is used; registering a name again replaces the engine.
    """
    own = getattr(engine, "name", None)
    called = name or (own if isinstance(own, str) else None)
    if not called:
        raise PluginError("An engine needs a name: register_context_engine(MyEngine, name='mine').")
    if called == COMPRESSOR:
        raise PluginError(f"The name {COMPRESSOR!r} always means the built-in engine. Choose another one.")
    with _LOCK:
        _ENGINES[called] = RegisteredEngine(called, description, engine)


def registered_engines() -> tuple[RegisteredEngine, ...]:
    """The engines that this program has registered so far."""
    with _LOCK:
        return tuple(_ENGINES.values())
