"""Sessions that Plimsoll wrote, resumed by the agents themselves."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, ClaudeCode, Codex, GeminiCli, Home
from browsing import browser

from plimsoll.dialects import ChatRequest
from plimsoll.messages import text_of, tool_calls, validate
from plimsoll.testing.scripted_server import ScriptedServer, call, say

AGENTS: list[Agent] = [ClaudeCode(), Codex(), GeminiCli()]
FACT = "The harbour master's extension is 8417."
# Gemini CLI removes white space from the ends of what the model says.
FILLER = ("A tide table lists the hours of high water for every day of the month. " * 60).strip()
ROUNDS = 8  # of long tables, which a compaction takes out
WINDOW = 900_000
ASKED = "What is the extension of the harbour master? Show me the tide tables, too."
NEXT = "Which harbour did we talk about?"


def answers(agent: Agent) -> Any:
    """A script: one command that prints a fact, then a run of commands with much text between them."""

    def answer(request: ChatRequest) -> Any:
        asked = [text_of(m) for m in request.messages if m["role"] == "user"]
        newest = next((one for text in reversed(asked) for one in (NEXT, ASKED) if one in text), "")
        rounds = sum(bool(tool_calls(message)) for message in request.messages)
        if newest == ASKED and rounds <= ROUNDS:
            name, arguments = agent.call(
                f"echo {shlex.quote(FACT)}" if rounds == 0 else f"echo table {rounds}"
            )
            return say(FILLER) + call(name, **arguments) if rounds else call(name, **arguments)
        return say(FACT if newest else "Ready.")  # a client may ask for a title and the like, too

    return answer


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(agent, id=f"from {agent.target}", marks=pytest.mark.xdist_group(agent.target))
        for agent in AGENTS
    ],
)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Agent, Home]:
    """A session with tools, held by the real agent."""
    agent: Agent = request.param
    home = Home(tmp_path_factory.mktemp(agent.target))
    with ScriptedServer(answers(agent), model=agent.model, window=WINDOW) as server:
        assert agent.ask(home, server, ASKED).endswith(FACT)
    return agent, home


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Not here: a client also sends requests of its own, such as one for a title, and tells the model its limits."""


def files_in(home: Home) -> dict[Path, bytes]:
    """Every session of every agent."""
    found = (
        path for agent in (".claude", ".codex", ".gemini") for path in (home.folder / agent).rglob("*.json*")
    )
    return {path: path.read_bytes() for path in found if "session" in str(path) or "projects/" in str(path)}


def resumed(home: Home, agent: Agent, session: str) -> ChatRequest:
    """The request that the agent sends when it resumes a session and is asked one more question."""
    with ScriptedServer(answers(agent), model=agent.model, window=WINDOW) as server:
        assert agent.ask(home, server, NEXT, session).endswith(FACT)
    assert [(seen.status, seen.refusal) for seen in server.requests if seen.status != 200] == []
    sent = next(one.request for one in server.requests if one.request and NEXT in str(one.body))
    assert validate(sent.messages) == []
    return sent


def words_of(request: ChatRequest) -> str:
    """Everything that is said in a request after the system prompt."""
    return "\n".join(text_of(message) for message in request.messages if message["role"] != "system")


@pytest.mark.parametrize("next_agent", AGENTS, ids=lambda agent: f"to {agent.target}")
def test_an_agent_resumes_a_session_that_was_compacted(
    recorded: tuple[Agent, Home], next_agent: Agent
) -> None:
    agent, home = recorded
    before = files_in(home)
    printed = home.plimsoll(
        "compress", "--latest", agent.latest, "--to", next_agent.target, "--no-model", "--window", "10K"
    )
    sent = words_of(resumed(home, next_agent, printed.split()[-1]))
    assert "Compacted: valid" in printed
    assert ASKED in sent
    assert FACT in sent
    assert sent.count(FILLER) < ROUNDS
    assert {path: path.read_bytes() for path in before} == before
    forget(home, before)


@pytest.mark.parametrize("next_agent", AGENTS, ids=lambda agent: f"to {agent.target}")
def test_an_agent_resumes_a_session_that_was_converted(
    recorded: tuple[Agent, Home], next_agent: Agent
) -> None:
    agent, home = recorded
    before = files_in(home)
    printed = home.plimsoll("convert", "--latest", agent.latest, "--to", next_agent.target)
    request = resumed(home, next_agent, printed.split()[-1])
    assert ASKED in words_of(request)
    assert words_of(request).count(FILLER) == ROUNDS
    assert sum(len(tool_calls(message)) for message in request.messages) == ROUNDS + 1
    assert {path: path.read_bytes() for path in before} == before
    forget(home, before)


def test_the_inspector_shows_the_newest_session_of_an_agent(recorded: tuple[Agent, Home]) -> None:
    agent, home = recorded
    before = files_in(home)
    home.plimsoll("inspect", "--latest", agent.latest, "-o", str(home.folder / "page.html"))
    with browser() as page:
        page.open(f"file://{home.folder / 'page.html'}")
        page.see("canvas")
        assert int(page.attribute("canvas", "aria-valuemax")) >= ROUNDS + 1
        page.see(f".row:has-text('{ASKED}')")
        page.click("nav button:has-text('Search')")
        page.fill("input[type=search]", FACT)
        page.see(".hit >> nth=1")
        assert [hit.split()[2] for hit in page.texts(".hit")] == ["tool", "assistant"]
        page.picture(f"latest-{agent.latest}")
        assert page.noted() == []
    assert {path: path.read_bytes() for path in before} == before


def forget(home: Home, kept: dict[Path, bytes]) -> None:
    """Remove the sessions that a test wrote, so that the recorded one is the newest again."""
    for path in set(files_in(home)) - set(kept):
        path.unlink()
