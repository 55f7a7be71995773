"""The fast expressions of the ledger find what the plain ones find."""

import re

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.context.ledger.phrases import any_of
from plimsoll.context.ledger.sentences import SENTENCE, sentences_of

WORDS = st.text("abc.'", min_size=1, max_size=4)
PHRASES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


@given(phrases=st.lists(PHRASES, min_size=1, max_size=8), text=st.text("abc.' \n", max_size=40))
def test_the_expression_of_phrases_finds_the_longest_phrase_at_each_place(
    phrases: list[str], text: str
) -> None:
    longest_first = sorted(set(phrases), key=len, reverse=True)
    plain = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in longest_first)
    for pattern in ("{}", r"\b(?:{})\b"):
        expected = [found.span() for found in re.finditer(pattern.format(plain), text)]
        assert [found.span() for found in re.finditer(pattern.format(any_of(phrases)), text)] == expected


@given(text=st.text("a.!? \n\t\r\x1c", max_size=30) | st.text("a.!?।。？ \n\t", max_size=30))
def test_ascii_text_has_the_same_sentences_as_other_text(text: str) -> None:
    assert sentences_of(text) == SENTENCE.split(text)
