"""A snippet shows its match whole, between whole words where the words are not too long."""

import re

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.archive.snippet import SNIPPET, cut

WORDS = st.lists(st.text("ab@.\u00e9", min_size=1, max_size=12), min_size=1, max_size=80)


@given(WORDS, st.data())
def test_a_snippet_begins_and_ends_between_words_and_marks_its_match(words, data):
    text = " ".join(words)
    matches = [match.span() for match in re.finditer(r"\S+", text)]
    place = data.draw(st.sampled_from(matches))
    snippet, marks = cut(text, [place])
    shown = snippet.removeprefix("… ").removesuffix(" …")
    assert len(shown) <= SNIPPET
    assert set(shown.split()) <= set(words)
    assert [snippet[a:b] for a, b in marks] == [text[place[0] : place[1]]]


@given(st.text("ab", min_size=400, max_size=600), st.integers(0, 300))
def test_a_word_longer_than_a_snippet_is_cut_around_its_match(text, first):
    snippet, marks = cut(text, [(first, first + 5)])
    assert len(snippet) <= SNIPPET + 4
    assert [snippet[a:b] for a, b in marks] == [text[first : first + 5]]
