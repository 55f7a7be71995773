"""Images, audio and files cost what a model is billed for, not what their encoding weighs."""

import base64
import struct
from typing import Any

import pytest

from plimsoll.models import estimate_message_tokens, estimate_tokens
from plimsoll.models.counting import MESSAGE_OVERHEAD
from plimsoll.models.media import (
    AUDIO_PER_SECOND,
    AUDIO_UNKNOWN,
    FILE_MAX_PAGES,
    FILE_PER_PAGE,
    FILE_UNKNOWN,
    IMAGE_LOW_DETAIL,
    IMAGE_UNKNOWN,
)


def png(width: int, height: int, padding: int = 0) -> str:
    header = struct.pack(">II5B", width, height, 8, 2, 0, 0, 0)
    raw = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + header + b"\0" * 4 + bytes(padding)
    return base64.b64encode(raw).decode()


def jpeg(width: int, height: int, camera_data: int) -> str:
    block = b"\xff\xe1" + struct.pack(">H", camera_data + 2) + bytes(camera_data)
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return base64.b64encode(b"\xff\xd8" + block + frame + bytes(64)).decode()


def encoded(length: int) -> str:
    return base64.b64encode(b"\x81\x07" * (length // 2)).decode()


def cost(part: dict[str, Any]) -> int:
    return estimate_message_tokens({"role": "user", "content": [part]}) - MESSAGE_OVERHEAD


def shapes(data: str, mime: str) -> list[dict[str, Any]]:
    url = f"data:{mime};base64,{data}"
    return [
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "image_url", "image_url": url},
        {"type": "input_image", "image_url": url},
        {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}},
        {"type": "image", "data": data, "mimeType": mime},
        {"inline_data": {"mime_type": mime, "data": data}},
        {"type": "tool_result", "content": [{"type": "image", "source": {"type": "base64", "data": data}}]},
    ]


@pytest.mark.parametrize("part", shapes(png(1000, 750, padding=300_000), "image/png"))
def test_an_image_costs_its_pixels_in_every_shape(part: dict[str, Any]) -> None:
    assert cost(part) == 1000


def test_a_large_image_is_scaled_to_its_long_edge() -> None:
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(3136, 1500)}"}}
    assert cost(part) == round(1568 * 750 / 750)


@pytest.mark.parametrize("camera_data", [0, 2_000, 60_000])
def test_a_photo_is_measured_after_its_camera_data(camera_data: int) -> None:
    data = jpeg(1500, 1000, camera_data)
    assert (
        cost({"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": data}})
        == 2000
    )


def test_line_breaks_inside_base64_do_not_matter() -> None:
    wrapped = "\n".join(png(1000, 750)[i : i + 20] for i in range(0, 40, 20))
    assert cost({"type": "image", "data": wrapped, "mimeType": "image/png"}) == 1000


def test_low_detail_has_its_own_price() -> None:
    url = f"data:image/png;base64,{png(1000, 750)}"
    assert cost({"type": "image_url", "image_url": {"url": url, "detail": "low"}}) == IMAGE_LOW_DETAIL
    assert cost({"type": "input_image", "image_url": url, "detail": "low"}) == IMAGE_LOW_DETAIL


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "!" * 90_000}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,é"}},
        {"type": "image_url", "image_url": {"url": "data:nonsense"}},
        {"type": "image_url", "image_url": None},
        {"type": "image_url", "image_url": 7},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "image", "source": {"type": "base64", "data": encoded(90_000)}},
        {"type": "image", "source": {"type": "base64", "data": png(0, 0)}},
    ],
)
def test_an_image_of_unknown_size_costs_the_stated_default(part: dict[str, Any]) -> None:
    assert cost(part) == IMAGE_UNKNOWN


def test_audio_costs_its_duration() -> None:
    ten_seconds = {"data": encoded(160_000), "format": "mp3"}
    assert cost({"type": "input_audio", "input_audio": ten_seconds}) == pytest.approx(
        10 * AUDIO_PER_SECOND, abs=1
    )
    wave = {"data": encoded(480_000), "format": "wav"}
    assert cost({"type": "input_audio", "input_audio": wave}) == pytest.approx(10 * AUDIO_PER_SECOND, abs=1)
    mcp = {"type": "audio", "data": encoded(480_000), "mimeType": "audio/wav"}
    assert cost(mcp) == pytest.approx(10 * AUDIO_PER_SECOND, abs=1)
    assert cost({"type": "input_audio", "input_audio": {}}) == AUDIO_UNKNOWN


def test_a_file_costs_by_the_page_up_to_a_limit() -> None:
    def pdf(length: int) -> dict[str, Any]:
        data = f"data:application/pdf;base64,{encoded(length)}"
        return {"type": "file", "file": {"filename": "a.pdf", "file_data": data}}

    assert cost(pdf(1_000)) == FILE_PER_PAGE
    assert cost(pdf(150_000)) == 3 * FILE_PER_PAGE
    assert cost(pdf(20_000_000)) == FILE_MAX_PAGES * FILE_PER_PAGE
    assert cost({"type": "file", "file": {"file_id": "file_1"}}) == FILE_UNKNOWN
    document = {"type": "base64", "media_type": "application/pdf", "data": encoded(150_000)}
    assert cost(
        {"type": "document", "source": document, "title": "Report"}
    ) == 3 * FILE_PER_PAGE + estimate_tokens("Report")


def test_an_encoded_text_file_costs_its_text() -> None:
    data = f"data:text/plain;base64,{encoded(40_000)}"
    assert cost({"type": "file", "file": {"file_data": data}}) == pytest.approx(10_000, rel=0.01)


def test_a_document_that_carries_its_text_costs_that_text() -> None:
    text = "All of this is read by the model. " * 200
    plain = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}
    assert cost(plain) == estimate_tokens(text)
    nested = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": text}]}}
    assert cost(nested) == estimate_tokens(text)


@pytest.mark.parametrize(
    "part",
    [
        *shapes(encoded(3_000_000), "image/png"),
        {"type": "input_audio", "input_audio": {"data": encoded(3_000_000), "format": "mp3"}},
        {"type": "unheard_of", "data": encoded(3_000_000)},
        {
            "type": "resource",
            "resource": {"uri": "file:///a", "mimeType": "video/mp4", "blob": encoded(3_000_000)},
        },
        {"type": "resource", "resource": {"uri": "file:///a", "blob": encoded(3_000_000)}},
    ],
)
def test_the_bytes_of_base64_are_never_counted_as_text(part: dict[str, Any]) -> None:
    assert cost(part) < 150_000 < 4_000_000 / 4 / 5


def test_base64_in_plain_text_is_text_because_the_model_reads_it() -> None:
    data = encoded(4_000)
    assert cost({"type": "text", "text": data}) == estimate_tokens(data)


def test_a_part_that_only_calls_itself_a_file_is_read_as_text() -> None:
    assert cost({"type": "file", "path": "src/main.py"}) == estimate_tokens("src/main.py")
