"""Settings of the messaging platforms that the gateway serves.

    gateway:
      matrix:
        homeserver: https://matrix.example.org
        token: "${MATRIX_TOKEN}"
        allowed_users: ["@ada:example.org"]
      telegram:
        token: "${TELEGRAM_TOKEN}"
        allowed_users: ["112233", "@ada"]

A token names an environment variable and is never the secret itself. Only listed users get answers, because everyone
who gets answers can use the tools.
"""

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, JsonValue
from pydantic_core import PydanticCustomError

from plimsoll.settings.section import Section

_VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_USER = re.compile(r"@[^:\s]+:\S+")
_ROOM = re.compile(r"!\S+")
_PERSON = re.compile(r"\d+|@[A-Za-z0-9_]{3,}")
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


class PlatformSection(Section):
    """The settings of every messaging platform: an account on a server, and who gets answers there.

    The adapter is `ADAPTER` in the module of `gateway/messaging` that has the platform's name.
    """

    title: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]  # settings without which the platform is off
    server_field: ClassVar[str]
    places_field: ClassVar[str]  # the setting with places where everyone gets answers: allowed_rooms
    package: ClassVar[tuple[str, str, str] | None] = None  # module, name on PyPI, extra of Plimsoll

    token: Token = Field(
        default=None,
        description="Environment variable with the account's access token.",
        json_schema_extra=_TOKEN,
    )
    allowed_users: Sequence[str] = Field(default=[])

    @property
    def server(self) -> str:
        """The address of the platform's server."""
        return str(getattr(self, self.server_field))

    @property
    def places(self) -> Sequence[str]:
        """The places where everyone gets answers."""
        found: Sequence[str] = getattr(self, self.places_field)
        return found

    @property
    def missing(self) -> list[str]:
        """The required settings that are not set."""
        return [name for name in self.needs if getattr(self, name) is None]

    def notice(self, name: str) -> str:
        """Who gets answers on the platform of this name, or that nobody does; empty if it is not configured."""
        if self.missing:
            return ""
        place = self.places_field.removeprefix("allowed_").removesuffix("s")
        parts = []
        if people := len(self.allowed_users):
            parts.append(f"{people} {'people' if people > 1 else 'person'}")
        if places := len(self.places):
            parts.append(f"everyone in {places} {place}{'s' if places > 1 else ''}")
        nobody = (
            f"NOBODY, because gateway.{name}.allowed_users and gateway.{name}.{self.places_field} are empty"
        )
        return f"{self.title}: answering {' and '.join(parts) or nobody}."


class MatrixSection(PlatformSection):
    """Matrix (extra `matrix`). Plimsoll answers as an account on a homeserver once homeserver and token are set."""

    title = "Matrix"
    needs = ("homeserver", "token")
    server_field, places_field = "homeserver", "allowed_rooms"
    package = ("nio", "matrix-nio", "matrix")

    homeserver: Server | None = Field(
        default=None,
        description="Address of the account's homeserver.",
        json_schema_extra={"allowed": "an http:// or https:// address, or null"},
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


class TelegramSection(PlatformSection):
    """Telegram. Plimsoll answers as a bot once token is set."""

    title = "Telegram"
    needs = ("token",)
    server_field, places_field = "base_url", "allowed_chats"

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


class MessagingSections(Section):
    """All messaging platforms. A new one needs its section, a line here, and its adapter."""

    matrix: MatrixSection = Field(default_factory=MatrixSection)
    telegram: TelegramSection = Field(default_factory=TelegramSection)

    @property
    def platforms(self) -> dict[str, PlatformSection]:
        """All platforms by name."""
        return {name: getattr(self, name) for name in MessagingSections.model_fields}
