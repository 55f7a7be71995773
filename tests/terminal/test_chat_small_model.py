"""The embedded model: it ends, says what it cannot do, and its start and its size are stated once."""

import pytest
from chat_in_process import run_chat

from plimsoll.messages import text_of
from plimsoll.providers.local import embedded_model, model_path
from plimsoll.terminal.chat import chat_session
from plimsoll.terminal.chat.tool_requests import WITHOUT_TOOLS, needs_tools
from plimsoll.testing.scripted_server import ScriptedServer, say
from plimsoll.tools import ToolBox


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def small(chat):
    """Treat the scripted model like the embedded one."""
    agent = chat.opened.conversation.agent
    agent.connection.stops_repetition = True
    agent.toolbox = ToolBox()


def test_a_reply_that_repeats_itself_is_stopped_and_kept_once(home):
    endless = "Ships are big. " + "The sea is wide and deep. " * 400
    with ScriptedServer([say(endless), say("Good.")]) as server:
        done = run_chat(home, server, "Tell me about ships.", "Go on.", act=small)
        kept = text_of(dict(server.requests[1].body["messages"][2]))
    assert kept == "Ships are big. The sea is wide and deep."
    assert len(done.out) < 1_000
    assert done.notices.count("The reply began to repeat itself and was stopped.") == 1


def test_a_reply_that_is_cut_is_followed_by_a_note_with_the_setting(home):
    more = "  max_output_tokens: 40\n"
    with ScriptedServer([say("And then the ship").ending("length")]) as server:
        done = run_chat(home, server, "Tell me.", more=more)
    assert "The reply was cut at the limit of 40 tokens (model.max_output_tokens)" in done.notices


def test_a_question_that_needs_tools_is_answered_with_a_sentence_and_not_by_the_model(home):
    with ScriptedServer([say("A load line is a mark.")]) as server:
        done = run_chat(home, server, "What is in this folder?", "What is a load line?", act=small)
        (request,) = server.requests
    assert done.out == f"{WITHOUT_TOOLS}\nA load line is a mark.\n"
    assert [text_of(dict(message)) for message in request.body["messages"][1:]] == [
        "What is in this folder?",
        WITHOUT_TOOLS,
        "What is a load line?",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "List the files in this directory",
        "what's in the current directory?",
        "Run the tests and fix what fails",
        "Please read README.md and summarize it",
        "git status",
        "Search the web for ship prices",
        "Which files are here?",
        "Create a file named notes.txt",
        "What time is it now?",
    ],
)
def test_requests_for_files_commands_and_the_web_need_tools(text):
    assert needs_tools(text)


@pytest.mark.parametrize(
    "text",
    [
        "What is a load line on a ship?",
        "Write a function that reads files line by line",
        "Explain how git works",
        "Tell me about harbours and ships.",
        "How do I run a marathon?",
        "What is the meaning of the word 'directory'?",
        "Write a poem about the open sea",
        "Number 1. Please tell me about harbours and ships. The sea is wide and the harbour is deep.",
    ],
)
def test_questions_about_the_world_need_none(text):
    assert not needs_tools(text)


def test_a_model_that_was_just_downloaded_is_not_called_missing(home, embedded_home, monkeypatch):
    async def fetch(into):
        model_path(into).parent.mkdir(parents=True)
        model_path(into).symlink_to(model_path(embedded_home))

    monkeypatch.setattr(chat_session, "fetch_model", fetch)
    home.mkdir()
    done = run_chat(home, None, "Run the tests.")
    assert "not installed" not in done.notices
    assert done.notices.count("93 MB") == 1
    assert f"Downloading the embedded model ({embedded_model().download}, once)." in done.notices
    assert "Starting the embedded model." in done.notices
    assert done.out == f"{WITHOUT_TOOLS}\n"
