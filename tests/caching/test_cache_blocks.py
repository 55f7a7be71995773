"""A request as blocks: order, positions, hashes, tokens, and that rendering is done once."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from message_builders import user
from plimsoll.caching import BlockChain, RequestOptions, apply_anthropic_cache_control

PLAIN = RequestOptions()
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("read", "write")]


def calls(*ids: str, text: str | None = None) -> dict[str, Any]:
    made = [{"id": i, "type": "function", "function": {"name": "read", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": text, "tool_calls": made}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "out " + call_id}


def count(message: dict[str, Any]) -> int:
    return 100


def keys(messages: list[dict[str, Any]], tools: Any = (), options: RequestOptions = PLAIN) -> list[Any]:
    prompt = BlockChain(tools, count).prompt(messages, options)
    return [prompt.key(block) for block in range(len(prompt))]


def test_tools_come_first_then_the_system_prompt_then_the_messages():
    prompt = BlockChain(TOOLS, count).prompt([{"role": "system", "content": "s"}, user("u")])
    assert [prompt[block].kind for block in range(len(prompt))] == ["tool", "tool", "system", "text"]


def test_a_run_of_calls_is_one_position_and_so_is_a_run_of_results():
    messages = [
        user("go"),
        calls("a", "b", "c", text="sure"),
        result("a"),
        result("b"),
        result("c"),
        user("ok"),
    ]
    prompt = BlockChain(count_tokens=count).prompt(messages)
    kinds = [(prompt[block].kind, prompt[block].position) for block in range(len(prompt))]
    assert kinds == [
        ("text", 0),
        ("text", 1),
        *[("tool_use", 2)] * 3,
        *[("tool_result", 3)] * 3,
        ("text", 4),
    ]


def test_two_texts_in_a_row_are_two_positions():
    prompt = BlockChain(count_tokens=count).prompt([user(str(n)) for n in range(30)])
    assert prompt[29].position == 29


def test_tokens_add_up_to_the_count_of_every_message():
    messages = [user("go"), calls("a", "b", text="sure"), result("a"), result("b")]
    assert BlockChain(count_tokens=count).prompt(messages).tokens == 400


def test_markers_are_not_hashed_and_a_string_equals_one_text_part():
    messages = [{"role": "system", "content": "s"}, user("u"), calls("a"), result("a"), user("v")]
    assert keys(apply_anthropic_cache_control(messages, native_anthropic=True)) == keys(messages)


def test_any_other_change_gives_another_hash_from_there_on():
    messages = [user("a"), user("b"), user("c")]
    for changed in ({**messages[1], "name": "meta"}, user("b "), {"role": "assistant", "content": "b"}):
        was, now = keys(messages), keys([messages[0], changed, messages[2]])
        assert was[0] == now[0]
        assert not set(was[1:]) & set(now)


def test_the_order_of_keys_in_an_object_does_not_matter_but_the_order_of_tools_does():
    assert keys([{"content": "u", "role": "user"}]) == keys([user("u")])
    assert keys([user("u")], TOOLS)[-1] != keys([user("u")], TOOLS[::-1])[-1]


def test_settings_invalidate_from_the_level_that_they_belong_to():
    messages = [{"role": "system", "content": "s"}, user("u")]
    plain = keys(messages, TOOLS)
    search = keys(messages, TOOLS, RequestOptions(web_search=True))
    choice = keys(messages, TOOLS, RequestOptions(tool_choice="any"))
    assert [a == b for a, b in zip(plain, search, strict=True)] == [True, True, False, False]
    assert [a == b for a, b in zip(plain, choice, strict=True)] == [True, True, True, False]


def test_the_first_image_invalidates_the_messages_but_not_the_system_prompt():
    messages = [{"role": "system", "content": "s"}, user("u")]
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
    before, after = keys(messages), keys([*messages, image])
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_each_message_is_counted_once_over_all_requests_of_a_conversation():
    counted = []

    def counting(message: dict[str, Any]) -> int:
        counted.append(message)
        return 1

    messages = [user(str(n)) for n in range(200)]
    chain = BlockChain(count_tokens=counting)
    for end in range(1, len(messages) + 1):
        chain.prompt(messages[:end])
    assert len(counted) == len(messages)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(0, 12), st.integers(0, 3))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_chain_that_is_reused_gives_what_a_fresh_one_gives(words, cut, other):
    kinds = [user("x"), calls("a", "b", text="t"), result("a"), {"role": "user", "content": ""}]
    first = [dict(kinds[word]) for word in words]
    second = [*first[:cut], dict(kinds[other]), *first[cut:]]
    chain = BlockChain(TOOLS, count)
    for messages in (first, second, first[:cut], first):
        prompt = chain.prompt(messages)
        fresh = BlockChain(TOOLS, count).prompt(messages)
        assert [prompt[block] for block in range(len(prompt))] == [
            fresh[block] for block in range(len(fresh))
        ]
        assert prompt.tokens == fresh.tokens


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_each_request_extends_the_one_before(words):
    kinds = [user("x"), calls("a", "b", text="t"), result("a"), {"role": "user", "content": ""}]
    messages = [kinds[word] for word in words]
    whole = keys(messages)
    for end in range(len(messages)):
        part = keys(messages[:end])
        assert whole[: len(part)] == part


def thinking(seal: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "hm", "signature": seal}


def layout(message: dict[str, Any]) -> list[tuple[str, int, bool]]:
    prompt = BlockChain(count_tokens=count).prompt([message])
    blocks = [prompt[block] for block in range(len(prompt))]
    return [(block.kind, block.position, block.markable) for block in blocks]


def test_thinking_beside_the_content_is_a_position_of_its_own_as_inside_it():
    beside = {**calls("a", text="sure"), "thinking_blocks": [thinking("s")]}
    inside = {**calls("a"), "content": [thinking("s"), {"type": "text", "text": "sure"}]}
    routed = {
        **calls("a", text="sure"),
        "reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "s"}],
    }
    expected = [("thinking", 0, False), ("text", 1, True), ("tool_use", 2, True)]
    assert layout(beside) == layout(inside) == layout(routed) == expected


def test_blocks_are_in_the_order_in_which_the_model_said_them():
    order = ["thinking", "tool_use", "thinking", "content", "tool_use"]
    message = {
        **calls("a", "b", text="so"),
        "thinking_blocks": [thinking("1"), thinking("2")],
        "block_order": order,
    }
    kinds = ["thinking", "tool_use", "thinking", "text", "tool_use"]
    assert [(kind, position) for kind, position, _ in layout(message)] == list(
        zip(kinds, range(5), strict=True)
    )
    void = {**message, "block_order": order[:-1]}
    assert [kind for kind, _, _ in layout(void)] == ["thinking", "thinking", "text", "tool_use", "tool_use"]


def test_changed_thinking_gives_another_hash():
    one, two = ({**calls("a"), "thinking_blocks": [thinking(seal)]} for seal in ("1", "2"))
    assert keys([user("u"), one])[-1] != keys([user("u"), two])[-1]
