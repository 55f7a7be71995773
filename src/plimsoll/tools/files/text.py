"""Decodes and encodes files, and preserves their encoding and line endings.

    b"\\xef\\xbb\\xbfa\\r\\nb"   ⇄   Text("a\\nb", encoding="utf-8", mark=b"\\xef\\xbb\\xbf", line_end="\\r\\n")

`decoded` rejects binary files, so that no tool edits an image as text.
"""

import codecs
from dataclasses import dataclass

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of it
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAMPLE = 65_536


@dataclass(frozen=True, slots=True)
class Encoding:
    """A file's encoding; `mark` is the byte order mark at its start."""

    name: str
    mark: bytes = b""


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a file with one kind of line end, and what is needed to write it back."""

    text: str
    encoding: Encoding
    line_end: str = "\n"

    def encoded(self, text: str) -> bytes:
        """Other text in the same encoding and line ends."""
        wanted = text.replace("\n", "\r\n") if self.line_end == "\r\n" else text
        return self.encoding.mark + wanted.encode(self.encoding.name)


def encoding_of(sample: bytes) -> Encoding | None:
    """The encoding of a file by its first bytes; None for binary files."""
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Encoding(name, mark)
    if b"\0" in sample:
        return None
    # The sample may end inside a character.
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(sample, final=False)
    except UnicodeDecodeError:
        return Encoding("cp1252") if _looks_like_text(sample) else None
    return Encoding("utf-8")


def decoded(data: bytes) -> Text | None:
    """The text of a whole file; None if it is binary or cannot be written back unchanged."""
    encoding = encoding_of(data)
    if encoding is None:
        return None
    body = data[len(encoding.mark) :]
    try:
        text = body.decode(encoding.name)
    except UnicodeDecodeError:
        return None
    # Only with uniform line endings can a \r that is part of the text be distinguished.
    if "\r\n" in text and text.count("\r") == text.count("\n") == text.count("\r\n"):
        return Text(text.replace("\r\n", "\n"), encoding, "\r\n")
    return Text(text, encoding)


def _looks_like_text(sample: bytes) -> bool:
    """Whether bytes that are not UTF-8 are text in an older encoding: hardly any control characters."""
    control = sum(byte < 9 or 13 < byte < 32 for byte in sample)
    undefined = sum(byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D) for byte in sample)
    return (control + undefined) * 100 < len(sample)
