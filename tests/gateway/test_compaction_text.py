"""The text that a client gets when it asks for a compaction."""

from plimsoll.context.markers import SUMMARY_PREFIX
from plimsoll.gateway.dropin.client_compaction import compaction_text


def test_the_text_of_an_earlier_compaction_is_kept_whole_however_long_it_is():
    earlier = SUMMARY_PREFIX + "\n" + "\n".join(f"- fact {n} of the first day" for n in range(1_000))
    view = [{"role": "user", "content": earlier}, {"role": "user", "content": "Go on."}]
    text = compaction_text(view, room=100)
    assert earlier in text
    assert text.endswith("user: Go on.")


def test_messages_that_do_not_fit_are_counted():
    view = [{"role": "user", "content": f"{n} " + "x" * 80} for n in range(5)]
    text = compaction_text(view, room=200)
    assert "[3 earlier messages left out]" in text
    assert "user: 4 x" in text
