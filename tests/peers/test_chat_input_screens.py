"""The chat in a real terminal of 80 × 24 and 120 × 40: images, vi keys, the terminal's colours, the small model."""

import base64

import pytest
from camera import SIZES, Camera
from chatting import Terminal, configured

from plimsoll.providers.local import model_path
from plimsoll.terminal.chat.tool_requests import WITHOUT_TOOLS
from plimsoll.testing.scripted_server import ScriptedServer, say

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
CODE = "```python\ndef depth(tide):\n    return 12 + tide  # fathoms\n```\n"
THEMES = {
    "theme-dark": {"COLORFGBG": "15;0"},
    "theme-light": {"COLORFGBG": "0;15"},
    "theme-none": {"NO_COLOR": "1"},
}
# Replies of 3 tokens are cut, so that the note about it appears.
EMBEDDED = "model:\n  context_length: 4096\n  max_output_tokens: 3\n"


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_an_image_is_attached_by_its_path_and_by_pasting_it(home, size):
    (home / "chart.png").write_bytes(PNG)
    (home / "harbour plan.png").write_bytes(PNG)
    with ScriptedServer([say("A chart of the harbour."), say("The plan has two piers.")]) as server:
        (home / "config.yaml").write_text(configured(server), "utf-8")
        with Terminal(home, size=size) as screen:
            camera = Camera(screen, size)
            screen.wait_for_prompt()
            screen.type("What is on chart.png?")
            assert "attached chart.png" in camera.take("image-by-path", "A chart of the harbour.")
            screen.wait_for_prompt()
            screen.paste(f"'{home / 'harbour plan.png'}'")  # as a terminal pastes a dropped file
            screen.wait_for(f'@"{home}'[:40])
            screen.type("and here?")
            camera.take("image-pasted", "two piers")
            screen.wait_for_prompt()
        contents = [request.body["messages"][-1]["content"] for request in server.requests]
    assert [[part["type"] for part in content] for content in contents] == [["text", "image_url"]] * 2
    sent = [content[1]["image_url"]["url"].partition(",")[2] for content in contents]
    assert [base64.b64decode(one) for one in sent] == [PNG, PNG]


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_the_prompt_has_the_vi_keys_of_readline(home, size):
    (home / "inputrc").write_text("set editing-mode vi\n", "utf-8")
    with ScriptedServer([say("Twelve.")]) as server:
        (home / "config.yaml").write_text(configured(server), "utf-8")
        with Terminal(home, size=size, INPUTRC=str(home / "inputrc")) as screen:
            camera = Camera(screen, size)
            screen.wait_for_prompt()
            screen.press(*"How", "Space", *"wide", "Space", *"is", "Space", *"it?")
            screen.wait_for("› How wide is it?")
            screen.press("Escape")
            camera.take("vi-normal", "› How wide is it?")
            screen.press("0", "w", "c", "e", *"deep")
            camera.take("vi-changed", "› How deep is it?")
            screen.press("Enter")
            screen.wait_for("Twelve.")
        (request,) = server.requests
    assert request.body["messages"][-1]["content"] == "How deep is it?"


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_the_colours_are_those_of_the_terminal(home, size):
    seen = {}
    for name, variables in THEMES.items():
        with ScriptedServer([say(CODE)]) as server:
            (home / "config.yaml").write_text(configured(server), "utf-8")
            with Terminal(home, size=size, **variables) as screen:
                screen.wait_for_prompt()
                screen.type("Show me code.")
                screen.wait_for("fathoms")
                screen.wait_for_prompt()
                Camera(screen, size).take(name, "fathoms")
                seen[name] = screen.colours()
    assert seen["theme-none"] == set()
    assert seen["theme-dark"] != seen["theme-light"]
    # 38 and 48 would choose colours that a theme does not have.
    assert not {38, 48} & (seen["theme-dark"] | seen["theme-light"])


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_the_embedded_model_says_that_it_starts_what_it_cannot_do_and_where_it_was_cut(
    home, size, embedded_home
):
    model_path(home).parent.mkdir()
    model_path(home).symlink_to(model_path(embedded_home))
    (home / "config.yaml").write_text(EMBEDDED, "utf-8")
    with Terminal(home, size=size) as screen:
        camera = Camera(screen, size)
        camera.take("embedded-starting", "Starting the embedded model")
        screen.wait_for_prompt()
        screen.type("Which files are in this folder?")
        screen.wait_for("This model has no tools")
        screen.wait_for_prompt()
        shown = camera.take("embedded-without-tools", "This model has no tools")
        screen.type("Tell me a long story about harbours and ships.")
        screen.wait_for("The reply was cut")
        screen.wait_for_prompt()
        cut = " ".join(camera.take("embedded-cut", "The reply was cut").split())
        (answer,) = [line for line in screen.shown.split("harbours and ships.")[1].splitlines() if line][:1]
    assert WITHOUT_TOOLS in " ".join(shown.split())
    assert not answer.startswith("The reply was cut")  # the note follows the reply
    assert "The reply was cut at the limit of 3 tokens (model.max_output_tokens)" in cut
