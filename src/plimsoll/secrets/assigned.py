"""Finds secrets by the name they are assigned to.

    DB_PASS=(hunter2)          "password": "hunter2"          <password>hunter2</password>
    machine h login u password hunter2                        --token hunter2

The name stays and the value is redacted, unless it is a type, a reference, an expression or the
name of a variable.
"""

import binascii
import re
from base64 import b64decode
from functools import cache

from plimsoll.secrets.value_checks import (
    EXPRESSION,
    SPEAKS_OF_ITSELF,
    WORD,
    is_mixed,
    is_noise,
    is_not_secret,
    is_plain,
    is_random,
    is_scrambled,
    is_sentence,
    is_stated_password,
    is_unmistakable,
    is_very_random,
    words,
)

MARK = "[redacted]"
_FLAGS = re.IGNORECASE
_LOOKBEHIND = 60  # characters before a name that are checked
_IN_NAMES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_OPTION = re.compile(r"(?:^|[\s'\"])--?[A-Za-z-]*\Z")
_NETRC = re.compile(r"(?:\b(?:login|user|account|machine)\s{1,8}\S{1,100}|^|\n)\s{1,8}\Z", _FLAGS)
_SUFFIX = rf"(?:[_-](?:{'|'.join(words('suffixes'))}|v?\d{{1,3}})|\d{{1,2}})?(?![A-Za-z0-9_])"
VALUE = re.compile(
    _SUFFIX + r"(?:[\"']?,?\s{1,40}[\"']?(?:default_?)?(?:value|content)[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
    r"(?P<attribute>[^\s\"'][^\"'\n]{0,400})(?=[\"'\n])"
    r"|(?P<spoken>(?:[ \t](?:for|of|to|on)[ \t][\w ./@'-]{1,40}?)?"
    r"[ \t]{1,2}(?:is|was|to|è|es|est|ist|é|(?:will|should|must|would)[ \t]be)"
    r"(?:[ \t](?:now|set[ \t]to))?:?[ \t]{1,2}[\"'`]?)"
    r"(?P<told>[^\s\"'`<>\[\]]{4,200}+)"
    r"|(?P<close>\\{0,3}[\"'])?\]?"
    r"(?P<sep>(?:[ \t]{0,4}:[ \t]{0,4}&?(?:'static )?[\w.]{1,20}(?:[<\[][\w., |]{1,20}[>\]])?\??|[ \t]{1,4}string)"
    r"[ \t]{1,4}=[ \t]{1,4}(?=[brf]?[\"'])"  # a type: `secret: &str = "…"`
    # YAML: `password: |`
    r"|[ \t]{0,8}(?:=>|:=|[:=](?!=))(?:\s{1,40}(?=[\"'])|[ \t]{0,8}(?:[|>][+-]?[ \t]{0,4}\n[ \t]{1,20})?)"
    r"|[ \t]{1,40}\|[ \t]{1,40}|[ \t]{1,4}|(?=\([\"'])|(?<=[\"']),[ \t]{0,20})"
    r"(?P<call>\((?=[\"'])|(?<=[=:> ])[\w.:&\[\]]{1,30}\([ \t]{0,4}(?=[bru]?[\"']))?(?:[bru@]{1,2}(?=[\"']))?"
    r"(?:(?P<escaped>\\{1,3}[\"'])(?P<inner>[^\"'\\\n]{1,400})"
    r"|\"(?P<double>(?:[^\"\\\n]|\\.){1,400}+)|'(?P<single>(?:[^'\\\n]|\\.){1,400}+)"
    r"|(?P<bare>(?:[$*@(!%^#]{1,3})?[^\s\"'`,;&(){}\[\]<>|\\]{3,400}+))"
    r"|(?P<tag></(?:key|name)>\s{0,40}<(?:string|value)>"
    r"|(?:[\"']|[ \t][\w:.-]{1,30}=[\"'][^\"'<>\n]{0,80}[\"'])?>)(?P<text>[^<>\n]{1,400})(?=</))",
    _FLAGS,
)
_MAX_CHECKED = 400  # characters of a value that are checked; a secret extends to the end of its word
_REST = re.compile(r"[^\s\"'`,;&(){}\[\]<>|\\]*+")
_TAIL = re.compile(r"\S{0,400}+")
_BEGINS_LINE = re.compile(
    r"(?:\A|[\n\r])(?:export |set |ENV |ARG |-e |\+|-|\d+[:→\t|])?[ \t]{0,8}[A-Z0-9_]*\Z"
)
# fish: `set -gx NAME value`; Dockerfile: `ENV NAME value`; csh: `setenv NAME value`
_SETS = re.compile(
    r"(?:\A|[\n\r])(?:[+-]|\d+[:→\t|])?[ \t]{0,12}(?:set -[a-zA-Z]{1,4}|ENV|setenv)[ \t]{1,4}[A-Z0-9_]*\Z"
)
_ARN = re.compile(r"\barn:[\w:-]*\Z")
_SYMMETRIC_KEY = re.compile(r"(?!AAAA)(?=[^a-z]{0,40}[a-z])(?=[^A-Z]{0,40}[A-Z])[A-Za-z0-9+/]{42,200}={1,2}")
_MIXED_KEY = re.compile(
    r"(?=[^0-9]{0,40}[0-9])(?=[^a-z]{0,40}[a-z])(?=[^A-Z]{0,40}[A-Z])[A-Za-z0-9_-]{24,100}+"
)
_HEX_KEY = re.compile(r"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})")
_CALL_WITH_NAME = re.compile(r"\w\([ \t]{0,8}[\"'][\w.-]*\Z")  # define('DB_PASSWORD', '…')
_CALL = re.compile(r"[A-Za-z_][\w.:]*+\(")
_SETTER = re.compile(r"(?i:set|with|add|use|change|update|reset)_?\Z|[a-z0-9)][.]\Z|\A[.]\Z")
# The name and its value are all that the line says: `rootpw …`
_LINE_START = re.compile(r"(?:\A|[\n\r])[ \t]{0,12}(?:set[ \t])?[\w.-]{0,30}\Z")
_GROUPS = ("inner", "double", "single", "text", "attribute", "told", "bare")


@cache
def _finders() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Pairs of a substring, which is cheap to search for, and a pattern of the names that start with it."""
    strong, weak = words("strong"), words("weak")
    names = (*strong, *words("abbreviated"), *weak, "key")
    needles = ("pass", "pw", "secret", "token", "cred", "key", *weak)
    return tuple(
        (
            needle,
            re.compile("|".join(sorted((n for n in names if n.startswith(needle)), key=len, reverse=True))),
        )
        for needle in needles
    )


@cache
def _key_of(strength: str) -> re.Pattern[str]:
    """Matches the word before `key`: `api_key`, `apiKey`, `API-Key`, `private key`."""
    owners = "|".join(words(strength))
    camel = "|".join(owner.capitalize() for owner in words(strength))
    return re.compile(
        rf"(?:(?:\A|[^A-Za-z])(?i:{owners})|(?<=[a-z0-9])(?:{camel}))[_ .-]?(?i:access[_-]?)?\Z"
    )


@cache
def _harmless() -> re.Pattern[str]:
    owners = "|".join(words("harmless_owners"))
    camel = "|".join(owner.capitalize() for owner in words("harmless_owners"))
    return re.compile(rf"(?:(?:\A|[_.-])(?:{owners}|{owners.upper()})[_.-]?|(?:{camel}))\Z")


class _WordEnds:
    """Where the words of a text end; a long word is read once, however many names it contains."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known = range(0)  # positions in one word; the last one is its end

    def after(self, position: int) -> int:
        """The end of the word that continues at a position."""
        if position not in self._known:
            rest = _REST.match(self._text, position)
            self._known = range(position, (rest.end() if rest else position) + 1)
        return self._known[-1]


def without_assigned(text: str, lowered: str) -> str:
    """The text without the values of names that indicate a secret."""
    kept: list[str] = []
    ends = _WordEnds(text)
    done = 0
    for start, name in _names_in(lowered):
        found = VALUE.match(text, start + len(name)) if start >= done else None
        span = _secret_in(found, text[max(0, start - _LOOKBEHIND) : start], name, ends) if found else None
        if span:
            kept += [text[done : span[0]], MARK]
            done = span[1]
    return "".join((*kept, text[done:])) if kept else text


def _names_in(lowered: str) -> list[tuple[int, str]]:
    """The names that may indicate a secret, with their positions, in order."""
    places: list[tuple[int, str]] = []
    for needle, names in _finders():
        at = lowered.find(needle)
        while at >= 0:
            found = names.match(lowered, at)
            if found:
                places.append((at, found[0]))
            at = lowered.find(needle, at + len(needle))
    return sorted(places)


def _secret_in(found: re.Match[str], before: str, name: str, ends: _WordEnds) -> tuple[int, int] | None:
    """The span of the secret in a match; None if there is no secret."""
    prefix = before[len(before.rstrip(_IN_NAMES)) :]
    needs_random = _needs_random(name, prefix, before)
    group = next(one for one in _GROUPS if found[one] is not None)
    value = found[group]
    start, end = found.span(group)
    whole_end = _end_of_word(found, group, ends)
    if not whole_end:
        return None
    if group == "bare":
        value, end = _whole(found, before, name)
        if not _separated(found, before, name, value):
            return None
    if needs_random is None:
        is_secret = _is_stated_key(name, prefix, before, value) or _is_stated_pass(found, name, prefix, value)
        return (start, end) if is_secret else None
    if is_not_secret(value) or _is_harmless(found, before, prefix, name, group):
        return None
    if needs_random:
        is_secret = _is_basic_auth(value) if name == "auth" else is_very_random(value) or is_noise(value)
    else:
        is_secret = _is_secret(found, group, value, prefix, before, name)
    return (start, max(end, whole_end)) if is_secret else None


def _end_of_word(found: re.Match[str], group: str, ends: _WordEnds) -> int:
    """Where a value ends that may be longer than what is checked; 0 if its quotation mark is not closed."""
    end = found.end(group)
    if end - found.start(group) >= _MAX_CHECKED - 1:
        end = ends.after(end)
    return end if found.string.startswith({"double": '"', "single": "'"}.get(group, ""), end) else 0


def _is_secret(found: re.Match[str], group: str, value: str, prefix: str, before: str, name: str) -> bool:
    """Whether a plausible value is secret, given how it is written: in a sentence, quoted or bare."""
    if group == "told":
        return is_stated_password(value)
    return (
        _bare_is_secret(found, value, prefix, before, name)
        if group == "bare"
        else _quoted_is_secret(name, value)
    )


def _is_harmless(found: re.Match[str], before: str, prefix: str, name: str, group: str) -> bool:
    """Whether the name, or what separates it from its value, tells that the value is not secret."""
    if (not _is_password(name) and _harmless().search(prefix[-14:])) or _ARN.search(before):
        return True
    if found["call"] and not _is_passed(found, prefix, found[group]):
        return True
    sep = (found["sep"] or "").strip()
    if sep == ",":
        return (
            group == "bare"
            or not _CALL_WITH_NAME.search(before)
            or not (is_mixed(found[group]) or is_noise(found[group]))
        )
    return sep == "|" and not is_very_random(found[group])


def _needs_random(name: str, prefix: str, before: str) -> bool | None:
    """Whether only a random value of this name is secret; None if no value of it is."""
    if name == "key":
        near = before[-24:]
        return bool(_key_of("weak_key_of").search(near)) if _key_of("key_of").search(near) else None
    if name in words("abbreviated"):
        # DB_PASS and dbPass name a password; compass and bypass do not, nor does a bare `pass` in code.
        return (
            False
            if prefix[-1:] in ("_", ".", "-")
            or (name == "pwd" and before.rstrip()[-1:] in (";", '"', "'", "{", ","))
            else None
        )
    if name == "psk":
        return None if prefix[-1:].isalpha() else False
    if name in words("weak"):
        return True if name.startswith("_") or not prefix[-1:].isalpha() else None
    return False


def _is_stated_key(name: str, prefix: str, before: str, value: str) -> bool:
    """Whether a `key` without a word for what it opens is one by its value: noise, or 32 random bytes in Base64."""
    if name != "key" or is_not_secret(value):
        return False
    if is_noise(value):
        return True
    said = before.removesuffix("const ").removesuffix("let ").rstrip().rpartition(" ")[2]
    if not prefix:
        return (not said[-1:].isalnum() or said in words("key_verbs")) and bool(
            _SYMMETRIC_KEY.fullmatch(value) or _MIXED_KEY.fullmatch(value)
        )
    # Of a name like `ServiceBusKey` or `bugsnag_key`, only a random value tells that it is secret.
    owner = re.split(r"[_.-]|(?<=[a-z])(?=[A-Z])", prefix.strip("_.-"))[-1].lower()
    is_key = (
        _MIXED_KEY.fullmatch(value.replace(".", "").replace(":", ""))
        or _SYMMETRIC_KEY.fullmatch(value)
        or _HEX_KEY.fullmatch(value)
    )
    return (
        owner not in words("identifying_keys")
        and bool(is_key)
        and any(map(is_very_random, re.split("[.:]", value)))
    )


def _is_stated_pass(found: re.Match[str], name: str, prefix: str, value: str) -> bool:
    """Whether the value of `pass`, `pwd` or `pw` looks like a password itself: `"pass": "x7Kd9"`, `bindpw x7Kd9`."""
    if name not in words("abbreviated") or found["call"] or is_not_secret(value):
        return False
    if (prefix and prefix.strip(".-_").lower() not in words("password_of")) or found["told"]:
        return False
    return _is_named(found, name, prefix) and is_stated_password(
        value.split()[0] if not found["bare"] else value
    )


def _is_named(found: re.Match[str], name: str, prefix: str) -> bool:
    """Whether a sign between name and value tells that they belong together. `PASS: TestLogin` is a test's result."""
    sep = (found["sep"] or "").strip()
    if "=" in sep or not found["bare"]:
        return sep not in ("", "|", ",")
    is_result = name == "pass" and not found.string[found.start() - 1].islower()
    return not is_result and (":" in sep or bool(prefix and name == "pw"))


def _is_passed(found: re.Match[str], prefix: str, value: str) -> bool:
    """Whether a quoted argument is a secret: `setPassword("…")`, `secret = bytes("…")`; not `getToken("…")`."""
    if not is_mixed(value):
        return False
    return found["call"] != "(" or bool(_SETTER.search(prefix)) or bool(_MIXED_KEY.fullmatch(value))


def _whole(found: re.Match[str], before: str, name: str) -> tuple[str, int]:
    """A bare value and its end; in an environment file it extends to the next whitespace."""
    start, end = found.span("bare")
    written = found.string[found.start() - len(name) : found.start()]
    if "=" in found["sep"] and written.isupper() and _BEGINS_LINE.search(before):
        tail = _TAIL.match(found.string, start)
        value = tail[0] if tail else found["bare"]
        if not value.startswith(("$(", "${", "`", "(")) or (value.startswith("(") and ")" in value):
            return value, start + len(value)
    return found["bare"], end


def _separated(found: re.Match[str], before: str, name: str, value: str) -> bool:
    """Whether name and value belong together: `=` or `:` between them, an option, or a .netrc line."""
    if found["sep"].strip():
        return True
    if _OPTION.search(before):
        return not value.startswith("-")
    if _SETS.search(before) or is_unmistakable(value):
        return True
    if _LINE_START.search(before) and found.string[found.end("bare") :][:1] in ("", "\n", "\r"):
        return len(value) >= 7 and is_stated_password(value)
    return name == "password" and bool(_NETRC.search(before)) and "login" in before.lower()


def _quoted_is_secret(name: str, value: str) -> bool:
    if name == "pwd" and not any(character.isdigit() for character in value):
        return False
    if any(character.isspace() for character in value):
        if _is_password(name) and name != "secret" and not is_sentence(value):
            return True
        return is_noise(value) or any(len(part) >= 24 and is_very_random(part) for part in value.split())
    return _can_be_secret(name, value)


def _bare_is_secret(found: re.Match[str], value: str, prefix: str, before: str, name: str) -> bool:
    after = found.string[found.start("bare") + len(value) :][:1]
    if (after and after in "([{") or _CALL.match(value):
        return False
    if EXPRESSION.fullmatch(value) and not any(map(is_very_random, value.split("."))):
        return False
    if not WORD.fullmatch(value):
        return _can_be_secret(name, value)
    in_connection_string = _is_password(name) and after == ";" and before[-1:] in (";", " ")
    return (
        is_scrambled(value) or in_connection_string or _word_is_password(found, value, prefix, before, name)
    )


def _word_is_password(found: re.Match[str], value: str, prefix: str, before: str, name: str) -> bool:
    """Whether a bare word is a value. In code it is a variable."""
    if not _is_password(name) or SPEAKS_OF_ITSELF.search(value):
        return False
    if name == "secret" and "-" in value:
        return False  # the name of an object: `existingSecret: app-postgres`
    sep, after = found["sep"], found.string[found.start("bare") + len(value) :][:1]
    written = found.string[found.start() - len(name) : found.start()]
    line = before.rpartition("\n")[2].strip(" \t-\"'")
    is_yaml = ":" in sep and line == prefix.strip("-") and after in ("", "\n", "\r") and value.islower()
    return is_yaml or not sep.strip() or ("=" in sep and (prefix + written).isupper())


def _is_password(name: str) -> bool:
    return name.startswith("pass") or name in ("secret", "pwd", "psk")


def _can_be_secret(name: str, value: str) -> bool:
    """Whether a value can be a secret of this name."""
    if _is_password(name):
        return len(value) > 2 and not value.lower().startswith(("http:", "https:"))
    return is_random(value) and not (SPEAKS_OF_ITSELF.search(value) and is_plain(value))


def _is_basic_auth(value: str) -> bool:
    """Whether a value is random, or `user:password` in Base64 as Docker and npm store it."""
    if len(value) < 8:
        return False
    try:
        decoded = b64decode(value, validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return is_very_random(value)
    return ":" in decoded and decoded.isprintable()
