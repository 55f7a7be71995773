"""Sets of secrets and look-alikes, read from files in `samples` and completed with random characters.

Random parts are generated when a set is read, so that no file contains text that a scanner takes for a key.
`{b62:20}` stands for twenty random letters and digits; what stands between « and » is secret.
"""

import random
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

from plimsoll.secrets import redact

_SAMPLES = Path(__file__).with_name("samples")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_ALPHABETS = {
    "b62": _LETTERS + _LETTERS.upper() + _DIGITS,
    "b64": _LETTERS + _LETTERS.upper() + _DIGITS + "+/",
    "b64u": _LETTERS + _LETTERS.upper() + _DIGITS + "-_",
    "b32": _LETTERS.upper() + "234567",
    "hex": _DIGITS + "abcdef",
    "HEX": _DIGITS + "ABCDEF",
    "low": _LETTERS + _DIGITS,
    "up": _LETTERS.upper() + _DIGITS,
    "UP": _LETTERS.upper(),
    "num": _DIGITS,
}
_RANDOM_PART = re.compile(rf"\{{(uuid|{'|'.join(_ALPHABETS)}):(\d+)\}}")


def secrets(name: str) -> Iterator[tuple[str, str, list[str]]]:
    """Each sample's title, its text and the secrets in it."""
    for block in _read(f"{name}_secrets.txt").split("\n== "):
        title, _, text = block.removeprefix("== ").partition("\n")
        yield title, re.sub("[«»]", "", text).strip("\n"), re.findall("«(.*?)»", text, re.DOTALL)


def look_alikes(name: str) -> list[str]:
    return [line.replace("\\n", "\n") for line in _read(f"{name}_look_alikes.txt").splitlines() if line]


def survives(secret: str, text: str, redacted: str) -> bool:
    """Whether more than half of the secret can still be read."""
    size = len(secret) // 2 + 1
    around = text.replace(secret, "\0")
    pieces = {secret[at : at + size] for at in range(len(secret) - size + 1)}
    return any(piece in redacted for piece in pieces if piece not in around)


def missed(name: str) -> list[str]:
    return [
        title
        for title, text, hidden in secrets(name)
        if any(survives(secret, text, redact(text)) for secret in hidden)
    ]


def mistaken(name: str) -> list[str]:
    return [text for text in look_alikes(name) if redact(text) != text]


def _read(file: str) -> str:
    chance = random.Random(file)

    def filled(part: re.Match[str]) -> str:
        kind, size = part[1], int(part[2])
        if kind == "uuid":
            return str(uuid.UUID(int=chance.getrandbits(128), version=4))
        return "".join(chance.choices(_ALPHABETS[kind], k=size))

    return _RANDOM_PART.sub(filled, (_SAMPLES / file).read_text("utf-8"))
