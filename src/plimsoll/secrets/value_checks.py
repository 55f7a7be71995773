"""Whether a value can be a secret, rather than a placeholder, reference, type, path or variable name.

    hunter2          can be a password         ${DB_PASS}      a reference
    $uper!Secret9    can be a password         $DB_PASS        a reference
    9fK2…            random                    get_token       a name in code

Entropy is estimated from how often adjacent characters change between lower case, upper case and digits: about 60 %
do in random text, and a quarter in names in code. This is cheaper than a logarithm.
"""

import re
import tomllib
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

_FLAGS = re.IGNORECASE
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]*)*|[A-Za-z]:[/\\].*|[a-z][a-z0-9+.-]*://.*")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
EXPRESSION = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)+!?")
WORD = re.compile(r"[A-Za-z_-]+")
SPEAKS_OF_ITSELF = re.compile(r"pass(?:word|wd|phrase)|token|secret|key|credential", _FLAGS)
# References, templates, and values that are already masked.
_PLACEHOLDER = re.compile(
    r"\$[{($].*|%[A-Z_a-z]+%|%[sdr]|%\(.*|<.*|\{.*|\[.*|!?\([A-Za-z _.-]*\)?|@[A-Za-z_]+(?:[@/.].*)?|![A-Za-z].*"
    r"|[xX*.•…#?_-]+|\.{2,}.*|….*|.*(?:\$\{|\{\{|%\(|<[a-z]|\[redacted|\*\*\*|…|\.\.\.).*"
    r"|(?:your|my|the|some|change|replace|example|dummy|placeholder|redacted|insert|fake)(?:[-_ ].*|me)?",
    re.DOTALL | _FLAGS,
)
_CASED = re.compile(r"\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+|[a-z]+(?:[A-Z][a-z]+)+)(?:[.:\[(>-].*)?", re.DOTALL)
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]++")
_RUNS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]++|[0-9]++")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[\w/-]+\.[a-z]{2,4}", _FLAGS)  # of mail; a file name
_CHANGES_OF_NOISE = 0.60  # the same for a text with punctuation and spaces, of which sentences have fewer
_CHANGES = 0.40  # minimum share of adjacent characters of different kinds in a random text


@cache
def _names() -> dict[str, Any]:
    return tomllib.loads(files("plimsoll.secrets").joinpath("names.toml").read_text("utf-8"))


def words(name: str) -> Any:
    """One list of the data file."""
    return _names()[name]


@cache
def _no_values() -> frozenset[str]:
    return frozenset(words("no_values"))


@cache
def _sentence_words() -> frozenset[str]:
    return frozenset(words("sentence_words"))


def is_not_secret(value: str) -> bool:
    """Whether a value is a type, a placeholder, a reference, a path or the name of a constant."""
    stripped = value.rstrip(".,;:")
    return (
        not stripped
        or stripped.lower() in _no_values()
        or is_placeholder(value)
        or bool(_CONSTANT.fullmatch(stripped))
        or bool(_PATH.fullmatch(stripped))
    )


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder: `${NAME}`, `<token>`, `********`, `your-key`."""
    if value.startswith("$") and not value.startswith(("${", "$(", "$$")):
        return bool(_CASED.fullmatch(value)) or (len(value) == 2 and value[1].isdigit())
    return bool(_PLACEHOLDER.fullmatch(value))


def is_random(value: str) -> bool:
    """Whether a value is longer than a word and mixes kinds of characters more than words do."""
    if len(value) < 8 or value.replace(".", "").replace(",", "").isdecimal():
        return False
    has_digit = any(character.isdigit() for character in value)
    mixed = value.lower() != value and value.upper() != value
    return has_digit or (mixed and len(value) >= 16 and not value.isalpha()) or len(value) >= 40


def is_very_random(value: str) -> bool:
    """Whether a long value can only be random: hexadecimal digits, or a frequent change of character kinds."""
    bare = value.rstrip("=").replace("-", "").replace("_", "")
    if len(bare) < 16 or bare.isdecimal():
        return False
    if len(bare) >= 24 and all(character in "0123456789abcdefABCDEF" for character in bare):
        return True
    if sum(character.isdigit() for character in bare) < 2:
        return len(bare) >= 20 and is_scrambled("".join(filter(str.isalpha, bare)))
    # With letters of one case only, fewer adjacent characters differ.
    least = _CHANGES if bare.lower() != bare and bare.upper() != bare else _CHANGES / 2
    return changes(bare) >= least


def is_noise(value: str) -> bool:
    """Whether a long value, possibly with spaces, mixes all kinds of characters as no sentence or code does."""
    mixed = value.lower() != value and value.upper() != value
    signs = {character for character in value if not character.isalnum() and character not in "+/=-_"}
    return len(value) >= 32 and mixed and len(signs) >= 5 and _varies(value) >= _CHANGES_OF_NOISE


def _varies(text: str) -> float:
    """Like `changes`, but each punctuation mark is a kind of its own."""
    kinds = ["a" if c.islower() else "A" if c.isupper() else "0" if c.isdigit() else c for c in text]
    return sum(a != b for a, b in pairwise(kinds)) / max(1, len(kinds) - 1)


def is_unmistakable(value: str) -> bool:
    """Whether a value is random and no identifier of an API: a name and a space before it tell that it is secret."""
    return is_very_random(value) and re.split(r"[_-]", value, maxsplit=1)[0].lower() not in words(
        "id_prefixes"
    )


def changes(text: str) -> float:
    """The share of adjacent characters that are of different kinds."""
    kinds = [1 if c.islower() else 2 if c.isupper() else 3 if c.isdigit() else 4 for c in text]
    return sum(a != b for a, b in pairwise(kinds)) / max(1, len(kinds) - 1)


def is_scrambled(value: str) -> bool:
    """Whether letters of both cases are mixed as in no name: split before capitals, the parts are very short."""
    parts = _HUMPS.findall(value)
    if len(value) < 8 or len(parts) < 3 or not value.isascii() or not value.isalpha():
        return False
    longest = 3 if any(len(part) > 1 and part.isupper() for part in parts) else 2.9
    return len(value) <= longest * len(parts)


def is_generated(value: str) -> bool:
    """Whether letters of both cases and digits change so often that the word can only be random."""
    if value.lower() == value or value.upper() == value or value.isalpha():
        return False
    parts = _RUNS.findall(value)
    return len(value) <= 2.5 * len(parts) and sum(len(part) > 2 and part.istitle() for part in parts) < 2


def is_plain(value: str) -> bool:
    """Whether a value consists of words: letters, joined by dashes or underscores, with at most two final digits."""
    return bool(WORD.fullmatch(value.rstrip("0123456789")))


def is_stated_password(value: str) -> bool:
    """Whether a value that a sentence or a heading calls a password mixes letters with digits or symbols."""
    bare = value.rstrip(".,;:!?)")
    has_letter = any(character.isalpha() for character in bare)
    if len(bare) < 5 or not has_letter or _ADDRESS.fullmatch(bare):
        return False
    if is_plain(bare):  # Summer2024, but not sha256
        return sum(c.isdigit() for c in bare) >= 4 or is_scrambled(bare.rstrip("0123456789"))
    return any(c.isdigit() or c in "!@#$%^&*" for c in bare)


def is_mixed(value: str) -> bool:
    """Whether letters and digits are mixed, as in no name of a type or rule."""
    has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return len(value) >= 8 and has_both and not is_plain(value) and not any(c in " :|" for c in value)


def is_sentence(value: str) -> bool:
    """Whether a text with spaces is a sentence or code rather than a passphrase."""
    said = value.split()
    if not 2 <= len(said) <= 10 or len(value) > 100 or value != value.strip():
        return True
    if not _sentence_words().isdisjoint(word.strip(".,:;!?'\"()").lower() for word in said):
        return True
    if any(character.isdigit() or character in "!@#%^&*" for character in value):
        return len(said) > 7 or value.endswith((":", "...", "…"))
    # A passphrase consists of several plain words in the same case.
    return len(said) < 3 or not value.islower() or not all(word.isalpha() for word in said)
