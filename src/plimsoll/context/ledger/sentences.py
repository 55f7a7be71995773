"""Splits a text into its sentences and lines, in any language."""

import re

SENTENCE = re.compile(r"(?<=[.!?।])\s+|(?<=[。！？])\s*|\n+")
# The same for ASCII: it starts with a character, so the engine skips quickly to the next one.
_ASCII_SENTENCE = re.compile(r"\s(?:(?<=[.!?]\s)\s*|(?<=\n)\n*)")


def sentences_of(text: str) -> list[str]:
    """The sentences and lines of a text, without the white space between them."""
    return (_ASCII_SENTENCE if text.isascii() else SENTENCE).split(text)
