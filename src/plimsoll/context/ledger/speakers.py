"""Whether a sentence is about its speaker or about someone else."""

import re
from collections.abc import Iterable

from plimsoll.context.ledger.forgotten import begins_with_topic
from plimsoll.context.ledger.personal_words import personal_words

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SUBJECT_WORDS = 3


def is_about_speaker(sentence: str) -> bool:
    """Whether a sentence with words that set a limit is about its speaker: "I earn only 2,900"."""
    first = next(iter(_lower_words(sentence)), "")
    if personal_words().addressed.search(sentence.lower()):
        return False
    is_own = first in personal_words().own or personal_words().own_signs.match(sentence) is not None
    return is_own or begins_with_topic(sentence)


def speaks_of_self(sentence: str) -> bool:
    words = personal_words()
    return not words.own.isdisjoint(_lower_words(sentence)) or words.own_signs.search(sentence) is not None


def speaks_of_others(sentence: str) -> bool:
    words = personal_words()
    spoken = (word.partition("'")[0] for word in _lower_words(sentence))  # he's, friend's
    return not words.others.isdisjoint(spoken) or words.other_signs.search(sentence) is not None


def tells_of_self(sentence: str) -> bool:
    """Whether the speaker is the one who acts; "never share my address" asks the reader."""
    words = _lower_words(sentence)
    return not personal_words().subjects.isdisjoint(words) or is_about_speaker(sentence)


def tells_about_self(sentence: str) -> bool:
    """Whether a sentence tells about its speaker and asks nothing of the reader."""
    return tells_of_self(sentence) and not personal_words().addressed.search(sentence.lower())


def is_about_someone_else(sentence: str) -> bool:
    """Whether a sentence starts with someone else: "He told me …", "My neighbour …", "A friend of mine …"."""
    first = list(_lower_words(sentence[:60]))[:_SUBJECT_WORDS]
    if not first:
        return personal_words().other_signs.match(sentence.lstrip()) is not None
    return first[0] in {*personal_words().others, "they"} or (
        first[0] in personal_words().before_others and not personal_words().others.isdisjoint(first[1:])
    )


def _lower_words(text: str) -> Iterable[str]:
    return _WORD.findall(text.lower().replace("’", "'"))
