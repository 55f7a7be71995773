"""A person's actions: the same through REST and the terminal, audited, not for read-only keys, safe from a kill."""

import asyncio
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import acting_process
import httpx
import pytest
from click.testing import CliRunner
from clients import AnthropicClient, converse, model
from gateway_keys import add_key, answering
from gateway_server import RunningGateway, settings_for
from session_client import MODEL, Sessions, serving

from plimsoll.archive import OPERATOR, CompactionEvent, draft_of
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.context.compressor.assemble import summary_message
from plimsoll.terminal.sessions.command import sessions as terminal
from plimsoll.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.xdist_group("session actions")
SUMMARY = "## Goal\nfix the loader\n## Critical Context\n- The port is 8417."
EDITED = acting_process.EDITED
CALL = {"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be careful."},
    {"role": "user", "content": "Fix the loader."},
    {"role": "assistant", "content": "The port is 8417."},
    {"role": "user", "content": "Which files?"},
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "loader.py\nsecret.py"},
    {"role": "assistant", "content": "Two files."},
    {"role": "user", "content": "Go on."},
]
EVENT = CompactionEvent("threshold", "compressor")


async def stored(home: Path) -> str:
    """A session with a compaction: messages 2 and 3 are in the summary."""
    async with await SqliteStore.open(home / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        id = (await archive.create_session(title="Loader", model="claude-sonnet-4-5", engine="compressor")).id
        await archive.append(id, TALK, turn="begin")
        view, items = await archive.view(id), await archive.items(id)
        after = [TALK[0], summary_message(SUMMARY, "user"), *(item.message for item in items[3:])]
        await archive.commit_compaction(id, draft_of(id, view, items, after), EVENT)
        return id


async def _state(home: Path, id: str) -> dict[str, Any]:
    async with await SqliteStore.open(home / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        forks = [one for one in await archive.sessions() if one.parent == id]
        return {
            "log": [one.message for one in await archive.messages(id)],
            "view": [(item.sequence, bool(item.node), item.message) for item in await archive.items(id)],
            "pins": await archive.pins(id),
            "events": [
                (
                    one.trigger,
                    one.outcome,
                    one.author,
                    one.messages_before,
                    one.messages_after,
                    one.tokens_after,
                )
                for one in await archive.compactions(id)
            ],
            "actions": [
                (one.action, one.actor, one.view_before, one.view_after, sorted(one.details))
                for one in await archive.actions(id)
            ],
            "edits": (await archive.edits(id)).dropped,
            "authors": [node.details.get("author") for node in await archive.nodes(id)],
            "forks": [(one.title, one.forked_at, one.messages) for one in forks],
            "faults": await store.check(),
        }


async def summary_node(home: Path, id: str) -> str:
    async with await SqliteStore.open(home / "archive.db") as store:
        return await acting_process.summary_node(store.for_owner(OPERATOR), id)


def state(home: Path, id: str) -> dict[str, Any]:
    return asyncio.run(_state(home, id))


@pytest.fixture
def with_home(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    for name in [name for name in os.environ if name.startswith("PLIMSOLL_")]:
        monkeypatch.delenv(name)
    return lambda home: monkeypatch.setenv("PLIMSOLL_HOME", str(home))


def through_rest(http: httpx.Client, id: str) -> None:
    node = http.get(f"/sessions/{id}/summary").json()["node"]
    for method, path, body in (
        ("PUT", "summary", {"text": EDITED, "node": node}),
        ("POST", "drop", {"messages": [6]}),
        ("PUT", "pins/4", None),
        ("PUT", "pins/8", None),
        ("DELETE", "pins/8", None),
        ("POST", "undo", {}),
        ("POST", "undo", {}),
        ("POST", "redo", {}),
        ("POST", "redo", None),
        ("POST", "fork", {"at": 7, "title": "Aside"}),
    ):
        response = http.request(method, f"/sessions/{id}/{path}", json=body)
        assert response.status_code in (200, 201), f"{method} {path}: {response.text}"


def through_the_terminal(home: Path, id: str) -> None:
    (home / "summary.md").write_text(EDITED)
    for arguments in (
        ["edit", id, "--file", str(home / "summary.md"), "--node", asyncio.run(summary_node(home, id))],
        ["drop", id, "6"],
        ["pin", id, "4"],
        ["pin", id, "8"],
        ["unpin", id, "8"],
        ["undo", id],
        ["undo", id],
        ["redo", id],
        ["redo", id],
        ["fork", id, "--at", "7", "--title", "Aside"],
    ):
        result = CliRunner().invoke(terminal, arguments)
        assert result.exit_code == 0, f"{arguments}: {result.output} {result.exception}"


def test_actions_leave_the_same_archive_through_rest_and_through_the_terminal(
    tmp_path: Path, with_home: Callable[[Path], None]
) -> None:
    homes = [tmp_path / name for name in ("rest", "terminal")]
    for home in homes:
        home.mkdir()
    ids = [asyncio.run(stored(home)) for home in homes]
    with ScriptedServer() as server, serving(server, homes[0]) as sessions:
        through_rest(sessions.http, ids[0])
        assert server.requests == []  # none of them needs a model
    with_home(homes[1])
    through_the_terminal(homes[1], ids[1])
    found, other = (state(home, id) for home, id in zip(homes, ids, strict=True))
    assert found == other
    assert found["log"] == TALK
    assert [number for number, _, _ in found["view"]] == [1, 0, 4, 7, 8]  # the call left with its result
    assert "secret" in found["view"][1][2]["content"]
    assert "8417" not in json.dumps([message for _, _, message in found["view"]])
    assert (found["pins"], found["edits"], found["faults"]) == ([4], (5, 6), [])
    assert found["authors"] == [None, "operator"]
    assert [action for action, *_ in found["actions"]] == [
        "edit", "drop", "pin", "pin", "unpin", "undo", "undo", "redo", "redo", "fork"
    ]  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def sessions(home: Path) -> Iterator[Sessions]:
    with ScriptedServer() as server, serving(server, home) as found:
        yield found


def test_a_preview_shows_the_effect_and_the_cache_cost_and_changes_nothing(
    home: Path, sessions: Sessions
) -> None:
    id = asyncio.run(stored(home))
    before = state(home, id)
    url = f"/sessions/{id}"
    dropped = sessions.http.post(f"{url}/drop", json={"messages": [5], "preview": True}).json()
    assert (dropped["action"], dropped["preview"], dropped["refused"]) == ("drop", True, "")
    assert (dropped["messages"], dropped["messages_before"], dropped["messages_after"]) == ([5, 6], 7, 5)
    assert dropped["cache"]["kept"] + dropped["cache"]["rewritten"] == dropped["tokens_after"]
    assert dropped["cache"]["money"] > 0
    changed = {"text": EDITED, "node": sessions.http.get(f"{url}/summary").json()["node"], "preview": True}
    edited = sessions.http.put(f"{url}/summary", json=changed).json()
    assert edited["cache"]["kept"] < dropped["cache"]["kept"]  # the summary is before the dropped messages
    undone = sessions.http.post(f"{url}/undo", json={"preview": True}).json()
    assert (undone["messages_before"], undone["messages_after"]) == (7, 8)
    assert state(home, id) == before
    assert (
        "Would undo"
        in CliRunner().invoke(terminal, ["undo", id, "--preview"], env={"PLIMSOLL_HOME": str(home)}).output
    )
    assert state(home, id) == before


@pytest.mark.parametrize(
    ("path", "body", "title", "told"),
    [
        ("drop", {"messages": [1]}, "Cannot be done", "system prompt"),
        ("drop", {"messages": [2]}, "Cannot be done", "not in the view"),
        ("drop", {"messages": [99]}, "Cannot be done", "does not exist"),
        ("drop", {"messages": [8]}, "Edit refused", "newest request would be lost"),
        ("redo", {}, "Cannot be done", "nothing to redo"),
    ],
)
def test_an_action_that_cannot_be_done_changes_nothing_and_is_no_conflict_with_another_process(
    home: Path, sessions: Sessions, path: str, body: Any, title: str, told: str
) -> None:
    id = asyncio.run(stored(home))
    before = state(home, id)
    response = sessions.http.post(f"/sessions/{id}/{path}", json=body)
    problem = response.json()
    assert (response.status_code, problem["title"], told in problem["detail"]) == (422, title, True), problem
    assert state(home, id) == before


def test_a_pinned_message_cannot_be_dropped_and_a_new_edit_ends_the_redo(
    home: Path, sessions: Sessions
) -> None:
    id = asyncio.run(stored(home))
    sessions.http.put(f"/sessions/{id}/pins/6")
    refused = sessions.http.post(f"/sessions/{id}/drop", json={"messages": [5]})
    assert (refused.status_code, "Unpin it first" in refused.json()["detail"]) == (422, True)
    sessions.http.delete(f"/sessions/{id}/pins/6")
    assert sessions.http.post(f"/sessions/{id}/drop", json={"messages": [4]}).status_code == 200
    assert sessions.http.post(f"/sessions/{id}/undo").status_code == 200
    assert sessions.http.post(f"/sessions/{id}/drop", json={"messages": [7]}).status_code == 200
    assert sessions.http.post(f"/sessions/{id}/redo").status_code == 422
    assert [number for number, _, _ in state(home, id)["view"]] == [1, 0, 4, 5, 6, 8]


@pytest.mark.rewrites_history("the compaction is what is tested")
def test_a_session_is_compacted_alike_through_rest_and_through_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. " * 75
    talk = [
        TALK[0],
        *({"role": role, "content": f"{n} {long}"} for n in range(8) for role in ("user", "assistant")),
    ]

    async def begun(home: Path) -> str:
        async with await SqliteStore.open(home / "archive.db") as store:
            archive = store.for_owner(OPERATOR)
            id = (await archive.create_session(title="Ships", engine="compressor")).id
            await archive.append(id, talk, turn="begin")
            return id

    homes = [tmp_path / name for name in ("rest", "terminal")]
    for home in homes:
        home.mkdir()
    ids = [asyncio.run(begun(home)) for home in homes]
    options: dict[str, Any] = {"compression": {"protect_last_n": 2}, "model": {"context_length": 40_000}}
    with ScriptedServer() as server:
        with serving(server, homes[0], **options) as sessions:
            preview = sessions.http.post(
                f"/sessions/{ids[0]}/compact/preview", json={"focus": "ships"}
            ).json()
            assert state(homes[0], ids[0])["events"] == []
            done = sessions.http.post(f"/sessions/{ids[0]}/compact", json={"focus": "ships"}).json()
            detail = sessions.http.get(f"/sessions/{ids[0]}/compactions/1").json()
        assert (preview["outcome"], done["author"]) == ("compacted", "operator")
        for name in ("before", "lines", "summary", "facts", "lost", "messages_after"):
            assert preview[name] == detail[name], name
        model = {"provider": "scripted", "base_url": server.openai_url, "name": MODEL}
        config = {**options, "model": {**model, **options["model"]}}
        (homes[1] / "config.yaml").write_text(json.dumps(config))
        monkeypatch.setenv("PLIMSOLL_HOME", str(homes[1]))
        result = CliRunner().invoke(terminal, ["compact", ids[1], "--focus", "ships"])
        assert result.exit_code == 0, result.output + str(result.exception)
    found, other = (state(home, id) for home, id in zip(homes, ids, strict=True))
    # The sizes count the tools, which a gateway's sessions do not have.
    assert [one[:-1] for one in found.pop("events")] == [one[:-1] for one in other.pop("events")]
    assert found == other
    assert found["actions"] == [("compact", "operator", 0, 1, ["focus"])]


def test_the_audit_and_the_export_name_who_acted(home: Path, sessions: Sessions) -> None:
    id = asyncio.run(stored(home))
    node = sessions.http.get(f"/sessions/{id}/summary").json()["node"]
    sessions.http.put(f"/sessions/{id}/summary", json={"text": "Only one thing matters.", "node": node})
    summary = sessions.http.get(f"/sessions/{id}/summary").json()
    assert (summary["author"], "Only one thing matters." in summary["text"]) == ("operator", True)
    exported = sessions.http.get(f"/sessions/{id}/export", params={"view": "true"}).json()
    assert "Only one thing matters." in json.dumps(exported["content"])
    whole = sessions.http.get(f"/sessions/{id}/export", params={"format": "anthropic"}).json()
    assert whole["content"]["messages"][0]["role"] == "user"
    done = sessions.http.get(f"/sessions/{id}/actions").json()["actions"]
    assert [(one["actor"], one["action"]) for one in done] == [
        ("operator", "edit"), ("operator", "export"), ("operator", "export")
    ]  # fmt: skip
    (_, event) = sessions.http.get(f"/sessions/{id}/compactions").json()["compactions"]
    assert (event["outcome"], event["author"]) == ("edited", "operator")
    detail = sessions.http.get(f"/sessions/{id}/compactions/2").json()
    assert [one["is_new"] for one in detail["after"]] == [False, True, False, False, False, False, False]


def test_markdown_is_the_same_document_over_http_and_in_the_terminal(
    home: Path, sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = asyncio.run(stored(home))
    monkeypatch.setenv("PLIMSOLL_HOME", str(home))
    target = tmp_path / "session.md"
    for view, option in (("false", ()), ("true", ("--view",))):
        answer = sessions.http.get(
            f"/sessions/{id}/export", params={"format": "markdown", "view": view}
        ).json()
        command = ["export", id, "--format", "markdown", "-o", str(target), *option]
        assert CliRunner().invoke(terminal, command).exit_code == 0
        assert answer == {"format": "markdown", "content": target.read_text("utf-8")}
        assert answer["content"].startswith("# Loader\n")


def test_the_timeline_names_the_author_of_a_change(home: Path, sessions: Sessions) -> None:
    id = asyncio.run(stored(home))
    node = sessions.http.get(f"/sessions/{id}/summary").json()["node"]
    sessions.http.put(f"/sessions/{id}/summary", json={"text": "Only one thing matters.", "node": node})
    events = sessions.http.get(f"/sessions/{id}/timeline").json()["events"]
    assert [(one["outcome"], one["author"]) for one in events] == [("compacted", ""), ("edited", "operator")]
    assert events == sessions.http.get(f"/sessions/{id}/compactions").json()["compactions"]


def test_a_read_only_key_reads_the_sessions_of_its_owner_and_never_reaches_the_upstream(
    tmp_path: Path,
) -> None:
    owner = {"authorization": f"Bearer {add_key(tmp_path, 'owner')}"}
    made = CliRunner().invoke(
        _keys(), ["add", "watcher", "--read-only", "owner"], env={"PLIMSOLL_HOME": str(tmp_path)}
    )
    assert made.exit_code == 0, made.output
    watcher = {"authorization": f"Bearer {made.stdout.split()[0]}"}
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        http = httpx.Client(base_url=gateway.url, timeout=30)
        id = http.post("/sessions", json={"title": "mine"}, headers=owner).json()["id"]
        listed = http.get("/sessions", headers=watcher).json()["sessions"]
        assert [one["id"] for one in listed] == [id]
        assert http.get(f"/sessions/{id}/messages", headers=watcher).status_code == 200
        described = http.get("/openapi.json", headers=owner).json()["paths"]
        for path, methods in described.items():
            for method in set(methods) - {"get"}:
                url = path.replace("{id}", id).replace("{number}", "1")
                refused = http.request(method, url, json={}, headers=watcher)
                assert refused.status_code == 403, f"{method} {path}"
                assert "read-only" in refused.json()["detail"]
        for path in ("/v1/messages", "/v1/chat/completions", "/v1/compact"):
            assert http.post(path, json={"model": "m", "messages": []}, headers=watcher).status_code == 403
        for path in ("/v1/models", "/v1/models/gpt-4.1", "/v1/files", "/v1beta/models"):
            assert http.get(path, headers=watcher).status_code == 403, path
        assert http.get(f"/sessions/{id}", headers=owner).json()["title"] == "mine"
        http.close()
    assert server.requests == []


def _keys() -> Any:
    from plimsoll.terminal.gateway_keys import keys

    return keys


def events(http: httpx.Client, url: str) -> list[dict[str, Any]]:
    return list(http.get(f"{url}/compactions").json()["compactions"])


def view_ending_in_a_call(http: httpx.Client, url: str) -> list[dict[str, Any]]:
    """The view once the gateway has stored the newest request, except for its last message: the result of a call."""
    ends = time.monotonic() + 30
    while not (view := http.get(f"{url}/view").json()["messages"])[-1]["message"].get("tool_calls"):
        assert time.monotonic() < ends, view[-1]
        time.sleep(0.02)
    return list(view)


@pytest.mark.rewrites_history(
    "a person drops a message and edits the summary, which is what the test is about"
)
def test_the_next_request_of_a_drop_in_client_has_the_edited_view(tmp_path: Path) -> None:
    # Without background preparation, the speed of the machine does not decide which request is compacted.
    small = {
        "model": {"context_length": 8_000},
        "compression": {"protect_last_n": 4, "background": False},
    }
    with (
        ScriptedServer(model, window=900_000) as server,
        RunningGateway(settings_for(server, **small), tmp_path) as gateway,
        httpx.Client(base_url=gateway.url, timeout=30) as http,
    ):
        client, number = AnthropicClient(gateway.url), 0
        while not client.last or client.last.headers["x-plimsoll-view"] == "log":
            converse(client, 1, first=number)
            number += 1
        url = f"/sessions/{client.last.headers['x-plimsoll-session']}"
        view = view_ending_in_a_call(http, url)
        answers = [one for one in view if one["message"]["role"] == "assistant" and one["number"]]
        waiting = http.post(f"{url}/drop", json={"messages": [answers[-1]["number"]]})
        assert "without a result yet" in waiting.json()["detail"]  # the client sends it with its next request
        gone = http.post(f"{url}/drop", json={"messages": [answers[-2]["number"]]}).json()["messages"]
        summary = http.get(f"{url}/summary").json()
        text = f"{summary['text']}\n- The pilot is called Marlowe."
        edited = http.put(f"{url}/summary", json={"text": text, "node": summary["node"]})
        assert edited.status_code == 200, edited.text
        left = [json.dumps(one["message"]["content"]) for one in view if one["number"] in gone]
        converse(client, 1, first=number)
        assert "Marlowe" in json.dumps(server.requests[-1].body)
        while sum(one["outcome"] == "compacted" for one in events(http, url)) < 2:
            number += 1
            converse(client, 1, first=number)
        seen = http.get(f"{url}/view").json()["messages"]
        assert not set(gone) & {one["number"] for one in seen}
        sent = json.dumps(server.requests[-1].body)
        assert left
        assert not [words for words in left if words != "null" and words in sent]
    assert all(seen.status == 200 for seen in server.requests)


def test_a_kill_between_actions_loses_nothing(tmp_path: Path) -> None:
    killed, calm = tmp_path / "killed", tmp_path / "calm"
    for home in (killed, calm):
        home.mkdir()
    ids = [asyncio.run(stored(home)) for home in (killed, calm)]
    asyncio.run(acting_process.steps(calm, ids[1], 0, len(acting_process.STEPS)))
    context = multiprocessing.get_context("forkserver")
    # Loaded once; only what is installed can be named here.
    context.set_forkserver_preload(["plimsoll.sessions.actions", "plimsoll.archive.sqlite"])
    for first in range(0, len(acting_process.STEPS), 2):
        heard, told = context.Pipe(duplex=False)
        process = context.Process(target=acting_process.act, args=(killed, ids[0], first, told))
        process.start()
        told.close()
        assert heard.poll(60)
        assert heard.recv() == "done"
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        process.close()
        heard.close()
    assert state(killed, ids[0]) == state(calm, ids[1])
