"""Secrets are taken out of whatever goes to a summary model, and out of every summary.

    OPENAI_API_KEY=sk-proj-4f…        ->  OPENAI_API_KEY=[redacted]
    postgres://app:hunter2@db/main    ->  postgres://[redacted]@db/main
    "password": "hunter2"             ->  "password": "[redacted]"

The name of a thing stays, its value goes. What merely looks long (a hash, an id, a
path, a number) stays, and so does a name whose value is a placeholder, a type or an
expression. Doing it twice changes nothing, and the work grows with the text: every
repetition is bounded or gives nothing back, and none starts inside what it matched.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

MARK = "[redacted]"
Found: TypeAlias = re.Match[str]

_FLAGS = re.IGNORECASE
# What cannot stand before a key: more of the same word. A match therefore starts where a word starts.
_START = r"(?<![A-Za-z0-9_-])"
_SHAPES = re.compile(
    _START
    + r"(?:"
    + "|".join(
        (
            r"sk-(?:ant|proj|or|svcacct|admin|live|test)-[A-Za-z0-9_-]{8,}+",
            r"sk-(?=(?:[A-Za-z_-]{0,64}+[0-9]){2}|[a-z0-9_-]{0,64}+[A-Z])[A-Za-z0-9_-]{16,}+",
            r"(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{20,}+",
            r"gh[pousr]_[A-Za-z0-9]{20,}+",
            r"github_pat_[A-Za-z0-9_]{20,}+",
            r"gl(?:pat|ptt|dt|rt|cbt|oas|ft|agent)-[A-Za-z0-9_-]{16,}+",
            r"xox[abeoprs]-[A-Za-z0-9-]{10,}+",
            r"xapp-[0-9]-[A-Za-z0-9-]{10,}+",
            r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
            r"AIza[A-Za-z0-9_-]{30,}+",
            r"ya29\.[A-Za-z0-9_-]{20,}+",
            r"(?:hf|npm|r8)_[A-Za-z0-9]{30,}+",
            r"(?:gsk|dop_v1|shpat|dckr_pat|lin_api|secret_live|nvapi|xai|pplx|tvly|pypi)[_-][A-Za-z0-9_-]{24,}+",
            r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+",
            r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+",
            r"eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?",
        )
    )
    + r")"
)
_SHAPE_NEEDLES = (
    "sk-", "sk_", "rk_", "pk_", "whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat", "glptt",
    "gldt", "glrt", "glcbt", "gloas", "glft", "glagent", "xox", "xapp-", "akia", "asia", "abia", "acca", "aiza",
    "ya29.", "hf_", "npm_", "r8_", "gsk", "dop_v1", "shpat", "dckr_pat", "lin_api", "secret_live", "nvapi", "xai-",
    "pplx", "tvly", "pypi-", "sg.", "age-secret-key", "eyj",
)  # fmt: skip
_PEM = re.compile(
    r"(?P<begin>-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)"
    r"(?P<body>(?:[A-Za-z0-9+/=\s:,.\"]|\\{1,3}[nr]|-(?!-))*+)"
    r"(?P<end>-----END )?"
)
_PEM_LINES = re.compile(r"(?:\s|\\{1,3}[nr]|[A-Za-z0-9+/=]{24,}+)*+[A-Za-z0-9+/=]{0,23}+")
_PEM_LINE = re.compile(r"[A-Za-z0-9+/=]{24}")
_URL = re.compile(
    r"://(?P<who>[^\s/@:\"'<>\[\]\\]{0,200}+:[^\s/\"'<>\[\],]{1,300}(?=@)|[^\s/@:\"'<>\[\]\\$]{16,300}+(?=@))"
)
_HEADER = re.compile(
    r"\b(?P<name>(?:proxy-)?authorization|x-(?:api|auth)-(?:key|token)|x-goog-api-key|x-amz-security-token"
    r"|private-token)(?P<sep>\\{0,3}[\"']?[ \t]{0,8}[:=][ \t]{0,8}\\{0,3}[\"']?)"
    r"(?P<how>(?:bearer|basic|token|digest|apikey)[ \t]{1,8})?(?P<value>[A-Za-z0-9._~+/=:-]{6,}+)",
    _FLAGS,
)
_SCHEME = re.compile(r"\b(?P<how>bearer|basic)(?P<sep>[ \t]{1,8})(?P<value>[A-Za-z0-9._~+/=-]{12,}+)", _FLAGS)
_CURL = re.compile(
    r"\b(?P<before>(?:curl|wget|http|https)\b[^\n]{0,300}?[ \t](?:-u|--user)[ =]{0,2}[\"']?[^\s:\"'$]{1,100}:)"
    r"(?P<value>[^\s\"'$\[]{1,200}+)"
)
_PARAMETER = re.compile(
    r"(?P<before>[?&](?:key|sig|signature|x-amz-signature)=)[A-Za-z0-9%._~+/=-]{16,}+", _FLAGS
)
# What a name ends in when its value is secret. `tokens`, `token_count`, `password_reset` end otherwise.
_NAMES = (
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "credential",
    "credentials",
    "key",
)
_KEY_OF = re.compile(
    r"(?:api|access|private|secret|auth|account|shared|encryption|signing|master)[_ -]?(?:access[_-]?)?\Z",
    _FLAGS,
)
_VALUE = re.compile(
    r"(?P<close>\\{0,3}[\"'])?(?P<sep>[ \t]{0,8}(?:=>|:=|[:=](?!=))[ \t]{0,8}|[ \t]{1,4})"
    r"(?:(?P<escaped>\\{1,3}[\"'])(?P<inner>[^\"'\\\n]{1,400})"
    r"|\"(?P<double>(?:[^\"\\\n]|\\.){1,400}+)(?=\")|'(?P<single>(?:[^'\\\n]|\\.){1,400}+)(?=')"
    r"|(?P<bare>[^\s\"'`,;&(){}\[\]<>|\\]{3,400}+))"
)
_ODBC = re.compile(r"(?P<before>;[ \t]{0,4}pwd[ \t]{0,4}=[ \t]{0,4})(?P<value>[^;\s\"'\[$]{1,200}+)", _FLAGS)

_REACH = 60  # characters before a name that are looked at
_IN_NAMES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_OPTION = re.compile(r"(?:^|\s)--?[A-Za-z-]*\Z")
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]*)*|[A-Za-z]:[/\\].*|[a-z][a-z0-9+.-]*://.*")
_EXPRESSION = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)+")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_WORD = re.compile(r"[A-Za-z_-]+")
_SPEAKS_OF_ITSELF = re.compile(r"pass(?:word|wd|phrase)|token|secret|key|credential", _FLAGS)
# Placeholders, templates, expressions and what somebody has masked already.
_PLACEHOLDER = re.compile(
    r"[$%<{*•…(\[!@].*|\.{2,}.*|[xX*.•-]+|.*(?:\$\{|\{\{|%\(|<[a-z]|\[redacted|\*\*\*).*"
    r"|(?:your|my|the|some|change|replace|example|dummy|placeholder)[-_ ].*",
    re.DOTALL | _FLAGS,
)
# Types and states that stand where a value could.
_NO_VALUES = {
    "str", "string", "text", "bytes", "bool", "boolean", "int", "integer", "number", "float", "any", "object", "none",
    "null", "nil", "undefined", "true", "false", "required", "optional", "unknown", "missing", "invalid", "expired",
    "empty", "default", "auto", "basic", "bearer", "jwt", "oauth", "oauth2", "hidden", "password", "token", "secret",
    "key", "yes", "no", "changed", "reset", "self", "this", "new", "await", "return", "type", "env", "not",
}  # fmt: skip
# Tokens of grammars, vocabularies and pages are no secrets.
_OWNERS = (
    "pad|eos|bos|unk|sep|cls|mask|stop|start|end|begin|eot|next|prev|page|special|first|last|current|peek|input|output"
    "|prompt|max|min|num|public|primary|foreign|sort|partition"
)
_CAMEL = "|".join(owner.capitalize() for owner in _OWNERS.split("|"))
_HARMLESS = re.compile(rf"(?:(?:\A|[_.-])(?:{_OWNERS}|{_OWNERS.upper()})[_.-]?|(?:{_CAMEL}))\Z")


def redact(text: str) -> str:
    """The text with every secret replaced by `[redacted]`; the text itself where there is none."""
    lowered = _lowered(text)
    for needles, pattern, replaced in _STEPS:
        if any(needle in lowered for needle in needles):
            text, count = pattern.subn(replaced, text)
            lowered = _lowered(text) if count else lowered
    return _without_assigned(text, lowered)


def _lowered(text: str) -> str:
    """The text in lower case, of the same length whatever it holds."""
    return text.encode("ascii", "replace").decode("ascii").lower()


def _without_assigned(text: str, lowered: str) -> str:
    """The text without the values of names that promise a secret."""
    kept: list[str] = []
    done = 0
    for start, name in _names_in(lowered):
        found = _VALUE.match(text, start + len(name)) if start >= done else None
        group = _secret_in(found, text[max(0, start - _REACH) : start], name) if found else None
        if found and group:
            kept += [text[done : found.start(group)], MARK]
            done = found.end(group)
    return "".join((*kept, text[done:])) if kept else text


def _names_in(lowered: str) -> list[tuple[int, str]]:
    """Where names end that may promise a secret, in order."""
    places: list[tuple[int, str]] = []
    for name in _NAMES:
        at = lowered.find(name)
        while at >= 0:
            places.append((at, name))
            at = lowered.find(name, at + len(name))
    return sorted(places)


def _secret_in(found: Found, before: str, name: str) -> str | None:
    """The group of the match that holds a secret; None where none does."""
    if name == "key" and not _KEY_OF.search(before[-20:]):
        return None
    prefix = before[len(before.rstrip(_IN_NAMES)) :]
    group = next(name for name in ("inner", "double", "single", "bare") if found[name] is not None)
    value = found[group]
    if not found["sep"].strip() and not (_OPTION.search(before) and not value.startswith("-")):
        return None
    if _is_no_value(value) or (not _is_password(name) and _HARMLESS.search(prefix[-12:])):
        return None
    if group != "bare":
        return group if _quoted_is_secret(name, value) else None
    return group if _bare_is_secret(found, prefix, before, name) else None


def _pem(found: Found) -> str:
    body = found["body"]
    if not _PEM_LINE.search(body):
        return found[0]
    if found["end"]:
        return f"{found['begin']}{MARK}{found['end']}"
    # Cut off: what looks like the key goes, what follows it stays.
    lines = _PEM_LINES.match(body)
    return f"{found['begin']}{MARK}{body[lines.end() if lines else 0 :]}"


def _url(found: Found) -> str:
    return found[0] if _PLACEHOLDER.fullmatch(found["who"].rpartition(":")[2]) else f"://{MARK}"


def _header(found: Found) -> str:
    value = found["value"]
    if value.lower() in _NO_VALUES or (not found["how"] and _is_plain(value)):
        return found[0]
    return f"{found['name']}{found['sep']}{found['how'] or ''}{MARK}"


def _scheme(found: Found) -> str:
    return f"{found['how']}{found['sep']}{MARK}" if _is_random(found["value"]) else found[0]


def _before(found: Found) -> str:
    return f"{found['before']}{MARK}"


def _curl(found: Found) -> str:
    return found[0] if found["value"].isdecimal() else _before(found)


def _quoted_is_secret(name: str, value: str) -> bool:
    if any(character.isspace() for character in value):
        return name == "passphrase"
    return _is_worth(name, value)


def _bare_is_secret(found: Found, prefix: str, before: str, name: str) -> bool:
    value, sep = found["bare"], found["sep"]
    after = found.string[found.end() : found.end() + 1]
    if (after and after in "([{") or _EXPRESSION.fullmatch(value):
        return False
    if not _WORD.fullmatch(value):
        return _is_worth(name, value)
    # A bare word is a variable in code; it is a value in an environment file, after an option, on a line of YAML.
    if not _is_password(name) or _SPEAKS_OF_ITSELF.search(value):
        return False
    written = found.string[found.start() - len(name) : found.start()]
    line = before.rpartition("\n")[2].strip(" \t-\"'")
    is_yaml = ":" in sep and line == prefix.strip("-") and after in ("", "\n", "\r") and value.islower()
    return is_yaml or not sep.strip() or ("=" in sep and (prefix + written).isupper())


def _is_password(name: str) -> bool:
    return name.startswith("pass") or name == "secret"


def _is_worth(name: str, value: str) -> bool:
    """Whether a value can be the secret that its name promises."""
    if _is_password(name):
        return not value.lower().startswith(("http:", "https:"))
    return _is_random(value) and not (_SPEAKS_OF_ITSELF.search(value) and _is_plain(value))


def _is_random(value: str) -> bool:
    """Whether a value is longer than a word and mixed as no word is."""
    if len(value) < 8 or value.replace(".", "").replace(",", "").isdecimal():
        return False
    has_digit = any(character.isdigit() for character in value)
    mixed = value.lower() != value and value.upper() != value
    return has_digit or (mixed and len(value) >= 16 and not value.isalpha()) or len(value) >= 40


def _is_plain(value: str) -> bool:
    """Whether a value is made of words: letters, with dashes or underscores between, a digit or two at the end."""
    return bool(_WORD.fullmatch(value.rstrip("0123456789")))


def _is_no_value(value: str) -> bool:
    stripped = value.rstrip(".,;:")
    return (
        not stripped
        or stripped.lower() in _NO_VALUES
        or bool(_PLACEHOLDER.fullmatch(value))
        or bool(_CONSTANT.fullmatch(stripped))
        or bool(_PATH.fullmatch(stripped))
    )


# A pattern is tried where one of its needles, in lower case, occurs: looking for those is much cheaper.
_STEPS: tuple[tuple[tuple[str, ...], re.Pattern[str], Callable[[Found], str] | str], ...] = (
    (("-----begin ",), _PEM, _pem),
    (("://",), _URL, _url),
    (("authorization", "x-api-", "x-auth-", "x-goog-", "x-amz-", "private-token"), _HEADER, _header),
    (("bearer", "basic"), _SCHEME, _scheme),
    (("curl ", "wget ", "http ", "https "), _CURL, _curl),
    (("key=", "sig=", "signature="), _PARAMETER, _before),
    (("pwd",), _ODBC, _before),
    (_SHAPE_NEEDLES, _SHAPES, MARK),
)
PATTERNS = (*(pattern for _, pattern, _ in _STEPS), _VALUE)
