"""What every store promises about messages that are too large for the model."""

from archive_driver import Driver, assistant, summary, talk, user

from plimsoll.archive import SearchQuery
from plimsoll.models import estimate_message_tokens

WHOLE = {"role": "tool", "tool_call_id": "c1", "content": "lantern " * 5_000}
SHORT = {"role": "tool", "tool_call_id": "c1", "content": "lantern … [40,000 characters in all]"}
CALL = {"id": "c1", "type": "function", "function": {"name": "dump", "arguments": "{}"}}
SAID = [user("read it"), assistant(None, tool_calls=[CALL]), WHOLE]
SEEN = [*SAID[:2], SHORT]


def begun(archive: Driver) -> str:
    id = archive.begin()
    archive.append(id, SAID, turn="t1", shown={2: SHORT})
    return id


def test_the_log_has_the_whole_and_every_view_the_form_that_was_stored_with_it(archive: Driver):
    id = begun(archive)
    archive.reopen()
    assert archive.said(id) == SAID
    assert archive.seen(id) == SEEN
    assert archive.search(SearchQuery("lantern", limit=1)).hits[0].sequence == 3
    assert archive.find_by_handle(archive.items(id)[2].handle)[0].message == WHOLE
    assert archive.view_size(id) == (3, sum(map(estimate_message_tokens, SEEN)))
    assert archive.session(id).tokens == sum(map(estimate_message_tokens, SAID))


def test_undo_and_forks_keep_the_form(archive: Driver):
    id = begun(archive)
    archive.append(id, talk(6), turn="t2")
    archive.compact(id, [summary("all"), *talk(6)[-2:]])
    archive.append(id, SAID, turn="t3", shown={2: SHORT})
    assert archive.seen(id)[-3:] == SEEN
    archive.undo(id)
    assert archive.seen(id) == [*SEEN, *talk(6), *SEEN]
    assert archive.seen(archive.fork(id).id) == archive.seen(id)
    assert archive.delete(id) == 12


def test_saving_the_turn_again_stores_the_form_once(archive: Driver):
    id = begun(archive)
    assert archive.append(id, SAID, turn="t1", shown={2: SHORT}).stored == 0
    assert archive.seen(id) == SEEN


def test_a_compaction_may_keep_it_drop_it_or_hold_it_pinned(archive: Driver):
    id = begun(archive)
    archive.append(id, talk(4), turn="t2")
    archive.pin(id, 3)
    archive.compact(id, [*SEEN, summary("the rest")])
    assert archive.seen(id) == [*SEEN, summary("the rest")]
    archive.unpin(id, 3)
    archive.compact(id, [summary("all")])
    assert archive.seen(id) == [summary("all")]
    assert archive.said(id)[2] == WHOLE
