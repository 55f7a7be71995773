"""The recall tool, in the hands of a key that knows the handles and session ids of another one."""

from pathlib import Path

import pytest
from gateway_keys import add_key, owned
from recalling import FACT, NAMES, history, running

from plimsoll.archive import key_owner
from plimsoll.dialects import dialect_named
from plimsoll.gateway.dropin.recall_definition import NAME
from plimsoll.messages import Message, handle_of, text_of, tool_calls
from plimsoll.testing.scripted_server import call, say


def without_facts(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """A conversation of the same shape that does not have the fact."""
    return tuple(
        {**message, "content": message["content"].replace(FACT, "none")}
        if isinstance(message.get("content"), str)
        else message
        for message in messages
    )


@pytest.mark.rewrites_history("two keys have conversations of the same words")
@pytest.mark.parametrize("name", NAMES)
def test_a_key_cannot_recall_what_another_key_said(name: str, tmp_path: Path) -> None:
    keys = {who: add_key(tmp_path, who) for who in ("victim", "attacker")}
    dialect, talk = dialect_named(name), history("shared words")
    holder = next(one for one in talk if FACT in str(one.get("content")))
    with running(name, tmp_path) as upstream:
        for who, said in (("victim", talk), ("attacker", without_facts(talk))):
            upstream.ask(dialect, said[:2], False, keys[who])
            upstream.script.next = [say("Noted.")]
            upstream.ask(dialect, said, False, keys[who])
        (theirs,) = owned(tmp_path, key_owner(keys["victim"].split("-")[1]))
        (own,) = owned(tmp_path, key_owner(keys["attacker"].split("-")[1]))
        assert theirs.id != own.id
        tries = (
            {"handle": handle_of(holder)},
            {"handle": f"{theirs.id}/{handle_of(holder)}"},
            {"handle": theirs.id},
            {"query": FACT},
            {"query": "item-0417", "session": theirs.id, "owner": theirs.owner, "session_scope": "all"},
            {"query": theirs.id},
            {"handle": handle_of(holder), "id": theirs.id, "offset": 0},
        )
        upstream.script.next = [*(call(NAME, **one) for one in tries[:3]), say("Done.")]
        _, first = upstream.ask(dialect, without_facts(talk), False, keys["attacker"])
        upstream.script.next = [*(call(NAME, **one) for one in tries[3:5]), say("Done.")]
        more = (
            *without_facts(talk),
            {"role": "assistant", "content": "x"},
            {"role": "user", "content": "On."},
        )
        _, second = upstream.ask(dialect, more, False, keys["attacker"])
        upstream.script.next = [*(call(NAME, **one) for one in tries[5:]), say("Done.")]
        _, third = upstream.ask(
            dialect, (*more[:-1], {"role": "user", "content": "Again."}), False, keys["attacker"]
        )
    seen = [one.request for one in (*first, *second, *third)]
    results = [text_of(m) for one in seen if one for m in one.messages if m["role"] == "tool"]
    assert any("matches" in one or "No content" in one for one in results), "the tool has answered"
    for one in seen:
        assert one is not None
        said = [text_of(m) for m in one.messages if not tool_calls(m)]
        assert not any(f"holds {FACT}" in text for text in said)
