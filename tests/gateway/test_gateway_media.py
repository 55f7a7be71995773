"""Images and documents stay within the limits of the upstream, for every client dialect on every upstream dialect."""

import base64
import random
import struct
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from clients import http
from gateway_server import RunningGateway, settings_for

from plimsoll.config import Settings
from plimsoll.dialects import ChatRequest, Dialect, dialect_named, dialects
from plimsoll.gateway.http import jsontext
from plimsoll.messages import Message, media_of, text_of
from plimsoll.models.media import payload_of
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer, say

NAMES = tuple(dialect.name for dialect in dialects())
MODELS = {"anthropic": "claude-opus-4-6", "gemini": "gemini-2.5-pro"}  # windows that the images do not fill
OWN = tuple((name, name) for name in NAMES)
CROSS = (("openai", "anthropic"), ("gemini", "responses"))
IMAGES = 20
TOOL = {"name": "look", "description": "Look at the screen.", "parameters": {"type": "object"}}
TOOLS = ({"type": "function", "function": TOOL},)
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


def looked(number: int, size: int) -> list[Message]:
    """The same as the result of a tool."""
    call = {"id": f"call_{number:04}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = {**turn(number, size), "role": "tool", "tool_call_id": call["id"], "name": "look"}
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]


class MediaClient:
    """A client that keeps its whole conversation and sends all of it each time."""

    def __init__(self, gateway: RunningGateway, name: str, model: str = "gpt-4.1") -> None:
        self.dialect: Dialect = dialect_named(name)
        self.model, self.gateway, self.messages = model, gateway, list[Message]()

    def see(self, message: Message) -> None:
        """A turn of the past, with its reply."""
        self.messages += [message, {"role": "assistant", "content": "Seen."}]

    def ask(self, message: Message) -> None:
        """One more turn."""
        self.messages.append(message)
        self.send()
        self.messages.append({"role": "assistant", "content": "Seen."})

    def send(self, stream: bool = False) -> None:
        """Send the conversation."""
        request = ChatRequest(self.model, tuple(self.messages), tools=TOOLS, max_tokens=50, stream=stream)
        url = self.dialect.url(self.dialect.local_url(self.gateway.url), self.model, stream)
        own = {"anthropic-version": "2023-06-01"} if self.dialect.needs_limit else {}
        name, value = self.dialect.auth("key")
        headers = {name: value, "content-type": "application/json", **own}
        body = jsontext.write(self.dialect.encode_request(request))
        response = http().post(url, content=body, headers=headers, timeout=120)
        assert response.status_code == 200, response.text[:500]
        assert "Seen." in response.text


def data_of(message: Message) -> list[str]:
    """The data of the images and documents in a message."""
    return [payload_of(part)[0] for part in media_of(message)]


def media_in(seen: CapturedRequest) -> list[str]:
    """The same of a whole request."""
    assert seen.request is not None
    return [data for message in seen.request.messages for data in data_of(message)]


def by_kind(media: Iterable[str]) -> tuple[list[str], list[str]]:
    """Images and documents apart."""
    both: tuple[list[str], list[str]] = ([], [])
    for data in media:
        both["pdf" in data[:20]].append(data)
    return both


def said_in(seen: CapturedRequest) -> list[str]:
    assert seen.request is not None
    return [text_of(message) for message in seen.request.messages]


def model_of(upstream: str) -> str:
    return MODELS.get(upstream, "gpt-4.1")


def limited(upstream: str, server: ScriptedServer, **media: int) -> Settings:
    """Settings with other limits for the model of an upstream."""
    cards = {model_of(upstream): {"media": media}} if media else {}
    # Without worker processes, each of which takes longer to start than the test takes.
    return settings_for(server, upstream, model={"cards": cards}, gateway={"compaction_workers": 0})


@pytest.mark.rewrites_history("old images are removed, which is what the test is about")
@pytest.mark.parametrize("dialect", NAMES)
def test_a_conversation_of_screenshots_and_documents_is_never_rejected(dialect: str, tmp_path: Path) -> None:
    size, most = 1_200, 24_000
    asked = range(15, 60, 4)
    with (
        ScriptedServer(lambda _request: say("Seen."), max_bytes=most, max_images=IMAGES) as server,
        RunningGateway(limited(dialect, server, images=IMAGES, request_bytes=most), tmp_path) as gateway,
    ):
        client = MediaClient(gateway, dialect, model_of(dialect))
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
@pytest.mark.parametrize("upstream", NAMES)
def test_screenshots_that_tools_return_to_any_client_are_never_rejected(
    upstream: str, tmp_path: Path
) -> None:
    size, most = 1_200, 40_000
    asked = (23, 41, 59)
    with (
        ScriptedServer(lambda _request: say("Seen."), max_bytes=most, max_images=IMAGES) as server,
        RunningGateway(limited(upstream, server, images=IMAGES, request_bytes=most), tmp_path) as gateway,
    ):
        for dialect in NAMES:
            before = len(server.requests)
            client = MediaClient(gateway, dialect, model_of(upstream))
            client.messages.append({"role": "user", "content": f"Watch the screen for {dialect}."})
            for number in range(60):
                client.messages += looked(number, size)
                if number in asked:
                    client.send(stream=number == asked[1])
            seen = server.requests[before:]
            assert [one.status for one in seen] == [200] * len(asked), dialect
            for number, one in zip(asked, seen, strict=True):
                newest = data_of(turn(number, size))
                assert media_in(one)[-len(newest) :] == newest, dialect
            assert any("[image removed: image/png, " in one for one in said_in(seen[-1])), dialect


@pytest.mark.rewrites_history("old images are removed, which is what the test is about")
@pytest.mark.parametrize(("dialect", "upstream"), [*OWN, CROSS[0]], ids=str)
def test_forty_megabytes_of_screenshots_fit_an_upstream_of_thirty_two(
    dialect: str, upstream: str, tmp_path: Path
) -> None:
    size, most = 620_000, 32_000_000
    with (
        ScriptedServer(lambda _request: say("Seen."), max_bytes=most, max_images=IMAGES) as server,
        RunningGateway(limited(upstream, server, images=IMAGES, request_bytes=most), tmp_path) as gateway,
    ):
        client = MediaClient(gateway, dialect, model_of(upstream))
        for number in range(60):
            (client.see if number < 59 else client.ask)(turn(number, size))
    (seen,) = server.requests
    assert seen.status == 200
    images, documents = by_kind(data for message in client.messages for data in data_of(message))
    kept_images, kept_documents = by_kind(media_in(seen))
    assert (len(images), len(documents)) == (60, 5)
    assert sum(map(len, images + documents)) > 40_000_000
    # The newest stay as they are. A document counts as an image only for some providers.
    assert kept_images == images[-len(kept_images) :]
    assert kept_documents == documents[-len(kept_documents) :]
    assert len(kept_images) + len(kept_documents) >= IMAGES // 2


@pytest.mark.rewrites_history("rejected images are removed, which is what the test is about")
@pytest.mark.parametrize(("dialect", "upstream"), [*OWN, *CROSS], ids=str)
def test_a_rejection_of_bytes_or_images_is_recovered_once_and_remembered(
    dialect: str, upstream: str, tmp_path: Path
) -> None:
    with (
        ScriptedServer(lambda _request: say("Seen."), max_bytes=40_000, max_images=12) as server,
        RunningGateway(limited(upstream, server), tmp_path) as gateway,
    ):
        for size, refused in ((400, 400), (3_000, 413)):  # too many images, then too many bytes
            before = len(server.requests)
            client = MediaClient(gateway, dialect, model_of(upstream))
            for number in range(16):
                client.see(turn(number, size))
            for number in range(16, 20):
                client.ask(turn(number, size))
            statuses = [seen.status for seen in server.requests[before:]]
            assert statuses == [refused, 200, 200, 200, 200]
            assert media_in(server.requests[-1])[-1:] == data_of(turn(19, size))


@pytest.mark.rewrites_history("the conversation is compacted, which is what the test is about")
@pytest.mark.parametrize("dialect", ["openai", "gemini"])
def test_a_compaction_of_screenshots_sends_no_request_with_too_many_bytes(
    dialect: str, tmp_path: Path
) -> None:
    size, most = 3_000, 40_000  # the text alone has more bytes, so that a summary needs more than one request
    model = model_of(dialect)
    cards = {model: {"media": {"request_bytes": most}}}
    settings = {"name": model, "context_length": 30_000, "cards": cards}
    with (
        ScriptedServer(lambda _request: say("Seen."), max_bytes=most) as server,
        RunningGateway(
            settings_for(server, dialect, model=settings, gateway={"compaction_workers": 0}), tmp_path
        ) as gateway,
    ):
        client = MediaClient(gateway, dialect, model)
        for number in range(40):
            message = turn(number, size)
            message["content"][0]["text"] += f" Note {number}: " + "the ship came in with the tide " * 90
            (client.ask if number in (31, 39) else client.see)(message)
    own = [seen for seen in server.requests if seen.request and not seen.request.tools]
    assert len(own) > 1, "a summary was not asked for in pieces"
    assert {seen.status for seen in server.requests} == {200}


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
