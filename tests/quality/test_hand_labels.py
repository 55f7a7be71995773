"""Labels made by reading: tied to the text they are about, complete, balanced."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = {"claude_code": "claude_code", "codex": "codex"}  # every other agent counts as one kind


@pytest.fixture
def hand_labels(monkeypatch):
    """The loader; it lives beside the benchmark and not in the package."""
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "quality"))
    import hand_labels

    yield hand_labels
    sys.modules.pop("hand_labels", None)


@pytest.fixture
def folder(hand_labels, tmp_path):
    """A folder with one conversation and one labelled result of it."""
    messages = [
        {"role": "user", "content": "Run the tests."},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "1 failed"}]},
    ]
    told = {"id": "harbour", "messages": messages}
    (tmp_path / "told.jsonl").write_text(json.dumps(told) + "\n", "utf-8")
    row = {"file": "told.jsonl", "conversation": "harbour", "message": 1, "label": "failed"}
    row["sha256"] = hand_labels.sha256_of("1 failed")

    def write(**changes):
        (tmp_path / "outcomes.jsonl").write_text(json.dumps({**row, **changes}) + "\n", "utf-8")
        return tmp_path

    return write


def test_a_label_comes_with_the_conversation_it_is_about(hand_labels, folder):
    path = folder()
    (found,) = hand_labels.labelled("outcomes", path, path)
    assert found.row["label"] == "failed"
    assert hand_labels.text_of(found.messages[found.row["message"]]) == "1 failed"


@pytest.mark.parametrize(
    "changes",
    [{"sha256": "0" * 64}, {"message": 7}, {"conversation": "unknown"}, {"sha256": {"0": "0" * 64}}],
)
def test_a_label_whose_text_changed_or_is_gone_is_refused(hand_labels, folder, changes):
    path = folder(**changes)
    with pytest.raises(hand_labels.LabelMismatch, match=r"harbour|unknown"):
        list(hand_labels.labelled("outcomes", path, path))


def test_missing_conversations_are_reported_with_their_path(hand_labels, folder):
    path = folder()
    (path / "told.jsonl").unlink()
    with pytest.raises(hand_labels.DataMissing, match=r"NOT MEASURED.*told\.jsonl"):
        list(hand_labels.labelled("outcomes", path, path))


def test_agreement_counts_equal_labels_of_the_same_result(hand_labels):
    first = [
        {"file": "f", "conversation": "c", "message": n, "label": label}
        for n, label in enumerate(["ok", "failed", "ok"])
    ]
    second = [{**first[2]}, {**first[1], "label": "ok"}]
    assert hand_labels.agreement(first, second) == (1, 2)


def test_outcomes_are_many_of_every_kind_of_agent_and_a_third_failed(hand_labels):
    found = hand_labels.rows("outcomes")
    decided = [row for row in found if row["label"] != "undecidable"]
    assert {row["label"] for row in found} == {"ok", "failed", "undecidable"}
    assert len({(row["conversation"], row["call"]) for row in found}) == len(found)
    assert len(decided) >= 300
    kinds = Counter(KINDS.get(row["agent"], "other") for row in decided)
    assert set(kinds) == {"claude_code", "codex", "other"}
    assert min(kinds.values()) >= 65
    assert 0.28 <= sum(row["label"] == "failed" for row in decided) / len(decided) <= 0.4


def test_every_label_is_about_the_recorded_text(hand_labels):
    for name in hand_labels.TIED:
        try:
            assert list(hand_labels.labelled(name))
        except hand_labels.DataMissing as missing:
            pytest.skip(str(missing))


def test_aims_and_requests_are_labelled_in_runs_and_at_human_turns(hand_labels):
    found = hand_labels.rows("requests")
    assert len({(row["conversation"], row["cut"]) for row in found}) == len(found) >= 60
    assert Counter(row["place"] for row in found).keys() == {"human turn", "inside a run"}
    for row in found:
        cited = {*row["aim"], *row["request"]}
        assert cited
        assert max(cited) < row["cut"]
        assert cited == set(map(int, row["sha256"]))


def test_constraints_are_quoted_and_revoked_by_a_later_message(hand_labels):
    found = hand_labels.rows("constraints")
    cuts = {(row["conversation"], row["cut"]) for row in hand_labels.rows("requests")}
    assert len(found) >= 40
    assert {(row["conversation"], row["cut"]) for row in found} <= cuts
    for row in found:
        for stated in row["constraints"]:
            assert (stated["state"] == "revoked") == ("revoked_by" in stated)
            assert stated["message"] < stated.get("revoked_by", row["cut"]) <= row["cut"]


def test_quoted_words_occur_in_the_messages_they_are_quoted_from(hand_labels):
    try:
        for found in hand_labels.labelled("constraints"):
            for stated in found.row["constraints"]:
                assert stated["sentence"] in hand_labels.text_of(found.messages[stated["message"]])
        for found in hand_labels.labelled("requests"):
            for number, words in found.row.get("core", {}).items():
                assert words in hand_labels.text_of(found.messages[int(number)])
    except hand_labels.DataMissing as missing:
        pytest.skip(str(missing))


def test_sixty_outcomes_are_labelled_twice_and_agree(hand_labels):
    again = hand_labels.rows("outcomes_again")
    same, every = hand_labels.agreement(hand_labels.rows("outcomes"), again)
    assert every >= 60
    assert same / every >= 0.9


@pytest.mark.parametrize(("labels", "share"), [("languages", 1.0), ("languages_blind", 0.5)])
def test_every_language_has_goals_constraints_revocations_and_look_alikes(hand_labels, labels, share):
    found = hand_labels.rows(labels)
    counts = {"goal": 20, "constraint": 20, "revocation": 20, "look_alike": 10}
    expected = {kind: int(count * share) for kind, count in counts.items()}
    counted = Counter((row["language"], row["kind"]) for row in found)
    languages = ("zh", "es", "pt", "de", "ja")
    assert counted == {(language, kind): n for language in languages for kind, n in expected.items()}
    assert len({row["text"] for row in found}) == len(found)
    assert all(row["core"] in row["text"] for row in found if "core" in row)
    assert all(row["constraint"] for row in found if row["kind"] == "revocation")


def test_no_sentence_of_the_blind_half_occurs_in_the_other(hand_labels):
    known = {row["text"] for row in hand_labels.rows("languages")}
    assert not known & {row["text"] for row in hand_labels.rows("languages_blind")}


def test_readers_get_ten_questions_about_each_of_six_sessions(hand_labels):
    found = hand_labels.rows("readers")
    assert Counter(row["agent"] for row in found) == {"claude_code": 2, "codex": 2, "opencode": 2}
    for row in found:
        kinds = Counter(asked["kind"] for asked in row["questions"])
        assert kinds == {"value": 3, "file": 2, "decision": 2, "open": 3}
        sources = {number for asked in row["questions"] for number in asked["sources"]}
        assert sources == set(map(int, row["sha256"]))
        assert max(sources) < row["cut"]
        assert all(asked["key_points"] for asked in row["questions"])


def test_fixed_failures_passed_later_and_before_the_cut(hand_labels):
    found = hand_labels.rows("checks")
    assert sum(len(row["fixed"]) for row in found) >= 50
    assert any(row["open"] for row in found)
    for row in found:
        assert all(check["failed"] < check["passed"] < row["cut"] for check in row["fixed"])
        assert all(check["failed"] < row["cut"] for check in row["open"])
