"""A prefix of a conversation is summarised once for its owner, whichever branch needs it, and never for others."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from clients import FILLER, http
from gateway_keys import add_key, owned, used_so_far
from gateway_server import RunningGateway, settings_for

from plimsoll.archive.open_archive import open_archive
from plimsoll.config import Settings
from plimsoll.testing.scripted_server import ScriptedServer, say

WINDOW = 8_000
SUMMARY = (
    "## Goal\nThe harbour master wrote down every ship that came in.\n"
    "## Progress\n### Done\n- The harbour master wrote down its draught, its cargo and its line.\n"
)
PAGES = "The files as they are now: " + FILLER * 6


def settings_with(server: ScriptedServer, writer: ScriptedServer, **compression: object) -> Settings:
    small = {"model": "small", "provider": "custom", "base_url": writer.openai_url}
    return settings_for(
        server,
        "openai",
        model={"context_length": WINDOW},
        compression={"protect_last_n": 4, **compression},
        auxiliary={"compression": small},
    )


def ask(url: str, messages: list[dict[str, Any]], key: str = "") -> Any:
    body = {"model": "gpt-4.1", "max_tokens": 100, "messages": messages}
    headers = {"authorization": f"Bearer {key}"} if key else {}
    reply = http().post(f"{url}/v1/chat/completions", json=body, headers=headers)
    assert reply.status_code == 200, reply.text
    return reply


def answered(reply: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": reply.json()["choices"][0]["message"]["content"]}


def history(turns: int, name: str = "ship") -> list[dict[str, Any]]:
    return [
        {"role": role, "content": f"{name}{number}: {FILLER * 12}"}
        for number in range(turns)
        for role in ("user", "assistant")
    ]


def compactions(home: Path) -> int:
    async def work() -> int:
        async with await open_archive(None, home) as store:
            found = [
                event
                for session in await store.sessions()
                for event in await store.for_owner(session.owner).compactions(session.id)
            ]
            return sum(event.outcome == "compacted" for event in found)

    return asyncio.run(work())


@pytest.mark.rewrites_history("the client changes its last message each turn")
def test_a_client_that_changes_its_last_message_each_turn_pays_for_one_summary_per_compaction(
    tmp_path: Path,
) -> None:
    """As aider does: the newest message carries the files, and goes into the history without them."""
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(lambda _request: say(SUMMARY)) as writer,
        RunningGateway(settings_with(server, writer), tmp_path) as gateway,
    ):
        said: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
        for number in range(60):
            asked = f"ship{number}: {FILLER * 10}"
            reply = ask(gateway.url, [*said, {"role": "user", "content": f"{asked}\n{PAGES}"}])
            said += [{"role": "user", "content": asked}, answered(reply)]
            assert writer.wait_until(lambda: all(one.is_done for one in writer.requests))
    done = compactions(tmp_path)
    assert done >= 3
    assert len(writer.requests) <= done + 1, "at most the next one is prepared"


@pytest.mark.rewrites_history("side requests branch off")
def test_side_requests_that_branch_off_cause_no_summary_of_their_own(tmp_path: Path) -> None:
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(lambda _request: say(SUMMARY)) as writer,
        RunningGateway(settings_with(server, writer), tmp_path) as gateway,
    ):
        said: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
        for number in range(40):
            said.append({"role": "user", "content": f"ship{number}: {FILLER * 10}"})
            reply = ask(gateway.url, said)
            said.append(answered(reply))
            ask(gateway.url, [*said, {"role": "user", "content": "A title for this, please."}])
            assert writer.wait_until(lambda: all(one.is_done for one in writer.requests))
    done = compactions(tmp_path)
    assert done >= 2
    assert len(writer.requests) <= done + 1


@pytest.mark.rewrites_history("two branches at the same time")
def test_two_branches_that_need_the_same_prefix_at_the_same_time_wait_for_one_summary(tmp_path: Path) -> None:
    asked, may_write = threading.Event(), threading.Event()

    def write(_request: Any) -> Any:
        asked.set()
        may_write.wait(60)
        return say(SUMMARY)

    key = add_key(tmp_path)
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(write) as writer,
        RunningGateway(settings_with(server, writer, background=False), tmp_path) as gateway,
        ThreadPoolExecutor(2) as threads,
    ):
        past = history(8)
        ask(gateway.url, [*past, {"role": "user", "content": "Short."}], key)
        past = [*past, {"role": "assistant", "content": "Yes."}, *history(6, "boat")]
        replies = [
            threads.submit(ask, gateway.url, [*past, {"role": "user", "content": text}], key)
            for text in ("The first branch.", "The second branch.")
        ]
        assert asked.wait(60)
        may_write.set()
        views = [reply.result().headers["x-plimsoll-view"] for reply in replies]
    assert views == ["compacted", "compacted"]
    assert len(writer.requests) == 1
    bill = sum(one.usage.total_tokens for one in [*server.requests, *writer.requests] if one.usage)
    assert used_so_far(tmp_path)["laptop"].tokens == bill, "one of them paid, once"


@pytest.mark.rewrites_history("two keys send the same conversation")
def test_two_keys_with_the_same_words_each_pay_for_a_summary_of_their_own(tmp_path: Path) -> None:
    one, other = add_key(tmp_path, "one"), add_key(tmp_path, "other")
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(lambda _request: say(SUMMARY)) as writer,
        RunningGateway(settings_with(server, writer, background=False), tmp_path) as gateway,
    ):
        for key in (one, other):
            ask(gateway.url, [*history(16), {"role": "user", "content": "Go on."}], key)
    assert len(writer.requests) == 2
    used = used_so_far(tmp_path)
    assert used["one"].tokens == used["other"].tokens > 0
    assert len(owned(tmp_path, None)) == 2
