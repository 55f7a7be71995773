"""Old images and documents leave before a provider rejects a request; the newest stay."""

import base64
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll import ContextCompressor
from plimsoll.context.media_budget import (
    after_rejection,
    exceeds,
    within_limits,
    without_media_handles,
)
from plimsoll.messages import Message, handle_of, match_messages, media_of, text_of
from plimsoll.models import card_for
from plimsoll.models.media_facts import facts_of
from plimsoll.models.media_limits import MediaLimits
from plimsoll.settings.model import CardOverrides, ModelSettings


def image(width: int = 1_280, height: int = 720, size: int = 400) -> dict[str, Any]:
    header = struct.pack(">II5B", width, height, 8, 2, 0, 0, 0)
    raw = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + header + b"\0" * 6
    data = base64.b64encode(raw).decode() + "A" * (size // 4 * 4)
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def pdf(pages: int = 1, name: str = "report.pdf") -> dict[str, Any]:
    data = base64.b64encode(b"%PDF-1.4\n" + b"<</Type /Page>>\n" * pages + b"<</Type /Pages>>").decode()
    return {"type": "file", "file": {"filename": name, "file_data": f"data:application/pdf;base64,{data}"}}


def user(*parts: dict[str, Any]) -> Message:
    return {"role": "user", "content": [{"type": "text", "text": "See:"}, *parts]}


def turns(*media: dict[str, Any]) -> list[Message]:
    """A turn with a reply for each; the last one waits for its reply."""
    said = [message for part in media for message in (user(part), {"role": "assistant", "content": "Yes."})]
    return said[:-1]


def left(messages: list[Message] | None) -> list[dict[str, Any]]:
    assert messages is not None
    return [part for message in messages for part in media_of(message)]


def test_the_facts_say_what_an_image_or_a_document_is() -> None:
    assert facts_of(image(size=8_000)).described == "image/png, 1280 × 720, 6 KB"
    assert facts_of(pdf(3)).described == "report.pdf, application/pdf, 3 pages, 1 KB"
    native = {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "A" * 4_000}}
    assert facts_of(native).described == "image/webp, 3 KB"
    assert facts_of({"type": "image_url", "image_url": {"url": "https://a.test/b.png"}}).described == ""
    assert facts_of(pdf(name="a\nb] " + "c" * 200)).name == "a b) " + "c" * 75


@pytest.mark.parametrize(
    ("limits", "media", "kept"),
    [
        ({"images": 4}, [image()] * 6, 2),
        ({"images": 4}, [image()] * 4, 4),
        ({"pages": 10}, [pdf(4)] * 3, 1),
        ({"images": 10, "pages_are_images": True}, [pdf(4)] * 3, 1),
        ({"request_bytes": 10_000}, [image(size=3_000)] * 4, 1),
        ({"image_bytes": 5_000}, [image(size=6_000), image(), image()], 2),
        ({"image_edge": 2_000}, [image(2_001), image(), image()], 2),
        ({"many_images": 3, "many_edge": 2_000}, [image(2_001), image(), image(), image()], 3),
        ({"many_images": 3, "many_edge": 2_000}, [*[image()] * 4, image(2_001)], 1),
        ({"many_images": 3, "many_edge": 2_000}, [image(2_001)] * 3, 3),
    ],
)
def test_the_oldest_leave_until_half_of_an_exceeded_limit_is_left(
    limits: dict[str, int], media: list[dict[str, Any]], kept: int
) -> None:
    messages, given = turns(*media), MediaLimits(**limits)
    assert exceeds(messages, given) is (kept < len(media))
    lighter = within_limits(messages, given)
    found = left(lighter if lighter is not None else messages)
    assert len(found) == kept
    assert found[-1] == media[-1]
    assert within_limits(lighter or messages, given) is None


def test_the_newest_request_and_the_newest_results_keep_everything() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c", "content": [image()]}
    messages = [
        user(image()),
        {"role": "assistant", "content": "Yes."},
        user(image(), pdf()),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        result,
        {"role": "assistant", "content": None, "tool_calls": [{**call, "id": "d"}]},
        {**result, "tool_call_id": "d"},
    ]
    lighter = within_limits(messages, MediaLimits(images=1))
    assert lighter is not None
    assert [len(media_of(message)) for message in lighter] == [0, 0, 2, 0, 0, 0, 1]


def test_a_line_names_the_handle_of_the_whole_message_also_after_a_second_removal() -> None:
    message = user(image(), pdf(2))
    messages = [message, {"role": "assistant", "content": "Yes."}, *turns(*[image()] * 3)]
    once = within_limits(messages, MediaLimits(images=3))
    assert once is not None
    again = within_limits(once, MediaLimits(pages=1))
    assert again is not None
    assert text_of(again[0]).count(f"; full content under handle {handle_of(message)}]") == 2
    assert match_messages(messages, again)[0] == 0
    assert "handle" not in text_of(without_media_handles(again[0]))
    assert "[document removed: report.pdf, application/pdf, 2 pages" in text_of(
        without_media_handles(again[0])
    )
    quoted = user(
        {"type": "text", "text": "It said [image removed; full content under handle h:0123456789] yesterday."}
    )
    assert without_media_handles(quoted) is quoted


def test_after_a_rejection_the_stated_number_counts_then_half_of_the_bytes_then_everything_old() -> None:
    messages = turns(*[image(size=2_000)] * 8)
    assert len(left(after_rejection(messages, images=6))) == 3
    assert len(left(after_rejection(messages))) == 3
    assert len(left(after_rejection(messages, is_repeated=True))) == 1
    assert after_rejection(turns(image())) is None


@pytest.mark.parametrize(
    ("key", "value", "media", "kept"),
    [
        ("request_bytes", 3_000, [image(size=1_000)] * 4, 1),
        ("images", 2, [image()] * 3, 1),
        ("pages", 2, [pdf()] * 3, 1),
        ("image_bytes", 500, [image(size=600), image()], 1),
        ("image_edge", 1_000, [image(), image(900, 900)], 1),
    ],
)
def test_each_setting_of_a_card_changes_what_stays(
    key: str, value: int, media: list[dict[str, Any]], kept: int
) -> None:
    override = CardOverrides.model_validate({"media": {key: value}})
    card = ModelSettings(name="gpt-5", cards={"gpt-5": override}).card()
    assert within_limits(turns(*media), card_for("gpt-5").media) is None
    assert len(left(within_limits(turns(*media), card.media))) == kept


def test_the_library_removes_images_even_where_no_token_must_leave() -> None:
    engine = ContextCompressor("claude-sonnet-4.5")
    messages = turns(*[image(100, 100)] * 120)
    assert engine.should_compress_preflight(messages)
    assert engine.has_content_to_compress(messages)
    result = engine.compress(messages)
    assert len(left(result)) == 50
    assert "handle" not in text_of(result[0])
    assert engine.last_report is not None
    assert engine.last_report.outcome == "compacted"
    assert "old images and documents removed" in engine.last_report.steps[-1]
    assert engine.compress(result) == result


MEDIA = st.one_of(
    st.builds(image, st.sampled_from([100, 2_100, 9_000]), st.just(100), st.integers(0, 9_000)),
    st.builds(pdf, st.integers(1, 9)),
)
LIMIT = st.one_of(st.none(), st.integers(1, 12))
LIMITS = st.builds(
    MediaLimits,
    # The lines in place of media have about 110 bytes each; limits of providers are megabytes.
    request_bytes=st.one_of(st.none(), st.integers(4_000, 60_000)),
    images=LIMIT,
    pages=LIMIT,
    image_bytes=st.one_of(st.none(), st.integers(1, 9_000)),
    image_edge=st.one_of(st.none(), st.integers(90, 9_000)),
    many_images=st.just(3),
    many_edge=st.just(2_000),
    pages_are_images=st.booleans(),
)


@given(media=st.lists(MEDIA, min_size=1, max_size=12), limits=LIMITS)
def test_whatever_may_leave_leaves_until_the_provider_accepts_the_rest(
    media: list[dict[str, Any]], limits: MediaLimits
) -> None:
    messages = turns(*media)
    lighter = within_limits(messages, limits) or messages
    assert [message["role"] for message in lighter] == [message["role"] for message in messages]
    assert lighter[-1] is messages[-1]
    older = [*lighter[:-1], user()]  # the newest stay, whatever they are
    assert not exceeds(older, limits)
    assert within_limits(lighter, limits) is None
