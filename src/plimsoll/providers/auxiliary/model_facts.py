"""Facts about models as summary models, from `auxiliary.toml`.

The file is parsed on first use and cached; importing this module reads nothing.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class ThinkingOptions:
    """How to ask a model that thinks before it answers."""

    effort: str
    room: int  # output tokens for thinking, in addition to the answer


def thinks(model: str) -> ThinkingOptions | None:
    """How to ask a model that always thinks first; None for one that does not."""
    facts = _facts()["thinking"]
    return (
        ThinkingOptions(facts["effort"], facts["room"]) if re.search(facts["names"], model.lower()) else None
    )


@cache
def _facts() -> dict[str, Any]:
    text = files("plimsoll.providers.auxiliary").joinpath("auxiliary.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
