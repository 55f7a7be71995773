"""What providers say when they refuse, and what it means."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll import errors
from plimsoll.errors import (
    BadRequest,
    ContextOverflow,
    OutputCapExceeded,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerFailed,
)
from plimsoll.providers import classify
from plimsoll.providers.failures import wordings
from plimsoll.providers.retry import passes

KEY = "plk-7f3a9c51d2e84b60"

# status, what the error object says, the error that it is, and its numbers
REFUSALS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("golden").joinpath("refusals.json").read_text("utf-8")
)


def body(error: object) -> bytes:
    if isinstance(error, str):
        error = {"message": error, "type": "invalid_request_error"}
    return json.dumps({"type": "error", "error": error}).encode()


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: f"{row['is']}-{row['status']}")
def test_a_refusal_is_read_as_what_it_is_with_its_numbers(row: dict[str, Any]):
    found = classify(row["status"], body(row["error"]), {}, "openai", model="m")
    assert type(found) is getattr(errors, row["is"])
    assert found.status == row["status"]
    for number in ("limit", "requested", "output", "images"):
        assert getattr(found, number, None) == row.get(number)


def test_neither_an_overflow_nor_an_output_cap_is_asked_again():
    for row in REFUSALS:
        found = classify(row["status"], body(row["error"]))
        assert not (isinstance(found, ContextOverflow | OutputCapExceeded) and passes(found))


def test_an_output_cap_names_the_setting_and_the_number():
    found = classify(
        400, "max_tokens is too large: 32000. This model supports at most 16384 completion tokens"
    )
    assert "set model.max_output_tokens to 16384 or less" in str(found)


def test_a_key_that_a_configured_server_rejects_is_named_by_its_variable():
    told = str(classify(401, b'{"error":"unknown key"}', provider="custom"))
    assert told == "The configured server rejected the key (401: unknown key); check PLIMSOLL_API_KEY."


def test_a_plain_text_or_a_string_error_is_read_too():
    assert isinstance(classify(400, b"prompt is too long: 9 tokens > 8 maximum"), ContextOverflow)
    assert isinstance(classify(404, b'{"error":"model \'x\' not found, try pulling it first"}'), BadRequest)
    assert isinstance(classify(502, b"<html><h1>502 Bad Gateway</h1></html>"), ServerFailed)


def test_a_prompt_that_fits_leaves_room_for_a_shorter_answer():
    fits = classify(400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000")
    assert isinstance(fits, ContextOverflow)
    assert fits.room == 10_000
    never = classify(400, "prompt is too long: 210000 tokens > 200000 maximum")
    assert isinstance(never, ContextOverflow)
    assert never.room is None


def test_what_a_conversation_says_about_overflows_is_no_overflow():
    echoed = {
        "detail": [{"msg": "Field required", "input": "it said: prompt is too long: 9 tokens > 8 maximum"}]
    }
    assert type(classify(422, json.dumps(echoed))) is BadRequest


def test_quota_is_not_asked_again_and_a_rate_is():
    assert not passes(classify(429, body({"code": "insufficient_quota", "message": "x"})))
    assert passes(classify(429, body("slow down")))
    assert passes(classify(409, b""))
    assert not passes(classify(501, b""))


def test_an_error_under_status_200_is_read_by_what_it_says():
    assert type(classify(200, body({"code": 429, "message": "x"}))) is RateLimited
    assert type(classify(None, body({"type": "overloaded_error", "message": "x"}))) is Overloaded


def test_the_wait_is_read_from_headers_and_from_words():
    assert classify(429, b"", {"Retry-After": "12"}).retry_after == 12
    assert classify(429, b"", {"retry-after-ms": "1500"}).retry_after == 1.5
    date = {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}
    assert classify(503, b"", date, now=1_792_567_680.0).retry_after == 30.0
    assert classify(429, b"", {"retry-after": "soon"}).retry_after is None
    assert classify(429, b"Please try again in 6m0.5s").retry_after == 360.5
    assert classify(429, b"Please try again in 250ms").retry_after == 0.25


@pytest.mark.parametrize(
    "echo",
    [
        KEY,
        KEY[:12],
        KEY[-10:],
        f"Bearer {KEY}",
        "sk-proj-abcdefghijkl",
        "AIzaSyD-abcdefghijkl-0123",
        "ghp_abcdefghijkl0123",
        f'{{"error":{{"message":"bad key {KEY}"}}}}',
    ],
)
@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_a_key_that_the_provider_echoes_is_masked(status: int, echo: str):
    error = classify(status, echo, {}, "openai", secrets=[KEY])
    for shown in (str(error), repr(error), repr(vars(error)), repr(error.args)):
        assert KEY[:8] not in shown
        assert KEY[-8:] not in shown
        assert "abcdefghijkl" not in shown
    assert "[key]" in str(error)


def test_a_message_names_what_to_change_and_stays_on_one_line():
    error = classify(401, body("bad\n\x1b[31mkey\x07" + "x" * 5_000), {}, "anthropic")
    assert "ANTHROPIC_API_KEY" in str(error)
    assert len(str(error)) < 500
    assert re.search(r"[\x00-\x1f]", str(error)) is None


def test_errors_survive_pickling():
    error = classify(400, "prompt is too long: 210000 tokens > 200000 maximum", {}, "anthropic", model="m")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, ContextOverflow)
    assert (again.limit, again.provider, str(again)) == (200_000, "anthropic", str(error))


@settings(deadline=None)
@given(status=st.integers(-1, 1_000) | st.none(), body=st.binary() | st.text(), header=st.text())
def test_any_answer_is_some_provider_error(status: int | None, body: bytes | str, header: str):
    assert isinstance(classify(status, body, {"retry-after": header}, "openai"), ProviderError)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "message", "type", "code", "detail", "n_ctx", "raw", "metadata", "x"]),
            inner,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(status=st.sampled_from([200, 400, 413, 429, 500]), data=JSON)
def test_any_json_is_some_provider_error(status: int, data: object):
    assert isinstance(classify(status, json.dumps(data), {}, "x"), ProviderError)


def test_long_hostile_texts_are_read_quickly():
    for start in (
        "request too large for ",
        "maximum context length is 1 tokens. ",
        "max_tokens ",
        "1" * 20_000,
    ):
        assert isinstance(classify(400, start + "a 1 " * 100_000), ProviderError)


def test_every_wording_is_met_by_a_row_of_these_tables():
    said = ["\n".join(_texts(row["error"])) for row in REFUSALS]
    never = {wording.who for wording in wordings() if not any(wording.pattern.search(text) for text in said)}
    assert never == set()


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    return [str(value)]
