"""Facts that people state in a chat, and whether a compacted context still contains them.

    facts (recorder)     {"at": 12, "preference": "Likes baking bread", "who": "self", "prev_pref": …}
    stated sentence      "Last Sunday I baked two loaves of bread …"     the sentence of the turn nearest to the fact
    kept                 one line that names its speaker and contains 60 % of that sentence's content words

A value that a later fact replaced, one that the person asked to forget, and one about another person must not be
presented as a current fact about the person.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.messages import Message, text_of
from plimsoll.quality.handoff import LINE_SHARE, content_words

_STEM = 5  # letters by which forms of one word are matched: bake, baked, baking
_END = ".!?\n"
_SHORTEST = 12
_MIN_COMMON = 2  # words that a sentence must share with a fact to state it; fewer only allude to it
# Words that mark a summary line as not, or no longer, a fact about the person.
_NOT_CURRENT = (
    "someone else",
    "somebody else",
    "other people",
    "no longer",
    "superseded",
    "formerly",
    "quoted",
)


@dataclass(frozen=True, slots=True)
class ChatFact:
    """A fact with the sentence that stated it."""

    at: int
    sentence: str
    is_about_the_user: bool = True
    is_forgotten: bool = False  # the person asked to forget it later
    is_superseded: bool = False  # a later fact replaced it

    @property
    def is_current(self) -> bool:
        """Whether the compacted context must keep the fact."""
        return self.is_about_the_user and not self.is_forgotten and not self.is_superseded


def chat_facts(messages: Sequence[Message], recorded: Sequence[Mapping[str, Any]]) -> list[ChatFact]:
    """The recorded facts that a person's sentence states, with that sentence."""
    forgotten = {record.get("prev_pref") for record in recorded if record.get("pref_type") == "ask_to_forget"}
    replaced = {
        record.get("prev_pref") for record in recorded if record.get("pref_type") != "ask_to_forget"
    } - {None}
    found = []
    for item in recorded:
        if item.get("pref_type") in ("ask_to_forget", "multimodal"):
            continue
        sentence = _stated(messages[item["at"] : item["at"] + item.get("n", 1)], item["preference"])
        if sentence:
            found.append(
                ChatFact(
                    item["at"],
                    sentence,
                    item.get("who") == "self",
                    item["preference"] in forgotten,
                    item["preference"] in replaced,
                )
            )
    return found


def _stated(turns: Sequence[Message], preference: str) -> str:
    """The person's sentence that shares the most words with the fact."""
    wanted = _stems(preference)
    best, highest = "", _MIN_COMMON - 1
    for turn in turns:
        if turn.get("role") != "user":
            continue
        for sentence in sentences(text_of(turn)):
            common = len(wanted & _stems(sentence))
            if common > highest:
                best, highest = sentence, common
    return best


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, split at closing punctuation and line ends."""
    start = 0
    for place, sign in enumerate(text):
        if sign in _END and (sign == "\n" or text[place + 1 : place + 2] in ("", " ", "\n", '"', "”")):
            piece = text[start : place + 1].strip()
            if len(piece) >= _SHORTEST:
                yield piece
            start = place + 1
    if len(text[start:].strip()) >= _SHORTEST:
        yield text[start:].strip()


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in content_words(text)}


def spoken_lines(result: Sequence[Message], summary: str) -> list[str]:
    """The lines that name the user in the summary, and the lines of the user's remaining messages."""
    lines = [line for line in summary.splitlines() if "user" in line.casefold() and not _is_not_current(line)]
    for message in result:
        if message.get("role") == "user" and not (summary and summary[:200] in text_of(message)):
            lines += text_of(message).splitlines()
    return lines


def _is_not_current(line: str) -> bool:
    return any(words in line.casefold() for words in _NOT_CURRENT)


def is_in_a_line(fact: ChatFact, lines: Sequence[set[str]]) -> bool:
    """Whether one of the lines, given as sets of content words, contains the fact."""
    wanted = content_words(fact.sentence)
    return any(len(wanted & line) >= LINE_SHARE * len(wanted) for line in lines)
