"""The user's additions to the prompt of the summary model: instructions, and headings after the nine.

    Write in British English.

    ## Deployment
    which environments run which version, and what is being rolled out

Text before the first heading is added to the rules. Each `##` heading becomes a heading of the summary, and the text
under it is the model's instruction for it.
"""

import re
from dataclasses import dataclass

from plimsoll.context.ledger.template import HEADING_TITLE, SummarySection, is_reserved
from plimsoll.errors import SettingError

MAX_CHARACTERS = 8_000  # about 2,000 tokens, which every summary request pays for
MAX_HEADINGS = 8
_HEADING = re.compile(r"^##\s+(?P<title>.*\S)\s*$")
_LAST = 99  # standard headings keep their lines first


@dataclass(frozen=True, slots=True)
class CustomPrompt:
    """Additions to the summary prompt."""

    instructions: str = ""
    sections: tuple[SummarySection, ...] = ()

    @property
    def titles(self) -> tuple[str, ...]:
        """The added headings."""
        return tuple(section.title for section in self.sections)


NOTHING_ADDED = CustomPrompt()


def read_custom_prompt(text: str) -> CustomPrompt:
    """The additions in a file. Raises `SettingError` if they are invalid."""
    if len(text) > MAX_CHARACTERS:
        raise SettingError(f"it has {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed")
    instructions: list[str] = []
    requested: dict[str, list[str]] = {}
    current = instructions
    for line in text.splitlines():
        match = _HEADING.match(line)
        if match:
            title = match["title"]
            _check_title(title, requested)
            current = requested.setdefault(title, [])
        else:
            current.append(line)
    if len(requested) > MAX_HEADINGS:
        raise SettingError(f"it adds {len(requested)} headings; at most {MAX_HEADINGS} are allowed")
    empty = [title for title, lines in requested.items() if not "".join(lines).strip()]
    if empty:
        raise SettingError(
            f"'## {empty[0]}' has no text under it that says what the model should write there"
        )
    sections = tuple(
        SummarySection(title, " ".join(" ".join(lines).split()), _LAST) for title, lines in requested.items()
    )
    return CustomPrompt("\n".join(instructions).strip(), sections)


def _check_title(title: str, known: dict[str, list[str]]) -> None:
    if not HEADING_TITLE.fullmatch(title):
        raise SettingError(f"'## {title}' is not a valid heading for a summary: use letters, spaces and &")
    if is_reserved(title):
        raise SettingError(f"'## {title}' is one of the standard headings; choose another name")
    if title.casefold() in (item.casefold() for item in known):
        raise SettingError(f"'## {title}' appears twice")
