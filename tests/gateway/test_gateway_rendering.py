"""A conversation that is rendered piece by piece looks to the cache as one that is rendered whole."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.archive import OPERATOR
from plimsoll.dialects import ANTHROPIC
from plimsoll.dialects.interfaces import Rendered
from plimsoll.gateway.dropin.chain import chain_of, root_of
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.rendering import rendered_prefix_of, rendered_whole
from plimsoll.gateway.http import jsontext

LEAD = ({"role": "system", "content": "Be brief."},)
TOOLS = [{"name": "lookup", "description": "Look it up.", "input_schema": {"type": "object"}}]


def exchange(number: int, results: int, words: str) -> list[dict[str, Any]]:
    """A question, calls, their results, followed by a word."""
    calls = [
        {"type": "tool_use", "id": f"c{number}-{n}", "name": "lookup", "input": {"key": words}}
        for n in range(results)
    ]
    said: list[dict[str, Any]] = [
        {"role": "user", "content": f"{number} {words}"},
        {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, *calls]},
    ]
    if results:
        answers = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": words or "nothing"}
            for call in calls
        ]
        said.append({"role": "user", "content": [*answers, {"type": "text", "text": "And now?"}]})
        said.append({"role": "assistant", "content": words or "Nothing."})
    return said


conversations = st.lists(st.tuples(st.integers(0, 3), st.text(max_size=20)), min_size=2, max_size=6).map(
    lambda turns: [message for n, (calls, words) in enumerate(turns) for message in exchange(n, calls, words)]
)


def seen(rendered: Rendered) -> list[Any]:
    prompt = rendered.prompt
    return [
        (prompt.key(n), prompt[n].tokens, prompt[n].position, rendered.owner(prompt[n].message))
        for n in range(len(prompt))
        if prompt[n].message >= 0
    ]


@given(conversations, st.data())
def test_what_is_added_piece_by_piece_is_what_is_rendered_whole(
    said: list[dict[str, Any]], data: st.DataObject
) -> None:
    thread = ClientConversation(ANTHROPIC, LEAD, OPERATOR)
    chain = chain_of(root_of(b"somebody", "anthropic"), said)
    rendered_prefix = rendered_prefix_of(ANTHROPIC, {"messages": said, "tools": TOOLS}, LEAD, b"key", None)
    place = 0
    while place < len(said):
        place = data.draw(st.integers(place + 1, len(said)))
        # Each request is parsed again: messages are recognised by their content.
        sent = json.loads(json.dumps(said[:place]))
        thread.extend(sent, chain[:place])
        whole = rendered_whole(ANTHROPIC, {"messages": sent, "tools": TOOLS}, LEAD)
        assert seen(rendered_prefix.rendered(thread.log, thread.ends, place)) == seen(whole)
    back = data.draw(st.integers(1, len(said)))
    fork, other = thread.fork(back), [*said[:back], *exchange(99, 1, "another way")]
    fork.extend(other, chain_of(root_of(b"somebody", "anthropic"), other))
    whole = rendered_whole(ANTHROPIC, {"messages": other, "tools": TOOLS}, LEAD)
    assert seen(rendered_prefix.fork().rendered(fork.log, fork.ends, len(other))) == seen(whole)
    again = rendered_prefix.rendered(thread.log, thread.ends, len(said))
    assert seen(again) == seen(rendered_whole(ANTHROPIC, {"messages": said, "tools": TOOLS}, LEAD))


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_json_is_read_and_written_to_the_same_values_as_by_the_standard_library(value: Any) -> None:
    written = jsontext.write(value)
    assert jsontext.read(written) == json.loads(written) == value
    assert jsontext.read(json.dumps(value).encode()) == value


@given(st.dictionaries(st.text(st.characters(exclude_categories=())), values, max_size=5))
def test_the_order_of_keys_does_not_count_where_a_conversation_is_recognised(value: dict[str, Any]) -> None:
    turned = dict(reversed(value.items()))
    assert jsontext.write_sorted(value) == jsontext.write_sorted(turned)


def test_numbers_of_any_length_stay_what_they_are() -> None:
    raw = b'{"id":123456789012345678901234567890,"half":"\\ud800","open":NaN}'
    assert jsontext.read(raw)["id"] == 123456789012345678901234567890
    assert jsontext.write(jsontext.read(b'{"id":123456789012345678901234567890}')) == (
        b'{"id":123456789012345678901234567890}'
    )


def test_only_a_request_must_have_finite_numbers() -> None:
    for raw in (b'{"a":NaN}', b'{"a":[-Infinity]}', b'{"a":1e999}', b'{"half":"\\ud800","a":-1e400}'):
        assert isinstance(jsontext.read(raw), dict)  # an upstream's reply
        with pytest.raises(ValueError, match=r"NaN|Infinity|too large"):
            jsontext.read_request(raw)
    assert jsontext.read_request(b'{"half":"\\ud800","a":1e308}')["a"] == 1e308
