"""Chat without tools: facts that people stated, at 8K tokens, against a window of the newest messages of that size.

The score is the share of current facts that are carried, minus the share of superseded values that are presented as
current. Facts that the person asked to forget, and facts about others credited to the person, are counted in what the
summary says; what stands word for word in the newest messages is the conversation itself.
"""

import json
from dataclasses import dataclass
from typing import Any

from bars import Bar, at_least, at_most
from chat_facts import ChatFact, chat_facts, is_in_a_line, spoken_lines
from corpus import DATA
from hand_labels import DataMissing
from measures.run import Run, share, shown

from plimsoll import ContextCompressor
from plimsoll.quality import fit, recency_window, tokens
from plimsoll.quality.handoff import content_words
from plimsoll.quality.size_matching import SizeSettings

SIZE, WINDOW = 8_000, 64_000
RATIO, FORGOTTEN, OTHERS = 1.6, 0.05, 0.02


@dataclass(frozen=True, slots=True)
class Judged:
    """One chat: what is carried by the compaction and by the window."""

    name: str
    size: int  # tokens
    current: tuple[tuple[bool, bool], ...]
    superseded: tuple[tuple[bool, bool], ...]
    forgotten: tuple[tuple[str, bool], ...]
    others: tuple[tuple[str, bool], ...]


def bars(run: Run) -> list[Bar]:
    """Every chat."""
    judged = run.map(judge, run.sample(_chats(), 8), "chats")
    current = [pair for one in judged for pair in one.current]
    superseded = [pair for one in judged for pair in one.superseded]
    ours, newest = _score(current, superseded, 0), _score(current, superseded, 1)
    for one in judged:
        for sentence, is_shown in one.forgotten:
            run.wrong("forgotten fact shown", f"{one.name}: {sentence}", is_shown)
        for sentence, is_shown in one.others:
            run.wrong("fact of others credited", f"{one.name}: {sentence}", is_shown)
    forgotten = share(is_shown for one in judged for _, is_shown in one.forgotten)
    others = share(is_shown for one in judged for _, is_shown in one.others)
    return [
        at_least(
            f"chat facts at 8K, in units of a window of that size ({len(current)} facts)",
            ours / newest,
            RATIO,
        ),
        shown("chat facts at 8K", ours),
        shown("the same, newest messages", newest),
        shown("superseded values presented as current", share(pair[0] for pair in superseded)),
        at_most("facts that were to be forgotten", forgotten, FORGOTTEN),
        at_most("other people's facts credited to the user", others, OTHERS),
        at_most("tokens, largest chat", max(one.size for one in judged), SIZE),
    ]


def _score(current: list[tuple[bool, bool]], superseded: list[tuple[bool, bool]], which: int) -> float:
    kept = sum(pair[which] for pair in current) - sum(pair[which] for pair in superseded)
    return max(0.001, kept / len(current))


def _chats() -> list[dict[str, Any]]:
    path = DATA / "dev_chat.jsonl"
    if not path.exists():
        raise DataMissing(path)
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def judge(chat: dict[str, Any]) -> Judged:
    """One chat, compacted to 8K, and its newest messages."""
    messages = chat["messages"]
    facts = chat_facts(messages, chat["facts"])
    knobs = fit(lambda one: tokens(_compacted(messages, one)[0]), SIZE)
    result, summary = _compacted(messages, knobs)
    window = recency_window(messages, SIZE)
    lines = [content_words(line) for line in spoken_lines(result, summary)]
    newest = [content_words(line) for line in spoken_lines(window, "")]
    said = [content_words(line) for line in spoken_lines([], summary)]

    def pairs(chosen: list[ChatFact]) -> tuple[tuple[bool, bool], ...]:
        return tuple((is_in_a_line(fact, lines), is_in_a_line(fact, newest)) for fact in chosen)

    return Judged(
        chat["id"],
        tokens(result),
        pairs([fact for fact in facts if fact.is_current]),
        pairs([fact for fact in facts if fact.is_about_the_user and fact.is_superseded]),
        tuple((fact.sentence, is_in_a_line(fact, said)) for fact in facts if fact.is_forgotten),
        tuple((fact.sentence, is_in_a_line(fact, said)) for fact in facts if not fact.is_about_the_user),
    )


def _compacted(messages: list[dict[str, Any]], knobs: SizeSettings) -> tuple[list[dict[str, Any]], str]:
    engine = ContextCompressor(
        context_length=WINDOW,
        target_ratio=knobs.target_ratio,
        target_tokens=knobs.target_tokens,
    )
    result = engine.compress(messages)
    report = engine.last_report
    return result, report.whole_summary if report else ""
