"""Facts that people state in chats: the sentence that states one, its speaker, and what is no longer current."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from plimsoll.quality.handoff import content_words


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """`bench/quality/chat_facts.py`, which is no part of the package."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "bench" / "quality"))
    import chat_facts

    yield chat_facts
    sys.modules.pop("chat_facts", None)


def test_a_chat_fact_is_the_sentence_nearest_to_it_and_needs_its_speaker(bench: ModuleType) -> None:
    messages = [
        {"role": "user", "content": "Hello. Last Sunday I baked two loaves of rye bread for my sister."}
    ]
    (fact,) = bench.chat_facts(messages, [{"at": 0, "n": 1, "preference": "Likes rye bread", "who": "self"}])
    assert fact.sentence == "Last Sunday I baked two loaves of rye bread for my sister."
    named = bench.spoken_lines([], "- The user: last Sunday I baked two loaves of rye bread for my sister")
    assert bench.is_in_a_line(fact, [content_words(line) for line in named])
    assert bench.spoken_lines([], "- last Sunday I baked two loaves of rye bread") == []


def test_forgotten_and_superseded_facts_are_not_current(bench: ModuleType) -> None:
    messages = [{"role": "user", "content": "I drink strong coffee every single morning."}]
    known = {"at": 0, "n": 1, "preference": "Drinks coffee every morning", "who": "self"}
    later = {
        "at": 0,
        "n": 1,
        "preference": "Forget it",
        "pref_type": "ask_to_forget",
        "prev_pref": known["preference"],
    }
    (fact,) = bench.chat_facts(messages, [known, later])
    assert fact.is_forgotten
    assert not fact.is_current
