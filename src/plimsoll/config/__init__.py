"""Configuration: validated settings from YAML, environment and flags, each with its source."""

from plimsoll.config.edit import set_value
from plimsoll.config.load import (
    BUILT_IN_ENGINES,
    FILE_NAME,
    ConfigReport,
    LoadedSettings,
    check_settings,
    current_key,
    find_setting,
    load_settings,
    plimsoll_home,
)
from plimsoll.config.scalars import error_value, read_text, scalar_text, without_secrets
from plimsoll.config.schema import Setting, Settings, all_keys, setting_at
from plimsoll.config.values import ConfigProblem, GivenValue, ValueSource

__all__ = [
    "BUILT_IN_ENGINES",
    "FILE_NAME",
    "ConfigProblem",
    "ConfigReport",
    "GivenValue",
    "LoadedSettings",
    "Setting",
    "Settings",
    "ValueSource",
    "all_keys",
    "check_settings",
    "current_key",
    "error_value",
    "find_setting",
    "load_settings",
    "plimsoll_home",
    "read_text",
    "scalar_text",
    "set_value",
    "setting_at",
    "without_secrets",
]
