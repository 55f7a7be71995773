"""Ctrl-C during a long command: one line that says how far it came."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


class CommandInterrupted(click.Abort):
    """A person pressed Ctrl-C; `done` says in a sentence what was done until then."""

    def __init__(self, done: str) -> None:
        super().__init__(done)
        self.done = done


@contextmanager
def reporting_progress(done: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C inside this block ends the command with the sentence that `done` returns then."""
    try:
        yield
    except KeyboardInterrupt:
        raise CommandInterrupted(done()) from None
