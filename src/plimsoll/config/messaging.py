"""Settings of the chat platforms that the gateway serves.

    gateway:
      matrix:
        homeserver: https://matrix.example.org
        token: "${MATRIX_TOKEN}"
        allowed_users: ["@ada:example.org"]
      telegram:
        token: "${TELEGRAM_TOKEN}"
        allowed_users: ["112233", "@ada"]

A token names an environment variable and is never the secret itself. Only listed people get
answers, because everyone who gets answers can use the tools.
"""

import re
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, JsonValue
from pydantic_core import PydanticCustomError

from plimsoll.sections import Section

_VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_USER = re.compile(r"@[^:\s]+:\S+")
_ROOM = re.compile(r"!\S+")
_PERSON = re.compile(r"\d+|@[A-Za-z0-9_]{3,}")
_NOBODY = "NOBODY, because gateway.{}.allowed_users and gateway.{} are empty"
_CHAT = re.compile(r"-?\d+")


def _token(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise PydanticCustomError(
            "endpoint", "it must be ${NAME}, with the secret in that environment variable"
        )
    return value


def _server(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.username is not None or parts.query:
        raise PydanticCustomError("endpoint", "it must be an http:// or https:// address, without a password")
    return value.rstrip("/")


def _like(pattern: re.Pattern[str], form: str) -> AfterValidator:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise PydanticCustomError("endpoint", "it must be {form}", {"form": form})
        return value

    return AfterValidator(check)


Token = Annotated[str, AfterValidator(_token)] | None
Server = Annotated[str, AfterValidator(_server)]
_TOKEN: dict[str, JsonValue] = {"allowed": "${NAME}, or null", "private": True}


def _answered(people: Sequence[str], places: Sequence[str], place: str) -> str:
    """Who gets answers, as a phrase for the startup notice."""
    parts = []
    if people:
        parts.append(f"{len(people)} {'people' if len(people) > 1 else 'person'}")
    if places:
        parts.append(f"everyone in {len(places)} {place}{'s' if len(places) > 1 else ''}")
    return " and ".join(parts)


class MatrixSection(Section):
    """Matrix (extra `matrix`). Plimsoll answers as an account on a homeserver once homeserver and token are set."""

    homeserver: Server | None = Field(
        default=None,
        description="Address of the account's homeserver.",
        json_schema_extra={"allowed": "an http:// or https:// address, or null"},
    )
    token: Token = Field(
        default=None,
        description="Environment variable with the account's access token.",
        json_schema_extra=_TOKEN,
    )
    allowed_users: Sequence[Annotated[str, _like(_USER, "@name:server")]] = Field(
        default=[],
        description="People who get answers in any room. Plimsoll accepts their invitations.",
        json_schema_extra={"allowed": "a list of accounts such as @ada:example.org"},
    )
    allowed_rooms: Sequence[Annotated[str, _like(_ROOM, "!id:server")]] = Field(
        default=[],
        description="Rooms in which everyone gets answers.",
        json_schema_extra={"allowed": "a list of room ids such as !abc:example.org"},
    )

    @property
    def notice(self) -> str:
        """Who gets answers, or that nobody does; empty if Matrix is not configured."""
        if self.homeserver is None or self.token is None:
            return ""
        answered = _answered(self.allowed_users, self.allowed_rooms, "room")
        return f"Matrix: answering {answered or _NOBODY.format('matrix', 'matrix.allowed_rooms')}."


class TelegramSection(Section):
    """Telegram. Plimsoll answers as a bot once token is set."""

    base_url: Server = Field(
        default="https://api.telegram.org",
        description="Address of the Bot API.",
        json_schema_extra={"allowed": "an http:// or https:// address"},
    )
    token: Token = Field(
        default=None,
        description="Environment variable with the bot's token.",
        json_schema_extra=_TOKEN,
    )
    allowed_users: Sequence[Annotated[str, _like(_PERSON, 'a number in quotes or "@name"')]] = Field(
        default=[],
        description="People who get answers in any chat. Prefer numbers: names can change owners.",
        json_schema_extra={"allowed": 'a list of numbers in quotes, or names such as "@ada"'},
    )
    allowed_chats: Sequence[Annotated[str, _like(_CHAT, "a number in quotes")]] = Field(
        default=[],
        description="Chats in which everyone gets answers.",
        json_schema_extra={"allowed": "a list of numbers in quotes"},
    )

    @property
    def notice(self) -> str:
        """Who gets answers, or that nobody does; empty if Telegram is not configured."""
        if self.token is None:
            return ""
        answered = _answered(self.allowed_users, self.allowed_chats, "chat")
        return f"Telegram: answering {answered or _NOBODY.format('telegram', 'telegram.allowed_chats')}."
