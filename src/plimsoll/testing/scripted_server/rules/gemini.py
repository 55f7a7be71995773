"""Google's rules for requests, with its error messages if they are publicly known."""

import re
from collections.abc import Iterator
from typing import Any

from plimsoll.dialects.gemini.rules import rules_for
from plimsoll.dialects.gemini.spelling import camel_cased
from plimsoll.messages.untyped import object_of
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.images import gemini_images
from plimsoll.testing.scripted_server.rules.refusal import Refusal

_FIELDS = frozenset(
    {
        "contents",
        "systemInstruction",
        "tools",
        "toolConfig",
        "generationConfig",
        "safetySettings",
        "cachedContent",
    }
    | {"labels", "model", "store", "serviceTier", "generateContentRequest"}
)
_FUNCTION = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_FUNCTION_RULE = (
    "[Name must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores, dots, colons "
    "and dashes, with a maximum length of 64.]"
)
_ROLES = (None, "user", "model", "function")


def shape_refusals(body: dict[str, Any], counts_only: bool) -> Iterator[Refusal]:
    """The errors in the basic shape of a body, checked before it is decoded."""
    body = camel_cased(body)
    for name in body:
        if name not in _FIELDS:
            yield _bad(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
    contents = object_of(body.get("generateContentRequest", body) if counts_only else body).get("contents")
    if not isinstance(contents, list) or not contents:
        yield _bad("* GenerateContentRequest.contents: contents is not specified\n")
        return
    for index, content in enumerate(contents):
        if (
            not isinstance(content, dict)
            or not isinstance(content.get("parts"), list)
            or not content["parts"]
        ):
            place = f"GenerateContentRequest.contents[{index}].parts"
            yield _bad(f"* {place}: contents.parts must not be empty.\n")
        elif content.get("role") not in _ROLES:
            yield _bad("Please use a valid role: user, model.")


def refusals(checked: CheckedRequest) -> Iterator[Refusal]:
    """The errors that reject a request."""
    body = camel_cased(checked.body)
    contents = body.get("generateContentRequest", body)["contents"]
    yield from _turns(contents)
    yield from _function_parts(contents)
    yield from gemini_images(contents)
    if rules_for(checked.request.model).signed_calls:
        yield from _signatures(contents)
    config = body.get("generationConfig") or {}
    limit, cap = config.get("maxOutputTokens"), checked.card.output_cap
    if isinstance(limit, int) and not 0 < limit <= cap:
        yield _bad(
            f"Unable to submit request because it has a maxOutputTokens value of {limit} but the supported range is "
            f"from 1 (inclusive) to {cap + 1} (exclusive). Update the value and try again."
        )
    if checked.prompt_tokens > checked.card.prompt_limit:
        yield _bad(
            f"The input token count ({checked.prompt_tokens}) exceeds the maximum number of tokens allowed "
            f"({checked.card.prompt_limit})."
        )


def _turns(contents: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Calls must follow a user turn, and the next content must have as many responses."""
    open_calls = 0
    for index, content in enumerate(contents):
        calls, responses = _count(content, "functionCall"), _count(content, "functionResponse")
        before = contents[index - 1] if index else {}
        if responses and not open_calls:
            yield _bad(
                "Please ensure that function response turn comes immediately after a function call turn."
            )
        elif responses != open_calls:
            yield _bad(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        if calls and (not index or before.get("role") == "model"):
            yield _bad(
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
        open_calls = calls
    if open_calls:
        yield _bad("Please ensure that function call turn is followed by a function response turn.")


def _function_parts(contents: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Parts must not be empty, function names must be legal, and responses must be objects."""
    for index, content in enumerate(contents):
        for part_index, part in enumerate(content["parts"]):
            place = f"contents[{index}].parts[{part_index}]"
            if not isinstance(part, dict) or not part:
                text = f"{place}.data: required oneof field 'data' must have one initialized field"
                yield _bad(f"* GenerateContentRequest.{text}\n")
                continue
            call, response = part.get("functionCall"), part.get("functionResponse")
            if isinstance(call, dict) and not _FUNCTION.fullmatch(str(call.get("name") or "")):
                yield _bad(f"* GenerateContentRequest.{place}.function_call.name: {_FUNCTION_RULE}\n")
            if isinstance(response, dict) and not isinstance(response.get("response"), dict):
                kind = "type.googleapis.com/google.protobuf.Struct"
                yield _bad(f"Invalid value at '{place}.function_response.response' ({kind})")


def _signatures(contents: list[dict[str, Any]]) -> Iterator[Refusal]:
    """In the current turn, the first call of every step must have its signature."""
    starts = (
        n
        for n in range(len(contents) - 1, -1, -1)
        if contents[n].get("role") != "model" and not _count(contents[n], "functionResponse")
    )
    for place, content in enumerate(contents[next(starts, 0) :]):
        calls = [part for part in content["parts"] if isinstance(part.get("functionCall"), dict)]
        if calls and not calls[0].get("thoughtSignature"):
            name = calls[0]["functionCall"].get("name")
            yield _bad(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, function call `default_api:{name}` , position {place}."
            )


def _count(content: dict[str, Any], name: str) -> int:
    return sum(isinstance(part.get(name), dict) for part in content["parts"] if isinstance(part, dict))


def _bad(message: str) -> Refusal:
    return Refusal(400, "INVALID_ARGUMENT", message)
