"""Finds secrets by their context: URLs, headers, cookies, commands, password files.

postgres://app:hunter2@db/main      Authorization: Bearer …      Cookie: sid=…
https://hooks.example.com/T0/B0/…   curl -u joe:hunter2          db:5432:main:app:hunter2
"""

import re
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from plimsoll.secrets.assigned import MARK
from plimsoll.secrets.value_checks import (
    is_not_secret,
    is_placeholder,
    is_plain,
    is_random,
    is_stated_password,
    is_very_random,
)

Found: TypeAlias = re.Match[str]


class ContextPattern(NamedTuple):
    """One pattern. It runs only if the text contains its gate, which several steps share, and one of its needles."""

    gate: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    replaced: Callable[[Found], str]
    whole: bool = False  # whether the secret may stand in another line than the needle

    def applied(self, text: str, lowered: str) -> str:
        """The text without the secrets of this pattern; the same object if there are none."""
        for needle in self.needles:
            if needle in lowered:
                found = self._whole(text) if self.whole else self._in_lines(text, lowered, needle)
                text, lowered = found, lowered if found is text else in_lower_case(found)
        return text

    def _whole(self, text: str) -> str:
        found, count = self.pattern.subn(self.replaced, text)
        return found if count else text

    def _in_lines(self, text: str, lowered: str, needle: str) -> str:
        """Searches only the lines with the needle, which is faster than a pattern that starts anywhere."""
        kept: list[str] = []
        done = 0
        at = lowered.find(needle)
        while at >= 0:
            start = text.rfind("\n", done, at) + 1 or done
            end = text.find("\n", at + len(needle))
            end = len(text) if end < 0 else end
            line = text[start:end]
            found = self.pattern.sub(self.replaced, line)
            if found != line:
                kept += [text[done:start], found]
                done = end
            at = lowered.find(needle, end)
        return "".join((*kept, text[done:])) if kept else text


_FLAGS = re.IGNORECASE
_URL = re.compile(
    r"://(?P<who>[^\s/@:\"'<>\[\]\\]{0,200}+:[^\s/\"'<>\[\],]{1,300}(?=@)|[^\s/@:\"'<>\[\]\\$]{16,300}+(?=@))"
)
_EXAMPLE_PASSWORDS = frozenset({"password", "pass", "pwd", "passwd", "secret", "token", "pw", "user"})
_HOOK = re.compile(r"://[^\s\"'<>`)\]\\]{20,}+", _FLAGS)
_HOOK_PATH = re.compile(r"hooks?\b|webhook", _FLAGS)
_HEADER = re.compile(
    r"\b(?P<name>(?:proxy-)?authorization)(?P<sep>\\{0,3}[\"']?[ \t]{0,8}[:=][ \t]{0,8}\\{0,3}[\"']?)"
    r"(?!digest[ \t])(?P<how>(?:bearer|basic|token|apikey|api-key|key|sso-key|genie[a-z]{0,8}|bot|splunk|ssws|oauth"
    r"|jwt|negotiate|ntlm)[ \t:=]{1,8})?"
    r"(?P<value>[A-Za-z0-9._~+/=:-]{6,}+)",
    _FLAGS,
)
_COOKIE = re.compile(
    r"\b(?P<name>(?:set-)?cookie2?(?P<sep>\\{0,3}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}[\"']?))"
    r"(?P<value>[\w.-]{1,80}+=[^\r\n\"'\\]{1,4000}+)",
    _FLAGS,
)
_PAIR = re.compile(r"(?P<name>[\w.-]{1,80}+=)(?P<value>[^;\s]{1,4000}+)")
_ATTRIBUTES = ("path=", "domain=", "expires=", "max-age=", "samesite=")
_SCHEME = re.compile(r"\b(?P<how>bearer|basic)(?P<sep>[ \t]{1,8})(?P<value>[A-Za-z0-9._~+/=-]{12,}+)", _FLAGS)
_PARAMETER = re.compile(
    r"(?P<before>[?&](?:key|appid|sig|signature|x-amz-signature|x-goog-signature)=)(?P<value>[A-Za-z0-9%._~+/=-]{16,}+)",
    _FLAGS,
)
_CODE = re.compile(r"(?P<before>[?&]code=)(?P<value>[A-Za-z0-9%._~+/=-]{16,}+)", _FLAGS)
_SIGNED = re.compile(
    r"(?P<before>\b(?:Signature=|response=\"))(?P<value>[0-9a-f]{32,64})\b"
)  # the headers of Amazon's signature 4 and of digest authentication
# Passwords as they are hashed in /etc/shadow, .htpasswd and databases.
_CRYPT = re.compile(
    r"(?P<before>)(?P<value>\$(?:1|2[abxy]|5|6|7|y|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[a-z0-9-]{0,12})"
    r"\$[./A-Za-z0-9$,=+-]{20,200}+)"
)
_COOKIE_FILE = re.compile(
    r"(?P<before>\t(?:TRUE|FALSE)\t[0-9]{1,12}\t[^\s]{1,80}\t)(?P<value>[^\s]{8,4000}+)"
)
_JWK = re.compile(
    r"(?P<before>\\{0,3}\"(?:d|p|q|dp|dq|qi|k)\\{0,3}\"\s{0,8}:\s{0,8}\\{0,3}\")(?P<value>[A-Za-z0-9_-]{20,}+)"
)
_PUTTY = re.compile(
    r"(?P<before>Private-Lines:[ \t]{0,4}+[0-9]{1,3}+)(?P<value>(?:\r?+\n[ \t]{0,8}+"
    r"(?:[0-9]{1,6}+[ \t]{0,2}+[:→|\t][ \t]{0,4}+)?+[+ -]?+[A-Za-z0-9+/]{16,}+={0,2}+)++)"
)
_PGPASS = re.compile(
    r"(?m)^(?P<before>[ \t]{0,8}(?:\d{1,6}[:→|\t][ \t]{0,2})?"
    r"(?:[A-Za-z0-9_.-]{1,100}|\*):(?:\d{4,5}|\*):[\w*.-]{1,60}:[\w*.@-]{1,60}:)"
    r"(?P<value>[^\s:][^\s]{2,200}+)$"
)
_TELEGRAM = re.compile(
    r"(?<![0-9A-Za-z_])(?P<before>(?:bot)?)(?P<value>[0-9]{8,10}:[A-Za-z0-9_-]{35})(?![A-Za-z0-9_-])"
)


def _url(found: Found) -> str:
    user, _, password = found["who"].rpartition(":")
    return found[0] if _is_no_password(password) and not is_very_random(user) else f"://{MARK}"


def _is_no_password(value: str) -> bool:
    """Whether the password of a URL is a placeholder, as in `postgres://user:password@host/db`."""
    return is_placeholder(value) or value.lower() in _EXAMPLE_PASSWORDS


def _hook(found: Found) -> str:
    """A webhook's URL is its secret: redact the path from its first random segment on."""
    address = found[0].partition("?")[0].rstrip(".,;:")
    start = address.find("/", len("://"))
    while start >= 0:
        end = address.find("/", start + 1)
        segment = address[start + 1 : end if end >= 0 else len(address)]
        if is_very_random(segment.partition("@")[0]) and _HOOK_PATH.search(address, 0, start + 1):
            return f"{address[: start + 1]}{MARK}{found[0][len(address) :]}"
        start = end
    return found[0]


def _header(found: Found) -> str:
    value = found["value"]
    if is_not_secret(value) or (not found["how"] and is_plain(value)):
        return found[0]
    return f"{found['name']}{found['sep']}{found['how'] or ''}{MARK}"


def _cookie(found: Found) -> str:
    return found["name"] + _PAIR.sub(_pair, found["value"])


def _pair(found: Found) -> str:
    value = found["value"]
    if found["name"].lower() in _ATTRIBUTES or not is_random(value) or is_placeholder(value):
        return found[0]
    return f"{found['name']}{MARK}"


def _scheme(found: Found) -> str:
    return f"{found['how']}{found['sep']}{MARK}" if is_random(found["value"]) else found[0]


def _random_only(found: Found) -> str:
    return f"{found['before']}{MARK}" if is_random(found["value"]) else found[0]


def _mixed_only(found: Found) -> str:
    value = found["value"]
    is_secret = is_stated_password(value) and not is_not_secret(value)
    return f"{found['before']}{found['quote']}{MARK}" if is_secret else found[0]


def in_lower_case(text: str) -> str:
    """The text in lower case, with the same length: other characters than ASCII become `?`."""
    return text.encode("ascii", "replace").decode("ascii").lower()


def _before(found: Found) -> str:
    return f"{found['before']}{MARK}"


def _command(found: Found) -> str:
    return found[0] if is_not_secret(found["value"]) else f"{found['before']}{found['quote']}{MARK}"


def _again(pattern: str) -> str:
    """The pattern, which also accepts a redacted value, so that the text after one is not taken for the value."""
    return pattern.replace("(?P<value>", r"(?P<value>\[redacted\]|")


@cache
def steps() -> tuple[ContextPattern, ...]:
    """The steps, in order; gates and needles are in lower case."""
    text = files("plimsoll.secrets").joinpath("commands.toml").read_text("utf-8")
    rows = tomllib.loads(text)["command"]
    commands = (
        ContextPattern(
            row["gate"],
            (row["hint"],) if isinstance(row["hint"], str) else tuple(row["hint"]),
            re.compile(_again(row["pattern"])),
            _mixed_only if row.get("mixed") else _command,
            row.get("whole", False),
        )
        for row in rows
    )
    return (
        ContextPattern("://", ("://",), _URL, _url),
        ContextPattern("://", ("hook",), _HOOK, _hook),
        ContextPattern("authorization", ("authorization",), _HEADER, _header),
        ContextPattern("cookie", ("cookie",), _COOKIE, _cookie),
        ContextPattern("bearer ", ("bearer ",), _SCHEME, _scheme),
        ContextPattern("basic ", ("basic ",), _SCHEME, _scheme),
        *commands,
        ContextPattern("key=", ("?key=", "&key="), _PARAMETER, _before),
        ContextPattern("://", ("?appid=", "&appid="), _PARAMETER, _before),
        ContextPattern("sig", ("sig=", "signature="), _PARAMETER, _before),
        ContextPattern("code=", ("?code=", "&code="), _CODE, _random_only),
        ContextPattern("authorization", ("signature=", "response="), _SIGNED, _before),
        ContextPattern("$", ("$",), _CRYPT, _before, True),
        ContextPattern("true\t", ("true\t",), _COOKIE_FILE, _random_only),
        ContextPattern("kty", ("kty",), _JWK, _before, True),
        ContextPattern("private-lines", ("private-lines",), _PUTTY, _before, True),
        ContextPattern(":5432:", (":5432:",), _PGPASS, _before),
        ContextPattern(":*:", (":*:",), _PGPASS, _before),
        ContextPattern(":aa", (":aa",), _TELEGRAM, _before),
    )
