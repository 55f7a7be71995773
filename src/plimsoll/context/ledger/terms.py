"""Terms: exact words that cannot be guessed once they are gone.

    "fixed in src/app.py by `load_config`, see #4711"  ──►  src/app.py · load_config · #4711

Paths, file names, symbols, ids, hashes, URLs, versions and long numbers, recognised by
their shape in any language and for any kind of agent. Plain words are the rest: they
explain the terms.
"""

import re
from functools import lru_cache
from itertools import chain

# A single pass with one character class makes reading megabytes affordable; each distinct token is then examined
# once.
_TOKEN = re.compile(r"[A-Za-z0-9_@~.:/#$%+&=?-]{3,}", re.ASCII)
_URL = re.compile(r"https?://[^\s\"'<>)\]`]+")
_PLAIN = re.compile(r"(?<![\w./@~$-])[A-Za-z][a-z]{3,}(?![\w/@~$(=-]|\.\w)|[^\W\d_a-zA-Z]{2,}")
_HASH = re.compile(r"(?=\w*\d)[0-9a-f]{7,40}")
_NUMBERED = re.compile(r"#\d+|[A-Z][A-Z0-9]+-\d+")
_AMOUNT = re.compile(r"[$#]?\d[\d.,:/-]*(?:%|[A-Za-z]{1,4})?")
_VERSION = re.compile(r"v?\d+(?:\.\d+){1,3}(?:[.-]?\w+)?")
_CODE = re.compile(r"(?=[A-Z0-9]*[A-Z])[A-Z0-9]{5,10}")
_FILE = re.compile(r"[\w@-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,5}")
_SYMBOL = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
# The seconds of a time of day: exact, but never needed again.
_CLOCKED = re.compile(r"[0-5]\d\.\d{5,9}")
_EXTENSION = 5
_MEASURED = re.compile(r"(?<![\w.#/-])[$€£]?\d+(?:[.,]\d+)*\s?(?:%|[A-Za-z]{1,12}\b)")
_JOINT = re.compile(r"[:=?&+]+")
_TIME = re.compile(r"[\d.:/-]+[A-Za-z]{0,2}")
_TWO_LETTERS = re.compile(r"[A-Za-z]{2}")
_CAMEL = re.compile(r"[a-z][A-Z]")
_MIXED = re.compile(r"[A-Za-z]\d|\d[A-Za-z]")
_LONGEST = 240
_SHORTEST = 4
_LOUD = frozenset({
    "ERROR", "ERRORS", "WARNING", "FATAL", "DEBUG", "TRACE", "USAGE", "FALSE", "NOTE", "IMPORTANT", "CRITICAL",
    "PASSED", "FAILED", "SELECT", "WHERE", "INSERT", "UPDATE", "DELETE", "NEVER", "ALWAYS",
})  # fmt: skip
_STOP_WORDS = frozenset({
    "the", "and", "for", "with", "that", "this", "from", "are", "was", "were", "has", "have", "had", "all",
    "its", "our", "your", "their", "how", "what", "when", "where", "which", "who", "why", "not", "but", "you",
    "can", "could", "should", "would", "will", "may", "might", "into", "than", "then", "there", "here", "also",
    "only", "just", "more", "most", "some", "any", "each", "very", "been", "being", "does", "did", "done",
    "about", "these", "those", "they", "them", "func", "return", "string", "error", "type", "const", "import",
    "package", "true", "false", "null", "none", "self", "var", "let", "int", "bool", "def", "class", "public",
    "private", "static", "void", "struct", "else", "elif", "case", "switch", "break", "while", "async", "await",
    "export", "function", "nil", "err",
})  # fmt: skip


def terms_in(text: str) -> list[str]:
    """The terms of a text in order, with repetitions."""
    return list(chain.from_iterable(map(terms_of_token, _TOKEN.findall(text))))


@lru_cache(maxsize=1 << 14)  # about three megabytes; more saves little time
def terms_of_token(token: str) -> tuple[str, ...]:
    """The terms in one run of characters without spaces."""
    if token.isalpha() and token[1:].islower():
        return ()  # an ordinary word, as most tokens are
    if "://" in token:
        url = _URL.search(token)
        return (url[0].rstrip(".,;:?&=")[:_LONGEST],) if url else ()
    parts = _JOINT.split(token) if _JOINT.search(token) and not _TIME.fullmatch(token) else [token]
    return tuple(term for part in parts for term in _terms(part))


def amounts_in(text: str) -> list[str]:
    """The numbers of a text that count or measure something, with their sign or the following word."""
    return _MEASURED.findall(text)


def plain_words(text: str) -> set[str]:
    """The content words around the terms, in lower case."""
    return {word.lower() for word in set(_PLAIN.findall(text))} - _STOP_WORDS


def says_something(text: str) -> bool:
    """Whether a text has at least two content words besides terms. Stops at the second one."""
    first = ""
    for found in _PLAIN.finditer(text):
        word = found[0].lower()
        if word != first and word not in _STOP_WORDS:
            if first:
                return True
            first = word
    return False


def _terms(part: str) -> tuple[str, ...]:
    """The term of a part; for a chain of symbols, its distinctive links."""
    term = _term(part)
    if (
        "." in term
        and "/" not in term
        and _SYMBOL.fullmatch(term)
        and len(term.rsplit(".", 1)[1]) > _EXTENSION
    ):
        return tuple(link for link in map(_term, term.split(".")) if link) or (term,)
    return (term,) if term else ()


def _term(part: str) -> str:
    """The bare term; empty if the part is an ordinary word or number."""
    bare = part.strip(".-%@") if not part.endswith("%") else part.strip(".-@")
    bare = bare.lstrip("/~.") if "/" in bare else bare
    bare = bare.rstrip("/#$")
    if not _SHORTEST <= len(bare) <= _LONGEST:
        return bare if len(bare) >= 2 and (bare[0] == "$" or bare[-1] == "%") and bare[1:-1].isdigit() else ""
    return bare if _tells_apart(bare) else ""


def _tells_apart(bare: str) -> bool:
    if "/" in bare:
        return bool(_TWO_LETTERS.search(bare)) and len(bare) >= 5
    if bare[0] in "#$0123456789" or _VERSION.fullmatch(bare):
        return bare[0] == "v" or _is_number_to_keep(bare) or bool(_HASH.fullmatch(bare)) or _mixes(bare)
    return _is_name(bare)


def _is_name(bare: str) -> bool:
    """Whether a token is a symbol, a file, a code or a ticket: starts with a letter and is not an ordinary word."""
    if "_" in bare.strip("_") or _HASH.fullmatch(bare) or _NUMBERED.fullmatch(bare):
        return True
    if _CODE.fullmatch(bare):
        return bare not in _LOUD
    if "." in bare:
        return bool(_FILE.fullmatch(bare) or _SYMBOL.fullmatch(bare)) and len(bare) >= 5
    return bool(_CAMEL.search(bare)) or (_mixes(bare) and len(bare) >= 5)


def _is_number_to_keep(bare: str) -> bool:
    """Whether a token is money, a share, a version, a date, an amount with a unit, or a long number."""
    if not _AMOUNT.fullmatch(bare) or _CLOCKED.fullmatch(bare):
        return False
    digits = sum(character.isdigit() for character in bare)
    return bare[0] in "#$" or bare[-1] == "%" or digits >= 5 or (digits >= 2 and bare.count(".") >= 2)


def _mixes(bare: str) -> bool:
    """Whether a word mixes letters and digits, like ids and flight numbers."""
    return len(bare) >= 5 and bool(_MIXED.search(bare)) and bare.replace("-", "").isalnum()
