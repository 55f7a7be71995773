"""Sentences for people: on a terminal they are wrapped between words; a file or a pipe gets each as one line.

A word that is longer than a line, such as a path or a link, stays whole, so that it can be copied and clicked.
"""

import shutil
import sys
import textwrap

import click

_NARROWEST = 20


def wrapped(text: str, width: int, indent: str = "") -> str:
    """The text in lines of at most this width; its own line breaks stay."""
    return "\n".join(
        textwrap.fill(
            line,
            max(_NARROWEST, width),
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )


def show_sentence(text: str, *, indent: str = "", err: bool = False) -> None:
    """Print a sentence."""
    stream = sys.stderr if err else sys.stdout
    is_terminal = stream is not None and stream.isatty()
    shown = wrapped(text, shutil.get_terminal_size().columns, indent) if is_terminal else f"{indent}{text}"
    click.echo(shown, err=err)


def show_notice(text: str) -> None:
    """Print a notice on standard error."""
    show_sentence(f"note: {text}", err=True)
