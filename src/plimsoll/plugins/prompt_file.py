"""`compression.prompt_file`: the user's additions to the prompt of the summary model."""

from pathlib import Path

from plimsoll.context.ledger import NOTHING_ADDED, CustomPrompt, read_custom_prompt
from plimsoll.errors import SettingError

SETTING = "compression.prompt_file"


def read_prompt_file(path: str | None) -> CustomPrompt:
    """The additions in the file; none if no file is set. Raises `SettingError` with the setting's name."""
    if path is None:
        return NOTHING_ADDED
    try:
        return read_custom_prompt(Path(path).expanduser().read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingError(f"{SETTING}: cannot read {path}: {reason}") from None
    except SettingError as error:
        raise SettingError(f"{SETTING}: cannot use {path}: {error}") from None


def prompt_file_problems(path: str | None) -> tuple[str, ...]:
    """The problems of the file, as sentences."""
    try:
        read_prompt_file(path)
    except SettingError as error:
        return (str(error),)
    return ()
