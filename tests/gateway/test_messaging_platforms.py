"""A chat platform is its section and its adapter; nothing else names it."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

import pytest
from pydantic import Field

from plimsoll.errors import UserError
from plimsoll.gateway.messaging.accounts import configured
from plimsoll.gateway.messaging.adapter import Adapter, AllowList
from plimsoll.settings import messaging
from plimsoll.settings.gateway import GatewaySection
from plimsoll.settings.messaging import MessagingSections, PlatformSection


class PagerSection(PlatformSection):
    """Pager: a platform that only this test knows."""

    title = "Harbour pager"
    needs = ("relay", "token")
    server_field, places_field = "relay", "allowed_shifts"

    relay: str | None = None
    allowed_shifts: tuple[str, ...] = ()


class MorePlatforms(MessagingSections):
    """What a contributor would write into `MessagingSections`."""

    pager: PagerSection = Field(default_factory=PagerSection)


class PagerAdapter(Adapter):
    platform: ClassVar[str] = "pager"

    def __init__(self, server: str, token: str, allowed: AllowList) -> None:
        self.made_of = (server, token, allowed)

    async def connect(self) -> None: ...

    async def receive(self, position: str, wait: bool) -> Any: ...

    async def send(self, place: str, text: str, key: str) -> None: ...

    async def typing(self, place: str, on: bool) -> None: ...

    async def close(self) -> None: ...

    @staticmethod
    def size(text: str) -> int:
        return len(text)


class MoreGateway(MorePlatforms, GatewaySection):
    """The gateway's settings with the further platform."""


@pytest.mark.parametrize("name", MessagingSections.model_fields)
def test_every_platform_has_an_adapter_under_its_name(name: str) -> None:
    adapter = import_module(f"plimsoll.gateway.messaging.{name}").ADAPTER
    assert issubclass(adapter, Adapter)
    assert adapter.platform == name


def test_a_further_platform_takes_a_section_and_an_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("plimsoll.gateway.messaging.pager")
    module.ADAPTER = PagerAdapter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(messaging, "MessagingSections", MorePlatforms)
    pager = PagerSection(relay="https://pager.example.org", token="${PAGER}", allowed_shifts=("night",))
    section = MoreGateway(pager=pager)
    (adapter,) = configured(section, {"PAGER": "s3cret"})
    assert isinstance(adapter, PagerAdapter)
    assert adapter.made_of == (
        "https://pager.example.org",
        "s3cret",
        AllowList(frozenset(), frozenset({"night"})),
    )
    assert section.platforms["pager"].notice("pager") == "Harbour pager: answering everyone in 1 shift."
    closed = pager.model_copy(update={"allowed_shifts": ()})
    assert "gateway.pager.allowed_users and gateway.pager.allowed_shifts are empty" in closed.notice("pager")
    with pytest.raises(
        UserError, match=r"gateway\.pager\.relay is not set; Harbour pager needs relay and token\."
    ):
        configured(MoreGateway(pager=PagerSection(token="${PAGER}")), {})
