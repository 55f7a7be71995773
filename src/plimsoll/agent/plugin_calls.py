"""Call plugin code from the event loop: in its own thread, with a deadline and only the arguments it accepts.

A thread that hangs cannot be stopped. It is abandoned; as a daemon thread it does not keep the
process alive.
"""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
_LONGEST = 300  # characters of a plugin's error message


class DeadlineExceeded(Exception):
    """Plugin code has not returned within its deadline."""


async def call_in_thread(function: Callable[[], T], seconds: float) -> T:
    """The function's result or exception; `DeadlineExceeded` if it takes too long."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: Exception | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)

    def work() -> None:
        result: Any = None
        error: Exception | None = None
        try:
            result = context.run(function)
        except StopIteration as stop:  # a future does not accept it
            error = RuntimeError(f"StopIteration: {stop}")
        except Exception as raised:
            error = raised
        except BaseException as raised:  # an engine that calls exit() ends its own work, nothing else
            error = RuntimeError(error_text(raised))
        with suppress(RuntimeError):  # the loop has closed, and no caller is waiting
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="plimsoll-foreign", daemon=True).start()
    try:
        done, _ = await asyncio.wait({answer}, timeout=seconds)
    finally:
        # The caller has given up, so the thread's result is dropped.
        answer.cancel()
    if not done:
        raise DeadlineExceeded(f"no result within {seconds:.3g} s")
    return answer.result()


def accepted_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments that the function's signature accepts."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return dict(arguments)
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return dict(arguments)
    named = {
        parameter.name for parameter in parameters if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY
    }
    return {name: value for name, value in arguments.items() if name in named}


def error_text(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())[:_LONGEST]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
