"""Images and documents stay within the limits of the upstream, on every dialect."""

import base64
import random
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from clients import http
from gateway_server import RunningGateway, settings_for

from plimsoll.config import Settings
from plimsoll.dialects import ChatRequest, Dialect, dialect_named, dialects
from plimsoll.messages import Message, media_of, text_of
from plimsoll.models.media import payload_of
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer, say

NAMES = tuple(dialect.name for dialect in dialects())
MODELS = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}
WIDE = "claude-opus-4-6"  # its window is so large that the images alone do not fill it
IMAGES = 20
NOISE = base64.b64encode(random.Random(7).randbytes(500_000)).decode()


def screenshot(number: int, size: int) -> dict[str, Any]:
    """An image of 1280 x 720 whose data differs from every other."""
    header = struct.pack(">II5B", 1_280, 720, 8, 2, 0, 0, 0)
    raw = (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", number) + b"\0\0"
    )
    data = base64.b64encode(raw).decode() + NOISE[: size - size % 4]
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def document(number: int, size: int) -> dict[str, Any]:
    """A PDF of one page."""
    data = base64.b64encode(f"%PDF-1.4\n1 0 obj<</Type /Page>>endobj {number:04}".encode()).decode()
    return {
        "type": "file",
        "file": {
            "filename": f"report-{number}.pdf",
            "file_data": f"data:application/pdf;base64,{data}{NOISE[: size - size % 4]}",
        },
    }


def turn(number: int, size: int) -> Message:
    """A user's message with a screenshot; every twelfth has a document too."""
    parts = [{"type": "text", "text": f"Step {number}."}, screenshot(number, size)]
    if number % 12 == 11:
        parts.append(document(number, size))
    return {"role": "user", "content": parts}


class MediaClient:
    """A client that keeps its whole conversation and sends all of it each time."""

    def __init__(self, gateway: RunningGateway, name: str, model: str = "") -> None:
        self.dialect: Dialect = dialect_named(name)
        self.model = model or MODELS.get(name, "gpt-4.1")
        self.gateway, self.messages = gateway, list[Message]()

    def see(self, message: Message) -> None:
        """A turn of the past, with its reply."""
        self.messages += [message, {"role": "assistant", "content": "Seen."}]

    def ask(self, message: Message) -> httpx.Response:
        """One more turn."""
        self.messages.append(message)
        request = ChatRequest(self.model, tuple(self.messages), max_tokens=50)
        url = self.dialect.url(self.dialect.local_url(self.gateway.url), self.model, False)
        own = {"anthropic-version": "2023-06-01"} if self.dialect.needs_limit else {}
        name, value = self.dialect.auth("key")
        response = http().post(
            url, json=self.dialect.encode_request(request), headers={name: value, **own}, timeout=120
        )
        assert response.status_code == 200, response.text[:500]
        self.messages.append({"role": "assistant", "content": "Seen."})
        return response


def data_of(message: Message) -> list[str]:
    """The data of the images and documents in a message."""
    return [payload_of(part)[0] for part in media_of(message)]


def media_in(seen: CapturedRequest) -> list[str]:
    """The same of a whole request."""
    assert seen.request is not None
    return [data for message in seen.request.messages for data in data_of(message)]


def said_in(seen: CapturedRequest) -> list[str]:
    assert seen.request is not None
    return [text_of(message) for message in seen.request.messages]


def limited(name: str, server: ScriptedServer, **media: int) -> Settings:
    """Settings with other limits for the model of a dialect."""
    cards = {MODELS.get(name, "gpt-4.1"): {"media": media}} if media else {}
    return settings_for(server, name, model={"cards": cards})


@pytest.mark.rewrites_history("old images are removed, which is what the test is about")
@pytest.mark.parametrize("dialect", NAMES)
def test_a_conversation_of_screenshots_and_documents_is_never_rejected(dialect: str, tmp_path: Path) -> None:
    size, most = 1_200, 24_000
    asked = range(15, 60, 4)
    with (
        ScriptedServer(lambda _request: say("Seen."), max_bytes=most, max_images=IMAGES) as server,
        RunningGateway(limited(dialect, server, images=IMAGES, request_bytes=most), tmp_path) as gateway,
    ):
        client = MediaClient(gateway, dialect)
        for number in range(60):
            (client.ask if number in asked else client.see)(turn(number, size))
        upstream = server.requests
    assert [seen.status for seen in upstream] == [200] * len(asked)
    for number, seen in zip(asked, upstream, strict=True):
        newest = data_of(turn(number, size))
        assert media_in(seen)[-len(newest) :] == newest
    # A removed image leaves a line that says what it was; the client's model has no tool for a handle.
    said = said_in(upstream[-1])
    assert "[image removed: image/png, 1280 × 720, 1 KB]" in said[0]
    assert any("[document removed: " in one and "application/pdf, 1 page" in one for one in said)
    assert not any("under handle" in one for one in said)
    # Removals are rare, so the beginning of the conversation stays the same between them.
    changes = sum(said_in(one) != said_in(later)[: len(said_in(one))] for one, later in pairwise(upstream))
    assert 1 <= changes <= 5


@pytest.mark.rewrites_history("old images are removed, which is what the test is about")
def test_forty_megabytes_of_screenshots_fit_an_upstream_of_thirty_two(tmp_path: Path) -> None:
    size = 620_000
    with (
        ScriptedServer(lambda _request: say("Seen."), max_bytes=32_000_000, max_images=IMAGES) as server,
        RunningGateway(
            settings_for(server, model={"cards": {WIDE: {"media": {"images": IMAGES}}}}), tmp_path
        ) as gateway,
    ):
        client = MediaClient(gateway, "anthropic", WIDE)
        for number in range(60):
            (client.see if number < 58 else client.ask)(turn(number, size))
        upstream = server.requests
    assert sum(len(data) for message in client.messages for data in data_of(message)) > 40_000_000
    assert [seen.status for seen in upstream] == [200, 200]
    for number, seen in enumerate(upstream, 58):
        newest = data_of(turn(number, size))
        assert media_in(seen)[-len(newest) :] == newest
    assert said_in(upstream[0])[:100] == said_in(upstream[1])[:100]


@pytest.mark.rewrites_history("rejected images are removed, which is what the test is about")
@pytest.mark.parametrize("dialect", NAMES)
def test_a_rejection_of_bytes_or_images_is_recovered_once_and_remembered(
    dialect: str, tmp_path: Path
) -> None:
    with (
        ScriptedServer(lambda _request: say("Seen."), max_bytes=40_000, max_images=12) as server,
        RunningGateway(limited(dialect, server), tmp_path) as gateway,
    ):
        for size, refused in ((400, 400), (3_000, 413)):  # too many images, then too many bytes
            before = len(server.requests)
            client = MediaClient(gateway, dialect)
            for number in range(16):
                client.see(turn(number, size))
            for number in range(16, 20):
                client.ask(turn(number, size))
            statuses = [seen.status for seen in server.requests[before:]]
            assert statuses == [refused, 200, 200, 200, 200]
            assert media_in(server.requests[-1])[-1:] == data_of(turn(19, size))


def test_a_rejected_newest_image_is_the_clients_to_shorten(tmp_path: Path) -> None:
    with (
        ScriptedServer(lambda _request: say("Seen."), max_bytes=2_000) as server,
        RunningGateway(limited("openai", server), tmp_path) as gateway,
    ):
        request = ChatRequest("gpt-4.1", (turn(0, 4_000),))
        body = dialect_named("openai").encode_request(request)
        response = http().post(gateway.openai_url + "/chat/completions", json=body)
    assert response.status_code == 413
    assert len(server.requests) == 1
