"""Provides the Hermes Agent modules that its context plugins import.

    agent.context_engine      ContextEngine           Plimsoll's contract, with the one default that differs
    agent.auxiliary_client    call_llm(…)             the user's summary model
    hermes_cli.config         get_hermes_home()       $PLIMSOLL_HOME
    hermes_constants          get_hermes_home()       the same

Only the plugin can import them (`isolation.py`). Secrets are removed from what a plugin sends to
a model.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from plimsoll.context import ContextEngine, Summarizer, SummaryService, SummaryWriter
from plimsoll.messages import Message, text_of
from plimsoll.secrets import redact

DEFAULT_ANSWER = 2_000  # default maximum tokens of an answer


class HermesContextEngine(ContextEngine):
    """The base class of Hermes engines: there is always something to compress, unless the engine overrides this."""

    def has_content_to_compress(self, messages: list[Message]) -> bool:
        return True


@dataclass(slots=True)
class Services:
    """The implementation of the injected modules."""

    home: Path
    summarizer: SummaryWriter | None = None


_SERVING: ContextVar[Services | None] = ContextVar("plimsoll_plugin_services", default=None)


@contextmanager
def serving(services: Services) -> Iterator[None]:
    """A context in which the plugin's calls belong to this conversation."""
    token = _SERVING.set(services)
    try:
        yield
    finally:
        _SERVING.reset(token)


def hermes_modules(fallback: Services) -> dict[str, ModuleType]:
    """The modules; `fallback` answers threads that the plugin started itself."""

    def get_hermes_home() -> Path:
        return (_SERVING.get() or fallback).home

    def call_llm(
        _task: str | None = None,
        *,
        messages: Sequence[Message] = (),
        max_tokens: int | None = None,
        timeout: float | None = None,
        **_ignored: Any,
    ) -> SimpleNamespace:
        """One answer. The model, its temperature and its provider come from the user's settings."""
        services = _SERVING.get() or fallback
        text = _answer(services.summarizer, messages, max_tokens or DEFAULT_ANSWER, timeout)
        message = SimpleNamespace(role="assistant", content=text, tool_calls=None)
        return SimpleNamespace(
            choices=[SimpleNamespace(index=0, message=message, finish_reason="stop")], model="", usage=None
        )

    modules = [
        _module("agent.context_engine", ContextEngine=HermesContextEngine),
        _module("agent.auxiliary_client", call_llm=call_llm),
        _module("hermes_cli.config", get_hermes_home=get_hermes_home),
        _module("hermes_constants", get_hermes_home=get_hermes_home),
    ]
    return _with_parents(modules)


def _answer(
    writer: SummaryWriter | None, messages: Sequence[Message], max_tokens: int, timeout: float | None
) -> str:
    if writer is None:
        raise RuntimeError("No summary model is configured: set auxiliary.compression.model or a key.")
    prompt = redact("\n\n".join(text for text in map(text_of, messages) if text))
    summarizer: Summarizer = writer.begin() if isinstance(writer, SummaryService) else writer
    return _within(timeout, lambda: summarizer.summarize(prompt, max_tokens))


def _within(seconds: float | None, work: Callable[[], str]) -> str:
    """The result of the work, or `TimeoutError`; slower work is abandoned."""
    if not seconds:
        return str(work())
    done: dict[str, Any] = {}

    def run() -> None:
        try:
            done["text"] = work()
        except Exception as error:  # raised again in the waiting thread
            done["error"] = error

    thread = threading.Thread(target=run, name="plimsoll-plugin-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if "error" in done:
        raise done["error"]
    if "text" not in done:
        raise TimeoutError(f"the summary model did not answer within {seconds:g} s")
    return str(done["text"])


def _module(name: str, **contents: Any) -> ModuleType:
    module = ModuleType(name, "Provided to a plugin by Plimsoll.")
    vars(module).update(contents)
    return module


def _with_parents(modules: Sequence[ModuleType]) -> dict[str, ModuleType]:
    found = {module.__name__: module for module in modules}
    for module in modules:
        parent, dot, own = module.__name__.rpartition(".")
        if dot:
            package = found.setdefault(parent, _module(parent, __path__=[]))
            setattr(package, own, module)
    return found
