"""An error that breaks a stream off has a type that the client's provider has."""

import typing

import pytest
from anthropic.types import ErrorObject

from plimsoll.dialects import anthropic, openai
from plimsoll.dialects.error_kinds import ANTHROPIC_KINDS

KNOWN = {
    typing.get_args(error.model_fields["type"].annotation)[0]
    for error in typing.get_args(typing.get_args(ErrorObject)[0])
}


def test_the_types_are_those_of_the_sdk():
    assert KNOWN <= ANTHROPIC_KINDS


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("server_error", "api_error"),
        ("error", "api_error"),
        ("rate_limit_exceeded", "rate_limit_error"),
        ("insufficient_quota", "billing_error"),
        ("context_length_exceeded", "invalid_request_error"),
        ("overloaded_error", "overloaded_error"),
        ("", "api_error"),
    ],
)
def test_a_failure_of_an_openai_stream_reaches_anthropic_clients_with_a_type_that_they_know(kind, told):
    failure = openai.StreamDecoder().feed(None, {"error": {"type": kind or None, "message": "No."}})[0]
    (event,) = anthropic.StreamEncoder().encode(failure)
    assert event.decoded()["error"] == {"type": told, "message": "No."}


@pytest.mark.parametrize(
    ("kind", "told"), [("overloaded_error", "server_error"), ("rate_limit_error", "rate_limit_error")]
)
def test_a_failure_of_an_anthropic_stream_reaches_openai_clients_with_a_type_of_theirs(kind, told):
    event = {"type": "error", "error": {"type": kind, "message": "No."}}
    failure = anthropic.StreamDecoder().feed("error", event)[0]
    (said,) = openai.StreamEncoder().encode(failure)
    assert said.decoded()["error"]["type"] == told
