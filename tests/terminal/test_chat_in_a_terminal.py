"""A real terminal, driven by keys and read back: tmux."""

import pytest
from chatting import Terminal, configured

from plimsoll.messages import text_of, validate
from plimsoll.providers.local import model_path
from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say

pytestmark = pytest.mark.slow
ANSWER = "First a paragraph.\n\n- one\n- two\n\n```python\nprint('harbour')\n```\n\nAnd **then** the end.\n"


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return home


def terminal(home, server, *arguments, more="", **options):
    (home / "config.yaml").write_text(configured(server, more), "utf-8")
    return Terminal(home, *arguments, **options)


def test_an_answer_streams_as_markdown_and_nothing_of_it_is_lost(home):
    slow = fault("slow", seconds=0.1, between=0.03, then=say(ANSWER))
    with ScriptedServer([slow]) as server, terminal(home, server) as screen:
        screen.wait_for_prompt()
        screen.type("Tell me.")
        screen.wait_for("And then the end.")
        shown = screen.wait_for_prompt()
    for piece in ("First a paragraph.", " • one", " • two", "print('harbour')", "And then the end."):
        assert shown.count(piece) == 1
    assert "⚓ Session: " in shown
    assert "gpt-5 · " in shown.splitlines()[-1]


def test_a_narrow_terminal_without_colours(home):
    script = [call("terminal", command="echo a very long command " + "x" * 80), say(ANSWER)]
    with ScriptedServer(script) as server, terminal(home, server, size=(60, 20), NO_COLOR="1") as screen:
        screen.wait_for_prompt()
        screen.type("Go.")
        screen.wait_for("And then the end.")
        screen.type("/context")
        screen.wait_for("window")
        shown = screen.wait_for_prompt()
        assert screen.colours() == set()
    folded = [line for line in shown.splitlines() if line.startswith("●")]
    assert len(folded) == 1
    assert len(folded[0].rstrip()) <= 60


def test_control_c_in_the_middle_of_a_tool_stops_the_turn_and_not_the_session(home):
    script = [call("terminal", command="sleep 600"), say("Here again.")]
    with ScriptedServer(script) as server:
        with terminal(home, server) as screen:
            screen.wait_for_prompt()
            screen.type("Sleep.")
            screen.wait_for("sleep 600")
            screen.press("C-c")
            screen.wait_for("stopped")
            screen.wait_for_prompt()
            screen.type("Are you there?")
            screen.wait_for("Here again.")
            screen.wait_for_prompt()
            screen.press("C-c")
            screen.wait_for("Press Ctrl-C again to leave")
            screen.press("C-c")
            screen.wait_for("left with 0")
        messages = server.requests[-1].body["messages"]
    assert validate(messages) == []
    assert [message["role"] for message in messages] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert "[interrupted by the user]" in text_of(dict(messages[4]))


def test_control_c_in_the_middle_of_an_answer(home):
    slow = fault("slow", seconds=0.1, between=0.5, then=say("word " * 200))
    with ScriptedServer([slow, say("Here again.")]) as server, terminal(home, server) as screen:
        screen.wait_for_prompt()
        screen.type("Talk.")
        screen.wait_for("word word")
        screen.press("C-c")
        screen.wait_for("stopped; what was shown is kept")
        assert "word word" in screen.wait_for_prompt()
        screen.type("Go on.")
        screen.wait_for("Here again.")
        screen.wait_for_prompt()  # before it, the terminal itself would take the end of input
        screen.press("C-d")
        screen.wait_for("left with 0")


def test_a_dangerous_call_is_asked_about(home):
    precious = home.parent / "precious"
    precious.mkdir()
    remove = call("terminal", command=f"rm -rf {precious}")
    with ScriptedServer([remove, say("Kept."), remove, say("Gone.")]) as server:
        with terminal(home, server, size=(160, 30)) as screen:
            screen.wait_for_prompt()
            screen.type("Delete it.")
            screen.wait_for("run it? [y/N, or say why not]")
            screen.type("it is precious")
            screen.wait_for("Kept.")
            assert precious.exists()
            screen.wait_for_prompt()
            screen.type("Delete it now.")
            screen.wait_for("run it? [y/N, or say why not]", times=2)
            screen.type("y")
            screen.wait_for("Gone.")
            assert not precious.exists()
        refused = text_of(dict(server.requests[1].body["messages"][-1]))
    assert "it is precious" in refused


def test_a_key_that_the_question_does_not_offer_is_no_answer(home):
    script = [call("terminal", command="for n in 1 2; do touch $n; done"), say("Then not.")]
    with ScriptedServer(script) as server:
        with terminal(home, server) as screen:
            screen.wait_for_prompt()
            screen.type("Go.")
            screen.wait_for("run it? [y/N, or say why not]")
            screen.type("a")
            screen.wait_for("run it? [y/N, or say why not]", times=2)
            screen.type("too many")
            screen.wait_for("Then not.")
        result = text_of(dict(server.requests[-1].body["messages"][-1]))
    assert "refused: too many" in result


def test_a_request_that_failed_is_shown_to_be_tried_again(home):
    script = [fault(503), fault(503), fault(503), say("Twelve.")]
    with ScriptedServer(script) as server, terminal(home, server) as screen:
        screen.wait_for_prompt()
        screen.type("How deep?")
        screen.wait_for("the provider answered 503; trying again")
        screen.wait_for("Twelve.")


def test_always_allows_a_program_in_this_project_also_in_the_next_chat(home):
    project = home.parent / "project"
    project.mkdir()
    name = "x" * 120  # long enough that a shortened question would hide what follows
    script = [
        call("terminal", command=f"touch {name} {name}1 {name}2 last"),
        say("Made."),
        call("terminal", command="touch second"),
        say("Again."),
    ]
    options = {"size": (160, 30), "directory": project}
    with ScriptedServer(script) as server:
        with terminal(home, server, **options) as screen:
            screen.wait_for_prompt()
            screen.type("Make it.")
            shown = screen.wait_for("run it? [y/N, a = always touch in this project, or say why not]")
            assert "2 last" in shown.replace("\n", "")
            screen.type("a")
            screen.wait_for("Made.")
        with terminal(home, server, **options) as screen:
            screen.wait_for_prompt()
            screen.type("Once more.")
            screen.wait_for("Again.")
    assert (project / "last").exists()
    assert (project / "second").exists()


def test_what_is_typed_during_a_turn_waits_for_the_next_prompt(home):
    slow = fault("slow", seconds=1.0, then=say("First answer."))
    with ScriptedServer([slow, say("Second answer.")]) as server, terminal(home, server) as screen:
        screen.wait_for_prompt()
        screen.type("One.")
        screen.wait_for("thinking")
        screen.type("Two.")
        shown = screen.wait_for("Second answer.")
    assert shown.index("First answer.") < shown.index("Two.") < shown.index("Second answer.")
    assert shown.count("Two.") == 1


def test_what_is_typed_before_control_c_stops_a_turn_stays_at_the_prompt_and_is_not_sent(home):
    slow = fault("slow", seconds=20.0, then=say("First answer."))
    with ScriptedServer([slow, say("Second answer.")]) as server, terminal(home, server) as screen:
        screen.wait_for_prompt()
        screen.type("One.")
        screen.wait_for("thinking")
        screen.type("Two.")
        screen.press("t", "h", "r", "e", "e", "C-c")
        screen.wait_for("stopped")
        screen.wait_for("› Two.\n  three")
        # The turn may be stopped before its request arrives.
        assert not any("Two." in str(request.body) for request in server.requests)


def test_the_embedded_model_talks_compacts_with_a_focus_and_takes_it_back(home, embedded_home):
    target = model_path(home)
    target.parent.mkdir()
    target.symlink_to(model_path(embedded_home))
    # The summary, 5 % of the window, is what takes long here.
    config = (
        "compression:\n  protect_last_n: 2\n  target_ratio: 0.1\n"
        "model:\n  context_length: 4096\n  max_output_tokens: 30\n"
    )
    (home / "config.yaml").write_text(config, "utf-8")
    story = "Please tell me about harbours and ships. " + "The sea is wide and the harbour is deep. " * 25
    with Terminal(home, size=(100, 40)) as screen:
        shown = screen.wait_for_prompt(180)
        assert "so the embedded model answers" in " ".join(shown.split())
        assert "📏 Context: 4,096 tokens, compaction at 2,048" in shown
        assert "💾 Prompt caching: off" in shown
        for number in range(1, 5):
            screen.type(f"Number {number}. {story}")
            screen.wait_for(f"Number {number}.")
            screen.wait_for_prompt(180)
        screen.type("/compress harbours")
        shown = screen.wait_for("undo with /undo", seconds=180)
        assert "compacted 9 → " in shown
        screen.wait_for_prompt()
        screen.type("/context")
        shown = screen.wait_for("▒ summary")
        screen.wait_for_prompt()
        screen.type("/undo")
        shown = screen.wait_for("Undone: ")
        assert "→ 9 messages" in shown
        screen.wait_for_prompt()
        screen.type("/quit")
        screen.wait_for("left with 0")


def test_escape_continues_without_a_summary_that_does_not_come(home):
    long = ("word " * 60 + "\n\n") * 40  # paragraphs: an unfinished one is drawn again with every word

    def answer(request):
        is_summary = "## Critical Context" in str(request.messages[-1]["content"])
        return fault("hang") if is_summary else say(f"Answer {len(request.messages)}. {long}")

    small = (
        "  cards:\n    small: {window: 12000}\ncompression:\n  protect_last_n: 2\n  background: false\n"
        "auxiliary:\n  compression:\n    idle_timeout: 600\n"
    )
    with ScriptedServer(answer) as server:
        (home / "config.yaml").write_text(configured(server, small, "small"), "utf-8")
        with Terminal(home, size=(100, 200)) as screen:
            for question in ("one", "two", "three"):
                screen.wait_for_prompt()
                screen.type(f"question {question}")
            screen.wait_for("Esc continues without it")
            screen.press("n", "e", "x", "t")
            screen.press("Escape")
            screen.wait_for("undo with /undo")
            screen.wait_for("› next")


def test_a_diff_is_asked_about_and_what_was_typed_before_waits_for_the_prompt(home):
    (home / "app.py").write_text("port = 8080\nhost = 'sea'\n", "utf-8")
    change = call("patch", path="app.py", old_string="8080", new_string="9090")
    listing = call("terminal", command="seq 40")
    script = [fault("slow", seconds=1.0, then=change), listing, say("Changed.")]
    with ScriptedServer(script) as server, terminal(home, server, size=(80, 24)) as screen:
        screen.wait_for_prompt()
        screen.type("Change the port.")
        screen.wait_for("thinking")
        screen.press("n", "e", "x", "t")
        shown = screen.wait_for("make this change?")
        assert "-port = 8080" in shown
        assert "+port = 9090" in shown
        screen.type("y")
        screen.wait_for("Changed.")
        shown = screen.wait_for("› next")
        assert "└ 41 lines, Ctrl-O shows them" in shown
        screen.press("C-o")
        screen.wait_for("exit code: 0")
        assert "› next" in screen.shown
    assert "9090" in (home / "app.py").read_text("utf-8")
