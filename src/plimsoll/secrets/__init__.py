"""Detects secrets: in text, in names and values of settings, and known values."""

from plimsoll.secrets.assigned import MARK
from plimsoll.secrets.known_values import MASK, masked, without_values, without_whole_keys, written_forms
from plimsoll.secrets.names import is_secret_name, is_secret_parameter, is_secret_value
from plimsoll.secrets.redact import redact

__all__ = [
    "MARK",
    "MASK",
    "is_secret_name",
    "is_secret_parameter",
    "is_secret_value",
    "masked",
    "redact",
    "without_values",
    "without_whole_keys",
    "written_forms",
]
