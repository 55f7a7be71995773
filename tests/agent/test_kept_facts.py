"""A compaction's record counts the facts of messages that stay as kept, however the ledger words them."""

from plimsoll.agent.compaction_record import ledger_of

RULES = "You are careful.\n\nRules of the house:\n- Never commit with a failing test.\n- Run the tests first."
LATER = {"role": "user", "content": "Please never edit the generated file schema.sql by hand."}
ANSWER = {"role": "assistant", "content": "Understood."}


def before():
    return [
        {"role": "system", "content": RULES},
        {"role": "user", "content": "Build a berth list."},
        ANSWER,
        LATER,
        ANSWER,
    ]


def test_rules_of_a_system_prompt_that_stays_are_not_listed_as_lost():
    view = before()
    assert "lost" not in ledger_of(view, view, None)


def test_a_rule_whose_message_left_is_listed_as_lost():
    view = before()
    (lost,) = ledger_of(view, [*view[:3], view[4]], None)["lost"]
    assert "schema.sql" in lost["text"]
    assert lost["at"] == 3
