"""Recognises text that a program inserted into a user message: command echoes, reminders, interruptions.

<local-command-caveat>…</local-command-caveat>                          only a program's text
<command-name>/debug</command-name><command-args>it is slow, why?       the person said: it is slow, why?
fix the parser <system-reminder>…</system-reminder>                     the person said: fix the parser

`harness.toml` lists the tags and sentences that programs use.
"""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from plimsoll.messages.content import Message, text_of

# Slash-command arguments with at least this many words are a sentence; fewer are a setting (`/model opus`).
_MIN_WORDS = 4
_ARGUMENTS = re.compile(r"<command-args>(?P<said>.*?)(?:</command-args>|\Z)", re.DOTALL)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


class _Patterns(NamedTuple):
    """The compiled patterns of the data file."""

    blocks: re.Pattern[str]
    hints: tuple[str, ...]
    openings: re.Pattern[str]


def is_harness_text(message: Message) -> bool:
    """Whether a user message contains only a program's text: command echoes, reminders, interruptions."""
    if message.get("name") == "meta":
        return True
    text = text_of(message).strip()
    return bool(text) and not _own_text(text)


def without_harness_text(message: Message) -> str:
    """The text that a person wrote in a user message; empty if a program wrote all of it."""
    return "" if message.get("name") == "meta" else _own_text(text_of(message).strip())


def _own_text(text: str) -> str:
    patterns = _patterns()
    if patterns.openings.match(text):
        return ""
    if "<" not in text and not any(hint in text for hint in patterns.hints):
        return text
    return patterns.blocks.sub("", _ARGUMENTS.sub(_arguments, text)).strip()


def _arguments(found: re.Match[str]) -> str:
    text = found["said"].strip()
    return text if len(text.split()) >= _MIN_WORDS or len(_UNSPACED.findall(text)) >= _MIN_WORDS else ""


@cache
def _patterns() -> _Patterns:
    data = tomllib.loads(files("plimsoll.messages").joinpath("harness.toml").read_text("utf-8"))
    tags = "|".join(re.sub("[-_]", "[-_]", tag) for tag in data["tags"])
    # The closing tag of a name with a space repeats the whole name.
    block = rf"<(?P<tag>{tags})(?:\s[^>]*)?>.*?(?:</(?P=tag)>|\Z)"
    pieces = "|".join(f"(?:{piece})" for piece in data["pieces"])
    openings = "|".join(f"(?:{opening})" for opening in data["openings"])
    return _Patterns(
        re.compile(f"{block}|{pieces}", re.DOTALL | re.MULTILINE), tuple(data["hints"]), re.compile(openings)
    )
