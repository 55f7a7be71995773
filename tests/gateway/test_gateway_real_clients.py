"""Real clients, in long conversations with tools: the same answers as without the gateway, within a small window."""

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from clients import FILLER, LOOKUP, model, run_tool
from gateway_server import RunningGateway, settings_for

from plimsoll.testing.scripted_server import ScriptedServer

WINDOW = 10_000
TURNS = 22
SMALL = {"model": {"context_length": WINDOW}, "compression": {"protect_last_n": 4}}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
QUESTIONS = [f"ship{number}: where does it lie? {FILLER * 3}" for number in range(TURNS)]
FUNCTION = {"name": LOOKUP, "description": "Look it up.", "parameters": SCHEMA}
TOOL: Any = {"type": "function", "function": FUNCTION}
Talk = Callable[[str], list[str]]


def with_openai_sdk(url: str) -> list[str]:
    history: list[Any] = [{"role": "system", "content": "Be brief."}]
    answers = []
    with openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        for question in QUESTIONS:
            history.append({"role": "user", "content": question})
            while True:
                with client.chat.completions.stream(
                    model="gpt-4.1", messages=history, tools=[TOOL]
                ) as stream:
                    message = stream.get_final_completion().choices[0].message
                history.append(
                    message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True)
                )
                if not message.tool_calls:
                    break
                for one in message.tool_calls:
                    key = json.loads(one.function.arguments)["key"]
                    history.append({"role": "tool", "tool_call_id": one.id, "content": run_tool(key)})
            answers.append(str(message.content))
    return answers


def with_anthropic_sdk(url: str) -> list[str]:
    history: list[Any] = []
    answers = []
    tool: Any = {"name": LOOKUP, "description": "Look it up.", "input_schema": SCHEMA}
    with anthropic.Anthropic(base_url=url, api_key="any", max_retries=0) as client:
        for question in QUESTIONS:
            history.append({"role": "user", "content": question})
            while True:
                with client.messages.stream(
                    model="claude-sonnet-4-5",
                    max_tokens=300,
                    system="Be brief.",
                    messages=history,
                    tools=[tool],
                ) as stream:
                    message = stream.get_final_message()
                history.append({"role": "assistant", "content": message.content})
                results = [
                    {"type": "tool_result", "tool_use_id": one.id, "content": run_tool(str(one.input["key"]))}
                    for one in message.content
                    if one.type == "tool_use"
                ]
                if not results:
                    break
                history.append({"role": "user", "content": results})
            answers.append("".join(block.text for block in message.content if block.type == "text"))
    return answers


def with_langchain(chat: Any) -> list[str]:
    from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage

    bound = chat.bind_tools([TOOL])
    history: list[Any] = [SystemMessage("Be brief.")]
    answers = []
    for question in QUESTIONS:
        history.append(HumanMessage(question))
        while True:
            message = bound.invoke(history)
            history.append(message)
            if not message.tool_calls:
                break
            for one in message.tool_calls:
                history.append(ToolMessage(run_tool(one["args"]["key"]), tool_call_id=one["id"]))
        answers.append(message.text if isinstance(message.text, str) else message.text())
    return answers


def with_langchain_openai(url: str) -> list[str]:
    langchain_openai = pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")
    return with_langchain(
        langchain_openai.ChatOpenAI(base_url=f"{url}/v1", api_key="any", model="gpt-4.1", max_retries=0)
    )


def with_langchain_anthropic(url: str) -> list[str]:
    langchain_anthropic = pytest.importorskip(
        "langchain_anthropic", reason="langchain-anthropic is not installed"
    )
    return with_langchain(
        langchain_anthropic.ChatAnthropic(
            base_url=url, api_key="any", model="claude-sonnet-4-5", max_tokens=300, max_retries=0
        )
    )


@pytest.fixture(params=["anthropic", "openai"])
def upstream(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[ScriptedServer, RunningGateway]]:
    with (
        ScriptedServer(model, window=WINDOW) as server,
        RunningGateway(settings_for(server, request.param, **SMALL), tmp_path) as gateway,
    ):
        yield server, gateway


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    "talk", [with_openai_sdk, with_anthropic_sdk, with_langchain_openai, with_langchain_anthropic]
)
def test_a_real_client_gets_the_same_answers_within_a_small_window(
    talk: Talk, upstream: tuple[ScriptedServer, RunningGateway]
) -> None:
    server, gateway = upstream
    answers = talk(gateway.url)
    with ScriptedServer(model, window=900_000) as direct:
        assert talk(direct.url) == answers
    assert len(answers) == TURNS
    usages = [seen.usage for seen in server.requests if seen.usage]
    assert len(usages) == len(server.requests), [seen.refusal for seen in server.requests if seen.refusal]
    assert max(usage.prompt_tokens for usage in usages) <= WINDOW
    assert any(b.prompt_tokens < a.prompt_tokens for a, b in itertools.pairwise(usages))
