"""Whether a setting, an environment variable or a URL parameter contains a secret."""

import re

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:api_?keys?|keys?|(?:access_?|auth_?)?token|secrets?|passw(?:or)?d|passphrase|pass|pwd|credentials?"
    r"|authorization|bearer|secret_key_base)$"
)
# Environment variables are also written without a separator: APIKEY, PGPASSWORD.
_SECRET_VARIABLE = re.compile(
    r"(?:key|token|secret|passw(?:or)?d|credential|passphrase)s?$|_(?:pass|pwd|pat|key_base)$", re.IGNORECASE
)
_SECRET_PARAMETERS = frozenset({"key", "api_key", "apikey", "api-key", "token", "access_token", "secret"})
_SECRET_VALUE = re.compile(
    r"(?:^|\W)(?:(?:sk|pk|rk|ghp|gho|hf|plim|xox[abp])[-_]|AIza|AKIA)[-\w]{8,}|bearer\s", re.IGNORECASE
)
_SECRET_URL = re.compile(r"://[^/\s]*@|[?&](?:api[-_]?key|key|token|access_token|secret)=", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether a name marks its value as a secret (`api_key`, `apiKey`, `DB_PASS`, `auth-token`)."""
    snake = _CAMEL.sub("_", name).replace("-", "_").lower()
    return _SECRET_NAME.search(snake) is not None


def is_secret_variable(name: str) -> bool:
    """Whether the name of an environment variable marks its value as a secret."""
    return _SECRET_VARIABLE.search(name) is not None


def is_secret_parameter(name: str) -> bool:
    """Whether a URL parameter contains a secret."""
    return name.lower() in _SECRET_PARAMETERS


def is_secret_value(text: str) -> bool:
    """Whether a single value looks like a key, or is a URL that contains one."""
    return bool(_SECRET_VALUE.search(text) or _SECRET_URL.search(text))
