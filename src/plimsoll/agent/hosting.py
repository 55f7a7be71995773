"""An engine as its host has it: whatever it does wrong is told once, and the conversation goes on.

    ask(method) ─┬─ answered ──► the answer
                 ├─ raised ────► a default, and one notice for this method
                 └─ hung ──────► a default, one notice, and from then on the built-in serves

Engines are foreign code. They run in threads of their own within deadlines and get only
the arguments that they accept, as copies. While one compresses in the background it may
be asked for small things.
"""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from plimsoll.agent.foreign import Hung, accepted, in_thread, said
from plimsoll.context import ContextCompressor, ContextEngine
from plimsoll.messages import Message

T = TypeVar("T")
SMALL_DEADLINE = 10.0  # seconds for everything but `compress`


class HostedEngine:
    """The engine that serves, and what is known about its failures."""

    def __init__(
        self,
        engine: ContextEngine,
        fallback: ContextCompressor | None = None,
        *,
        deadline: float = SMALL_DEADLINE,
        hide: Callable[[str], str] = lambda text: text,
    ) -> None:
        """`hide` takes secrets out of what an engine says about its failures."""
        self.engine = engine
        self._fallback = fallback
        self._deadline, self.hide = deadline, hide
        self._told: set[tuple[str, str]] = set()
        self._notices: list[str] = []

    @property
    def is_built_in(self) -> bool:
        """Whether the engine is our own, which needs no guard."""
        return type(self.engine) is ContextCompressor

    def take_notices(self) -> list[str]:
        """What a person should know and has not been told yet."""
        notices, self._notices = self._notices, []
        return notices

    def notice(self, key: str, sentence: str) -> None:
        """Something to tell once for this engine and key."""
        if (self.engine.name, key) not in self._told:
            self._told.add((self.engine.name, key))
            self._notices.append(self.hide(sentence))

    def fallback(self) -> ContextCompressor:
        """The built-in that serves where the engine does not, for the window that holds now."""
        if self._fallback is None:
            self._fallback = self.without_model()
        elif self.engine.context_length not in (0, self._fallback.context_length):
            self._fallback.update_model(self._fallback.model, self.engine.context_length)
        return self._fallback

    def without_model(self) -> ContextCompressor:
        """A built-in that asks nobody, with the numbers of the engine that serves."""
        engine = self.engine
        percent = engine.threshold_percent if 0 < engine.threshold_percent <= 1 else 0.5
        return ContextCompressor(
            context_length=engine.context_length or None,
            threshold=percent,
            protect_last_n=max(1, engine.protect_last_n),
        )

    async def ask(self, method: str, default: T, /, *args: Any, **arguments: Any) -> T:
        """The engine's answer to one of its small methods; the default where it gives none."""
        engine = self.engine
        function = getattr(engine, method, None)
        if function is None:
            return default
        if self.is_built_in:
            answer: T = function(*args, **accepted(function, arguments))
            return answer
        try:
            return await in_thread(lambda: function(*args, **accepted(function, arguments)), self._deadline)
        except Hung as hung:
            self.retire(engine, f"{method} gave {hung}")
        except Exception as error:  # an engine is foreign code; whatever it raises, the conversation goes on
            self.notice(method, f"Context engine {engine.name}: {method} failed: {said(error)}.")
        return default

    def ask_now(self, method: str, default: T, /, **arguments: Any) -> T:
        """The answer to a method that only compares numbers, asked between two requests and without a thread.

        What it raises is told and ignored; that it hangs is not guarded against.
        """
        engine = self.engine
        function = getattr(engine, method)
        try:
            answer: T = function(**accepted(function, arguments))
        except Exception as error:  # an engine is foreign code; whatever it raises, the conversation goes on
            self.notice(method, f"Context engine {engine.name}: {method} failed: {said(error)}.")
            return default
        return answer

    async def answer_call(
        self, name: str, arguments: Mapping[str, Any], view: Sequence[Message], seconds: float
    ) -> str:
        """The engine's answer to one of its own tools; raises what the engine raises, and `Hung`."""
        engine = self.engine
        call = engine.handle_tool_call

        def work() -> str:
            extra = accepted(call, {"messages": copy.deepcopy(list(view))})
            answer: Any = call(name, copy.deepcopy(dict(arguments)), **extra)
            return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)

        try:
            return await in_thread(work, seconds)
        except Hung:
            self.retire(engine, f"its tool {name} did not come back within {seconds:.3g} s")
            raise

    async def compress(
        self, engine: ContextEngine, view: list[Message], seconds: float, **arguments: Any
    ) -> list[Message]:
        """What an engine makes of a view; raises what the engine raises, and `Hung`."""
        own = type(engine) is ContextCompressor

        def work() -> list[Message]:
            given = list(view) if own else copy.deepcopy(view)
            lighter: Any = engine.compress(given, **accepted(engine.compress, arguments))
            if not isinstance(lighter, list):
                raise TypeError(f"compress() returned {type(lighter).__name__}, not a list of messages")
            return lighter if own else _with_originals(lighter, view)

        try:
            return await in_thread(work, seconds)
        except Hung:
            if not own:
                self.retire(engine, f"compress() did not come back within {seconds:.3g} s")
            raise

    def retire(self, engine: ContextEngine, why: str) -> None:
        """Never use an engine again that hung: its thread cannot be ended and may still change its state."""
        if engine is not self.engine:
            return
        fallback = self.fallback()
        self.notice(
            "hung",
            f"Context engine {engine.name} is not used again until Plimsoll is started anew: {why}. "
            "The built-in compressor serves.",
        )
        self.engine = fallback


def _with_originals(lighter: list[Any], view: Sequence[Message]) -> list[Any]:
    """The list with copies that came back unchanged replaced by the messages that they are copies of."""
    originals: dict[str, list[Message]] = {}
    for message in reversed(view):
        originals.setdefault(_key(message), []).append(message)
    return [
        found.pop() if isinstance(one, dict) and (found := originals.get(_key(one))) else one
        for one in lighter
    ]


def _key(message: Message) -> str:
    return json.dumps(message, sort_keys=True, default=str)
