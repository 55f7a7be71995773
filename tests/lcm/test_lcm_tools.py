"""The tools by which a model reads back what left its view."""

import json

import pytest
from lcm_host import Host, Model

from plimsoll.context.lcm import LcmEngine
from plimsoll.context.lcm.tools import schemas
from plimsoll.testing.pressure import window_usage_mentions


def harbour(count=60):
    """A conversation about ships: each comes in with a number that is said once, in a call or in a result."""
    messages = [{"role": "system", "content": "You keep the harbour log."}]
    for n in range(count):
        messages += [
            {"role": "user", "content": f"Which berth has ship number {n}?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": f"call_{n}",
                        "type": "function",
                        "function": {
                            "name": "look_up",
                            "arguments": json.dumps({"ship": n, "note": f"manifest MAN-{n:04}-Ä"}),
                        },
                    }
                ],
            },
            {
                "role": "tool",
                "tool_call_id": f"call_{n}",
                "content": f"The ship Petrel{n} lies at berth B{n:03}. " + "Calm water, light wind. " * 40,
            },
            {"role": "assistant", "content": f"It lies at berth B{n:03}."},
        ]
    return messages


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    host = Host(tmp_path_factory.mktemp("harbour"), window=16_000)
    host.session = host.begin()
    messages = harbour()
    host.say(host.session, messages[:1])
    for start in range(1, len(messages), 12):
        host.say(host.session, messages[start : start + 12])
        host.compact(host.session)
    assert host.nodes(host.session)
    yield host
    host.close()


def ask(host, name, **arguments):
    return json.loads(host.call(host.session, name, **arguments))


def hits(answer):
    return [hit for group in answer["groups"] for hit in group["hits"]]


def test_words_find_the_message_and_the_node_that_covers_it(host):
    answer = ask(host, "lcm_grep", pattern="Petrel3 berth", limit=1)
    (group,) = answer["groups"]
    (hit,) = group["hits"]
    assert "Petrel3 lies at berth B003" in hit["text"]
    described = ask(host, "lcm_describe", id=group["node"])
    first, last = map(int, described["messages"].split("–"))
    assert first <= int(hit["id"].removeprefix("m:")) <= last


def test_arguments_of_tool_calls_are_found(host):
    (hit,) = hits(ask(host, "lcm_grep", pattern=r"MAN-0007-Ä", mode="regex"))
    assert hit["role"] == "assistant"
    assert "MAN-0007-Ä" in hit["text"]


def test_hits_come_in_pages_until_there_are_none(host):
    seen, offset = [], 0
    while offset is not None:
        answer = ask(
            host, "lcm_grep", pattern=r"lies at berth B0\d\d\. Calm", mode="regex", limit=7, offset=offset
        )
        seen += [hit["id"] for hit in hits(answer)]
        offset = answer["next"]
    assert len(seen) == len(set(seen)) == 60


def test_words_that_no_message_holds_together_find_those_that_hold_most(host):
    found = hits(ask(host, "lcm_grep", pattern="Petrel5 berth zeppelin", limit=1))
    assert "Petrel5" in found[0]["text"]


def test_a_search_can_be_limited_to_a_node(host):
    leaf = next(node for node in host.nodes(host.session) if node.kind == "leaf")
    found = hits(ask(host, "lcm_grep", pattern="Which berth", node=leaf.id, limit=50))
    first, last = leaf.details["first"], leaf.details["last"]
    assert found
    assert all(first <= int(hit["id"].removeprefix("m:")) <= last for hit in found)


def test_a_search_can_be_limited_to_a_role_and_a_time(host):
    assert all(hit["role"] == "user" for hit in hits(ask(host, "lcm_grep", pattern="berth", role="user")))
    assert hits(ask(host, "lcm_grep", pattern="berth", before="2001-01-01")) == []
    assert hits(ask(host, "lcm_grep", pattern="berth", since="2001-01-01T00:00"))


def test_other_sessions_are_searched_only_when_asked(host):
    other = host.begin()
    host.say(other, [{"role": "user", "content": "A zebra came aboard."}])
    assert hits(ask(host, "lcm_grep", pattern="zebra")) == []
    (group,) = ask(host, "lcm_grep", pattern="zebra", session_scope="all")["groups"]
    assert group["session"] == other


def test_a_leaf_expands_to_every_word_in_pages_of_any_size(host):
    leaf = next(node for node in host.nodes(host.session) if node.kind == "leaf")
    text, offset = "", 0
    while offset is not None:
        page = ask(host, "lcm_expand", id=leaf.id, offset=offset, max_tokens=100)
        text, offset = text + page["text"], page["next"]
    assert len(text) == page["characters"]
    log = {one.sequence: one.message for one in host.log(host.session)}
    for sequence in range(leaf.details["first"], leaf.details["last"] + 1):
        message = log[sequence]
        assert (message["content"] or "") in text
        assert all(call["function"]["arguments"] in text for call in message.get("tool_calls", ()))


def test_a_beginning_of_an_id_is_enough_where_only_one_fits(host):
    leaf = next(node for node in host.nodes(host.session) if node.kind == "leaf")
    assert ask(host, "lcm_describe", id=leaf.id[:8])["id"] == leaf.id


def test_a_message_and_a_handle_are_described_and_expanded(host):
    described = ask(host, "lcm_describe", id="m:4")
    assert described["role"] == "tool"
    assert described["outline"].startswith("text, ")
    by_handle = ask(host, "lcm_expand", id=described["handle"])
    assert "Petrel0" in by_handle["text"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("lcm_grep", {"pattern": "(", "mode": "regex"}, "not a valid regular expression"),
        ("lcm_grep", {"pattern": ""}, "`pattern` must be a non-empty string"),
        ("lcm_grep", {"pattern": "x", "limit": 0}, "at least 1"),
        ("lcm_grep", {"pattern": "x", "since": "yesterday"}, "2026-11-15T09:00"),
        ("lcm_grep", {"pattern": "x", "node": "n:nothing"}, "There is no node"),
        ("lcm_grep", {"pattern": "x", "mode": "fuzzy"}, "one of text, regex"),
        ("lcm_expand", {"id": "n:0000000000"}, "No message or node has the id"),
        ("lcm_expand", {"id": "m:99999"}, "No message or node has the id"),
        ("lcm_expand_query", {"question": ""}, "`question` must be a non-empty string"),
        ("lcm_nothing", {}, "There is no tool"),
    ],
)
def test_a_mistake_is_answered_with_what_to_change(host, name, arguments, said):
    assert said in ask(host, name, **arguments)["error"]


def test_no_tool_and_no_answer_says_how_full_the_window_is(host):
    said = [json.dumps(schema) for schema in schemas()]
    said += [host.call(host.session, "lcm_status"), host.call(host.session, "lcm_grep", pattern="berth")]
    said.append(host.call(host.session, "lcm_describe", id=host.nodes(host.session)[0].id))
    assert window_usage_mentions([{"messages": [{"role": "user", "content": text} for text in said]}]) == []


def test_a_question_is_answered_with_the_ids_it_rests_on():
    model = Model("Petrel9 lies at berth B009 [m:40]. Nobody said so in [m:77777].")
    engine = LcmEngine(context_length=16_000)
    engine.compress(harbour())
    engine.summarizer = model
    answer = json.loads(
        engine.handle_tool_call("lcm_expand_query", {"question": "Where lies Petrel9?", "query": "Petrel9"})
    )
    assert answer["ids"] == ["m:40"]
    assert "Petrel9 lies at berth B009." in model.prompts[-1]


def test_a_question_without_a_model_is_answered_with_passages():
    engine = LcmEngine(context_length=16_000)
    engine.compress(harbour())
    arguments = {"question": "Where lies Petrel9?", "query": "Petrel9 berth"}
    answer = json.loads(engine.handle_tool_call("lcm_expand_query", arguments))
    assert answer["answer"] is None
    assert any("B009" in one["text"] for one in answer["excerpts"])


def test_a_secret_does_not_reach_the_model_that_answers():
    model = Model("It is not there.")
    engine = LcmEngine(context_length=8_000, summarizer=model)
    secret = "sk-ant-api03-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" * 2
    engine.compress(
        [{"role": "user", "content": f"The key is {secret} for the tide service."}, *harbour()[1:]]
    )
    engine.handle_tool_call("lcm_expand_query", {"question": "key?", "query": "tide service"})
    assert model.prompts
    assert not any(secret in prompt for prompt in model.prompts)
