"""What every store promises about outlines: the sizes of everything in a session, without its texts."""

import base64

from archive_driver import EVENT, Driver, assistant, summary, talk, user

from plimsoll.archive import ReferenceOutline, ShortenedReference, Span, ViewDraft


def test_an_outline_has_the_sizes_that_the_messages_have(archive: Driver):
    said = talk(6)
    id = archive.begin(*said)
    outline = archive.outline(id)
    stored = archive.messages(id)
    assert list(outline.roles) == [one["role"] for one in said]
    assert list(outline.tokens) == [one.tokens for one in stored]
    assert list(outline.times) == [one.time for one in stored]
    assert outline.views == ()
    assert archive.outline(id, 5).roles == outline.roles[4:]


def test_an_outline_has_the_bytes_of_images_and_files(archive: Driver):
    picture = base64.b64encode(bytes(range(256)) * 4).decode()
    parts = [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/one.png"}},
        {"type": "file", "file": {"filename": "a.bin", "file_data": picture}},
    ]
    id = archive.begin(user("Hello."), {"role": "user", "content": parts}, assistant("A picture."))
    assert archive.outline(id).media == (0, 2 * 1024, 0)
    assert archive.outline(archive.fork(id).id).media == (0, 2 * 1024, 0)


def test_an_outline_weighs_every_view_as_the_archive_does(archive: Driver):
    said = talk(10)
    id = archive.begin(*said)
    archive.compact(id, [said[0], summary("A"), *said[7:]])
    archive.append(id, talk(3, "later"), turn="t")
    weights = {0: archive.view_size(id, archive.view(id, 0)), archive.view(id).number: archive.view_size(id)}
    outline = archive.outline(id)
    for view in outline.views:
        weighed = sum(
            sum(outline.tokens[one.first - 1 : one.last]) if one.tokens is None else one.tokens
            for one in (*view.references, ReferenceOutline(view.through + 1, outline.session.messages))
        )
        assert weighed == weights[view.number][1]
    assert [view.log_length for view in outline.views] == [10]


def test_a_shortened_message_counts_as_the_model_sees_it(archive: Driver):
    said = [user("look"), assistant("a " * 4_000), user("and")]
    id = archive.begin(*said)
    short_form = ShortenedReference(2, assistant("a " * 40), archive.messages(id)[1].handle)
    archive.commit_compaction(id, ViewDraft(0, (Span(1, 1), short_form), 2), EVENT)
    (view,) = archive.outline(id).views
    short = [one for one in view.references if one.tokens is not None]
    assert [(one.first, one.last) for one in short] == [(2, 2)]
    assert 0 < short[0].tokens < archive.outline(id).tokens[1] / 20


def test_a_fork_has_the_views_of_its_parent_that_know_only_shared_messages(archive: Driver):
    said = talk(10)
    id = archive.begin(*said)
    archive.compact(id, [said[0], summary("A"), *said[7:]])
    archive.append(id, talk(10, "later"), turn="t")
    archive.compact(id, [said[0], summary("B"), *talk(10, "later")[8:]])
    early, late = archive.fork(id, at=12).id, archive.fork(id).id
    assert [len(archive.outline(one).views) for one in (early, late)] == [1, 2]
    assert len(archive.outline(early).roles) == 12


def test_evidence_is_the_share_of_a_summary_under_its_heading(archive: Driver):
    said = talk(10)
    id = archive.begin(*said)
    archive.compact(id, [said[0], summary(f"{'a ' * 500}\n## Evidence\n{'b ' * 500}"), *said[7:]])
    (view,) = archive.outline(id, evidence="## Evidence").views
    (node,) = [one for one in view.references if one.node]
    assert 0.4 < node.evidence / node.tokens < 0.6
    assert [one.evidence for one in archive.outline(id).views[0].references] == [0, 0]
