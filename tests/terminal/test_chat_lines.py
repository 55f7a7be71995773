"""What the chat says in a line fits its line; a streamed answer is cut only where it can be."""

import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from rich.cells import cell_len
from rich.console import Console

from plimsoll.agent import Notice, TextReceived, ToolCalled, ToolReturned
from plimsoll.archive import CompactionEvent, UsageTotal, ViewItem
from plimsoll.terminal.chat.completion import ChatCompleter
from plimsoll.terminal.chat.context_usage import context_bar, context_usage
from plimsoll.terminal.chat.markdown import newest_part, split_blocks
from plimsoll.terminal.chat.screen import LiveScreen, Screen
from plimsoll.terminal.chat.status_lines import Status, compaction_line, status_line, thousands, tool_line

ANSWERS = st.lists(
    st.sampled_from(["words", "\n", "\n\n", "```python\n", "```\n", "~~~\n", "- item\n", "`x`", " ", "\t\n"])
).map("".join)


@given(ANSWERS, st.data())
def test_blocks_streamed_in_any_pieces_are_the_blocks_of_the_whole(text, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)) | {0, len(text)})
    pending, finished = "", ""
    for start, end in pairwise(cuts):
        done, pending = split_blocks(pending + text[start:end])
        finished += done
    assert finished + pending == text
    assert finished == split_blocks(text)[0]


def test_code_is_not_cut_inside_its_fence():
    assert split_blocks("```\na\n\nb\n") == ("", "```\na\n\nb\n")
    assert split_blocks("```\na\n\nb\n```\nrest") == ("```\na\n\nb\n```\n", "rest")


@given(text=st.text(alphabet="ab \n", max_size=400), size=st.integers(1, 40))
def test_the_newest_part_of_an_answer_is_its_end_and_at_least_a_screen(text, size):
    part = newest_part(text, size)
    assert text.endswith(part)
    assert min(len(text), size) <= len(part) <= 3 * size


def test_the_newest_part_begins_at_the_same_word_while_an_answer_grows():
    text = "word " * 400
    begins = {len(text[:end]) - len(newest_part(text[:end], 100)) for end in range(1_000, 1_100)}
    assert begins == {805}


@given(st.text(max_size=300), st.text(max_size=300), st.integers(30, 200))
def test_a_tool_call_takes_one_line(call, result, width):
    line = tool_line(call, result, 0.4, width)
    assert cell_len(line) <= width
    assert "\n" not in line
    assert line.endswith("  0.4 s")


def test_a_tool_line_shows_call_result_and_time():
    line = tool_line("terminal(command=pytest -x)", "exit 1: 2 failed", 0.42, 80)
    assert line == "● terminal(command=pytest -x) … exit 1: 2 failed  0.4 s"


def test_the_line_of_a_compaction():
    event = CompactionEvent("threshold", "compressor", "compacted", "", 118, 27, 96_000, 21_000)
    expected = "compacted 118 → 27 messages, 96K → 21K tokens, 0.0 s waited, undo with /undo"
    assert compaction_line(event) == expected
    refused = CompactionEvent("by hand", "compressor", "refused", "compressor: nothing lies between")
    assert compaction_line(refused) == "not compacted: nothing lies between"


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1K"),
        (9_640, "9.6K"),
        (9_960, "10K"),
        (96_123, "96K"),
        (1_200_000, "1.2M"),
    ],
)
def test_tokens_as_people_say_them(tokens, said):
    assert thousands(tokens) == said


@given(st.integers(8, 120))
def test_the_status_fits_and_gives_up_its_end_first(width):
    total = UsageTotal(3, 1_000, 4_000, 0, 500, 0.42)
    line = status_line(Status("claude-sonnet-4.5", 21_000, 200_000, total), width)
    assert cell_len(line) <= width
    assert "claude-sonnet-4.5 · 21K of 200K (10 %) · cache 80 % · $0.42".startswith(line.rstrip("…"))


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=20), st.integers(20, 200))
def test_the_bar_has_every_cell_and_the_parts_add_up(tokens, width):
    items = [
        ViewItem({"role": "system" if not number else "user", "content": ""}, weight, number + 1)
        for number, weight in enumerate(tokens)
    ]
    used = sum(tokens) + 300
    found = context_usage(items, {2}, 300, used, 200_000)
    assert abs(found.used - used) <= 5
    assert sum(found.parts.values()) == 200_000
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(context_bar(found, width))
    bar = captured.get().splitlines()[0].rstrip().rsplit(" ", 2)[0].rstrip()
    assert len(bar) == max(10, min(60, width - 7))


def test_commands_and_models_are_completed():
    def completed(text):
        return [one.text for one in ChatCompleter().get_completions(Document(text), CompleteEvent())]

    assert completed("/com") == ["/compact", "/compress"]
    assert "claude-sonnet-4.5" in completed("/model sonnet-4")
    assert completed("/edits ") == ["ask", "accept", "plan"]
    assert completed("/export h") == ["html"]
    assert completed("no command") == []


@pytest.mark.parametrize("size", [1, 7, 400])
def test_one_empty_line_separates_the_blocks_of_an_answer(size):
    blocks = [
        "A paragraph.",
        "- one\n- two",
        "```python\nx = 1\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "> said",
        "---",
        "The end.",
    ]
    answer = "\n\n".join(blocks)
    written = io.StringIO()
    screen = LiveScreen(Console(file=written, width=80))
    for start in range(0, len(answer), size):
        screen.say(answer[start : start + size])
    screen.end_text()
    lines = [line.strip() for line in written.getvalue().splitlines()]
    assert lines == [
        "A paragraph.", "", "• one", "• two", "", "x = 1", "", "a  b", "────", "1  2", "", "▌ said", "", "-" * 80, "",
        "The end.",
    ]  # fmt: skip


def test_empty_lines_within_code_stay():
    written = io.StringIO()
    screen = LiveScreen(Console(file=written, width=80))
    screen.say("```\none\n\n\ntwo\n```\n")
    screen.end_text()
    assert [line.strip() for line in written.getvalue().splitlines()] == ["one", "", "", "two"]


def test_a_call_that_the_user_refused_is_shown_as_not_run():
    written = io.StringIO()
    screen = LiveScreen(Console(file=written, width=60))
    screen.emit(ToolCalled("1", "patch(path=app.py)"))
    screen.refuse("1")
    screen.emit(
        ToolReturned("1", "Error: patch was not run because it changes app.py", 0.0, True, "Error: …")
    )
    assert written.getvalue().rstrip() == "● patch(path=app.py) … not run  0.0 s"


def test_a_notice_about_a_reply_follows_the_reply():
    written = io.StringIO()
    screen = LiveScreen(Console(file=written, force_terminal=True, width=80))
    for event in (TextReceived("And then the ship"), Notice("The reply was cut.")):
        screen.emit(event)
    screen.end()
    assert written.getvalue().index("And then the ship") < written.getvalue().index("The reply was cut.")


def test_in_a_pipe_a_notice_does_not_continue_the_line_of_the_reply():
    both = io.StringIO()
    screen = Screen(Console(file=both), Console(file=both))
    for event in (TextReceived("And then the ship"), Notice("The reply was cut.")):
        screen.emit(event)
    screen.end()
    assert both.getvalue() == "And then the ship\nThe reply was cut.\n"
