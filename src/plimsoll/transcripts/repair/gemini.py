"""Repairs the contents of a request to Google.

roles        user and model
parts        not empty; an object as the arguments of a call and as the response to it
calls        after a user turn, in one content, answered by as many responses in the next content
signatures   on the first call of every step of the current turn, if the model requires them (Gemini 3 and later)
"""

import re
from collections.abc import Iterator
from typing import Any

from plimsoll.dialects.gemini.rules import rules_for
from plimsoll.dialects.gemini.signatures import SKIP
from plimsoll.dialects.gemini.spelling import camel_cased
from plimsoll.messages.untyped import list_of
from plimsoll.transcripts.portable import legal_name
from plimsoll.transcripts.repair.findings import MISSING_RESULT, OPENING, FindingList, shown_value
from plimsoll.transcripts.repair.images import GEMINI_IMAGES, image_problem

Content = dict[str, Any]
Part = dict[str, Any]
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_ROLES = {
    **dict.fromkeys(("assistant", "ai", "gpt", "bot"), "model"),
    **dict.fromkeys(("human", "system", "developer", "tool"), "user"),
}


def repair_gemini(body: dict[str, Any], found: FindingList, is_portable: bool, model: str) -> dict[str, Any]:
    """The body with contents that Google accepts."""
    contents = _sound(list_of(body.get("contents")), found)
    if is_portable:
        contents = [_unsigned(content, index, found) for index, content in enumerate(contents)]
    contents = _paired(contents, found)
    contents = _after_users(contents, found)
    if rules_for(model).signed_calls:
        contents = _signed(contents, found)
    return {**body, "contents": contents}


def _sound(turns: list[Any], found: FindingList) -> list[Content]:
    contents: list[Content] = []
    for index, content in enumerate(turns):
        place = f"content {index + 1}"
        if not isinstance(content, dict):
            found.add(place, "it is not an object", "Removed it")
            continue
        role = content.get("role")
        if role not in (None, "user", "model", "function"):
            new = _ROLES.get(str(role), "user")
            found.add(place, f"the role {shown_value(role)} is unknown", f"Changed it to {new}")
            content = {**content, "role": new}
        parts = content.get("parts")
        listed = list_of(parts)
        kept = [new for part in listed for new in _part(part, place, found)]
        if kept:
            contents.append(content if kept == parts else {**content, "parts": kept})
        else:
            found.add(place, "it has no parts", "Removed it")
    return contents


def _part(part: Any, place: str, found: FindingList) -> Iterator[Part]:
    if not isinstance(part, dict) or not part or part == {"text": ""}:
        found.add(place, "a part is empty", "Removed the part")
        return
    wire = camel_cased(part)
    call, response, data = wire.get("functionCall"), wire.get("functionResponse"), wire.get("inlineData")
    if isinstance(call, dict):
        repaired = _call(call, place, found)
        yield part if repaired is call else {**wire, "functionCall": repaired}
    elif isinstance(response, dict):
        if not isinstance(response.get("response"), dict):
            found.add(place, "the response to a call is not an object", "Wrapped it in one")
            response = {**response, "response": {"output": response.get("response")}}
            part = {**wire, "functionResponse": response}
        yield part
    elif isinstance(data, dict) and str(data.get("mimeType")).startswith("image/"):
        problem = image_problem(str(data["mimeType"]), str(data.get("data") or ""), GEMINI_IMAGES)
        if problem is not None:
            found.add(place, problem[0], "Replaced it with a line of text")
        yield part if problem is None else {"text": problem[1]}
    else:
        yield part


def _call(call: dict[str, Any], place: str, found: FindingList) -> dict[str, Any]:
    name, arguments = call.get("name"), call.get("args")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        legal = legal_name(str(name or ""))
        found.add(place, f"the function name {shown_value(name)} is not allowed", f"Renamed it to {legal!r}")
        call = {**call, "name": legal}
    if arguments is not None and not isinstance(arguments, dict):
        found.add(place, "the arguments of a call are not an object", "Wrapped them in one")
        call = {**call, "args": {"input": arguments}}
    return call


def _unsigned(content: Content, index: int, found: FindingList) -> Content:
    parts = [
        {k: v for k, v in part.items() if k not in ("thoughtSignature", "thought_signature")}
        for part in content["parts"]
        if part.get("thought") is not True
    ]
    if parts == content["parts"]:
        return content
    found.add(f"content {index + 1}", "thoughts are signed for one model", "Removed them")
    return {**content, "parts": parts}


def _calls(content: Content) -> list[dict[str, Any]]:
    parts = [camel_cased(part) for part in content["parts"]]
    return [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]


def _response(part: Part) -> dict[str, Any] | None:
    found = camel_cased(part).get("functionResponse")
    return found if isinstance(found, dict) else None


def _paired(contents: list[Content], found: FindingList) -> list[Content]:
    """Make one content with as many responses follow every content with calls, and remove other responses."""
    kept: list[Content] = []
    index = 0
    while index < len(contents):
        content = contents[index]
        calls = _calls(content) if content.get("role") == "model" else []
        if not calls:
            parts = [part for part in content["parts"] if _response(part) is None]
            if len(parts) < len(content["parts"]):
                found.add(f"content {index + 1}", "a function response has no preceding call", "Removed it")
            if parts:
                kept.append(content if len(parts) == len(content["parts"]) else {**content, "parts": parts})
            index += 1
            continue
        end = index + 1
        while end < len(contents) and contents[end].get("role") != "model":
            end += 1
        kept.append(content)
        kept += _answered(calls, contents[index + 1 : end], index + 1, found)
        index = end
    return kept


def _answered(
    calls: list[dict[str, Any]], turn: list[Content], place: int, found: FindingList
) -> list[Content]:
    """The user contents after calls, with one response per call in the first."""
    near = _responses(turn[:1])
    left = _responses(turn)
    answers: list[Part] = []
    for call in calls:
        part = next((item for item in left if _answers(item, call)), None)
        if part is not None:
            left.remove(part)
            if part not in near:
                problem = "a function response is not in the content after its call"
                found.add(f"content {place + 1}", problem, "Moved it there")
        answers.append(part or _stub(call, place, found))
    for part in left:
        name = shown_value((_response(part) or {}).get("name"))
        found.add(f"content {place + 1}", f"the function response {name} has no call", "Removed it")
    if not left and sorted(map(str, near)) == sorted(map(str, answers)):
        return turn
    return [{"role": "user", "parts": answers}, *_without_responses(turn)]


def _without_responses(contents: list[Content]) -> Iterator[Content]:
    for content in contents:
        if parts := [part for part in content["parts"] if _response(part) is None]:
            yield {**content, "parts": parts}


def _responses(contents: list[Content]) -> list[Part]:
    return [part for content in contents for part in content["parts"] if _response(part) is not None]


def _stub(call: dict[str, Any], place: int, found: FindingList) -> Part:
    name = shown_value(call.get("name"))
    found.add(f"content {place}", f"the function call {name} has no response", "Added one that says so")
    named = {"id": call["id"]} if call.get("id") else {}
    return {"functionResponse": {**named, "name": call.get("name"), "response": {"error": MISSING_RESULT}}}


def _answers(part: Part, call: dict[str, Any]) -> bool:
    response = _response(part) or {}
    if call.get("id") and response.get("id"):
        return bool(call["id"] == response["id"])
    return bool(response.get("name") == call.get("name"))


def _after_users(contents: list[Content], found: FindingList) -> list[Content]:
    """Make calls follow a user turn: merge adjacent model contents, and start with a user content."""
    kept: list[Content] = []
    for index, content in enumerate(contents):
        calls = content.get("role") == "model" and bool(_calls(content))
        if calls and kept and kept[-1].get("role") == "model":
            found.add(
                f"content {index + 1}", "a function call follows another content of the model", "Joined them"
            )
            kept[-1] = {**kept[-1], "parts": [*kept[-1]["parts"], *content["parts"]]}
            continue
        if calls and not kept:
            found.add(
                f"content {index + 1}",
                "the conversation begins with a function call",
                "Added a user content before it",
            )
            kept.append({"role": "user", "parts": [{"text": OPENING}]})
        kept.append(content)
    return kept


def _signed(contents: list[Content], found: FindingList) -> list[Content]:
    """Give the first call of every step of the current turn a signature, or the value that skips the check."""
    starts = [
        n
        for n, content in enumerate(contents)
        if content.get("role") != "model" and not any(_response(part) for part in content["parts"])
    ]
    kept = list(contents)
    for index in range(starts[-1] if starts else 0, len(contents)):
        parts = [camel_cased(part) for part in contents[index]["parts"]]
        first = next((n for n, part in enumerate(parts) if isinstance(part.get("functionCall"), dict)), None)
        if first is None or parts[first].get("thoughtSignature"):
            continue
        found.add(
            f"content {index + 1}",
            "the first function call has no thought signature",
            "Added the one that skips the check",
        )
        parts[first] = {**parts[first], "thoughtSignature": SKIP}
        kept[index] = {**contents[index], "parts": parts}
    return kept
