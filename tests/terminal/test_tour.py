"""The guided tour shows what really happens: the engine compacts, the archive finds, undo restores."""

import pytest
from chatting import Terminal

from plimsoll.messages import text_of, validate
from plimsoll.terminal.tour.recorded_session import ANSWER, WINDOW, RecordedSession

STEPS = 5
KEYS = "any key: next"


@pytest.fixture(scope="module")
def session():
    with RecordedSession() as session:
        session.steps = list(session.grow())
        session.report = session.compact()
        session.compacted = session.view()
        session.fact = session.recall()
        yield session


def test_the_conversation_grows_past_its_threshold_and_not_past_its_window(session):
    assert session.steps[-1].tokens >= session.engine.threshold_tokens
    assert session.steps[-1].tokens < WINDOW
    assert session.steps[-2].tokens < session.engine.threshold_tokens


def test_the_stored_view_is_what_the_engine_made_and_is_valid(session):
    assert session.report.outcome == "compacted"
    assert len(session.compacted) == session.report.messages_after < session.report.messages_before
    assert validate(session.compacted, "anthropic") == []


def test_the_answer_left_the_view_and_is_found_in_the_archive(session):
    assert not any(ANSWER in text_of(message) for message in session.compacted)
    assert not session.fact.in_view
    assert session.fact.line == ANSWER


def test_undo_restores_every_message(session):
    assert session.undo()
    assert len(session.view()) == len(session.steps)


def test_the_cache_and_compactions_each_lower_the_cost(session):
    costs = session.costs()
    assert costs.compacted.money < costs.cached.money < costs.uncached.money
    assert costs.compactions > 1
    assert costs.too_large > 0


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_every_step_of_the_tour_fits_the_screen(tmp_path, size):
    with Terminal(tmp_path, command="tour", size=size) as screen:
        screen.wait_for("1/5")
        screen.press("Space")  # skips the growth
        for step in range(1, STEPS):
            screen.wait_for(KEYS)
            # Without scrolling back, the step's heading is still on the screen when it asks for a key.
            assert f"{step}/5 " in screen.visible
            screen.press("Space")
            screen.wait_for(f"{step + 1}/5 ")
        shown = screen.wait_for("left with 0")
        assert "5/5 " in screen.visible
    assert ANSWER in shown
    assert "word for word as before" in shown


@pytest.mark.slow
def test_control_c_leaves_the_tour_without_an_error(tmp_path):
    with Terminal(tmp_path, command="tour", size=(80, 24)) as screen:
        screen.wait_for("1/5 ")
        screen.press("Space")
        screen.wait_for(KEYS)
        screen.press("C-c")
        shown = screen.wait_for("left with 0")
    assert "You left the tour." in shown
    assert "2/5 " not in shown
