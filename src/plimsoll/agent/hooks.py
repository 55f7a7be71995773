"""Hooks: plugins can guide a compaction before it starts and learn the result afterwards.

    pre_compact(messages, trigger, focus)  ──►  {"context": "…"}   passed to the engine after the focus
                                                {"veto": "…"}      not now; ignored for overflows and user requests
                                                None
    post_compact(event)                         after the compaction was stored

A hook that raises, hangs or returns something else is reported and ignored.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from plimsoll.agent.plugin_calls import DeadlineExceeded, call_in_thread, error_text
from plimsoll.archive import CompactionEvent
from plimsoll.messages import Message

PreCompact: TypeAlias = Callable[[list[Message], str, str | None], Mapping[str, Any] | None]
PostCompact: TypeAlias = Callable[[CompactionEvent], object]
DEADLINE = 10.0  # seconds for one hook
NO_VETO_TRIGGERS = frozenset({"overflow", "by hand"})  # triggers that no veto stops


@dataclass(frozen=True, slots=True)
class Guidance:
    """The hooks' guidance for one compaction."""

    focus: str | None = None
    veto: str = ""
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks in the order in which they are called; none by default."""

    pre_compact: tuple[PreCompact, ...] = ()
    post_compact: tuple[PostCompact, ...] = ()
    deadline: float = DEADLINE

    async def before(self, view: Sequence[Message], trigger: str, focus: str | None) -> Guidance:
        """Ask every hook before a compaction. The first veto decides."""
        contexts, faults = [focus] if focus else [], []
        for hook in self.pre_compact:
            try:
                answer = await call_in_thread(
                    lambda hook=hook: hook(copy.deepcopy(list(view)), trigger, focus),  # type: ignore[misc]
                    self.deadline,
                )
                context, veto = _read(answer)
            except (DeadlineExceeded, Exception) as error:  # plugin code may raise anything
                faults.append(_fault("pre_compact", hook, error))
                continue
            if veto and trigger not in NO_VETO_TRIGGERS:
                return Guidance(focus, f"{_name(hook)}: {veto}", tuple(faults))
            contexts += [context] if context else []
        return Guidance("\n".join(contexts) or None, faults=tuple(faults))

    async def after(self, event: CompactionEvent) -> list[str]:
        """Notify every hook about a compaction. Returns the failures."""
        faults = []
        for hook in self.post_compact:
            try:
                await call_in_thread(lambda hook=hook: hook(event), self.deadline)  # type: ignore[misc]
            except (DeadlineExceeded, Exception) as error:  # plugin code may raise anything
                faults.append(_fault("post_compact", hook, error))
        return faults


def _read(answer: Any) -> tuple[str, str]:
    """Context and veto of an answer."""
    if answer is None:
        return "", ""
    if not isinstance(answer, Mapping):
        raise TypeError(f"it returned {type(answer).__name__}, not a mapping with context or veto")
    return str(answer.get("context") or "").strip(), str(answer.get("veto") or "").strip()


def _fault(kind: str, hook: Callable[..., Any], error: BaseException) -> str:
    return f"The {kind} hook {_name(hook)} was ignored: {error_text(error)}."


def _name(hook: Callable[..., Any]) -> str:
    return str(getattr(hook, "__qualname__", None) or type(hook).__name__)
