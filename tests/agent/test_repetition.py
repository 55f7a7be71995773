"""A reply that repeats itself is recognised, and good text is not taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.agent.repetition import LONGEST_UNIT, MIN_LENGTH, MIN_TIMES, repetition_start

PROSE = """A load line is a mark on the hull of a ship. It shows how deep she may lie in the water.

- Samuel Plimsoll fought for it in Parliament.
- The Merchant Shipping Act of 1876 made it compulsory.
- Today the International Convention on Load Lines applies.

```python
for ship in harbour:
    if ship.draught > ship.load_line:
        ship.unload(ship.draught - ship.load_line)
```

| zone | mark |
|------|------|
| tropical | T |
| summer | S |
| winter | W |
| fresh water | F |
"""


@pytest.mark.parametrize("end", range(0, len(PROSE), 7))
def test_good_text_does_not_repeat_itself(end):
    assert repetition_start(PROSE[:end]) is None


PASSAGES = st.text(min_size=1, max_size=LONGEST_UNIT).filter(lambda unit: unit.strip(" \n-=_*#.|"))


@given(PASSAGES, st.text(max_size=200))
def test_a_passage_that_comes_again_and_again_is_found_wherever_the_reply_stops(unit, before):
    times = max(MIN_TIMES, MIN_LENGTH // len(unit) + 1)
    text = before + unit * times
    start = repetition_start(text)
    assert start is not None
    assert start < len(text)


def test_the_text_before_the_first_repetition_says_everything_once():
    text = "Well. " + "The sea is wide and deep. " * 6
    for cut in range(27):
        stopped = text[: len(text) - cut]
        assert stopped[: repetition_start(stopped)] == "Well. The sea is wide and deep."


def test_lines_that_differ_only_in_their_numbers_repeat():
    text = "Here it is:\n" + "".join(f"{number}. The harbour is deep and wide.\n" for number in range(1, 6))
    assert text[: repetition_start(text)] == "Here it is:\n1. The harbour is deep and wide.\n"
