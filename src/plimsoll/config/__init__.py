"""Configuration: YAML, environment and flags in, checked settings out, each value knowing its source."""

from plimsoll.config.edit import set_value
from plimsoll.config.load import (
    BUILT_IN_ENGINES,
    FILE_NAME,
    Loaded,
    Report,
    check_settings,
    current_key,
    find_setting,
    load_settings,
    plimsoll_home,
)
from plimsoll.config.scalars import read_text, scalar_text, told, without_secrets
from plimsoll.config.schema import Setting, Settings, all_keys, setting_at
from plimsoll.config.sources import Given, Problem, Source

__all__ = [
    "BUILT_IN_ENGINES",
    "FILE_NAME",
    "Given",
    "Loaded",
    "Problem",
    "Report",
    "Setting",
    "Settings",
    "Source",
    "all_keys",
    "check_settings",
    "current_key",
    "find_setting",
    "load_settings",
    "plimsoll_home",
    "read_text",
    "scalar_text",
    "set_value",
    "setting_at",
    "told",
    "without_secrets",
]
