"""A fork without a dropped message has no signed thinking that the provider would refuse."""

import asyncio
from pathlib import Path

import pytest

from message_builders import user
from plimsoll.archive import OPERATOR, CompactionEvent, ViewItem, draft_of
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.context.compressor.assemble import summary_message
from plimsoll.sessions import SessionActions, open_actions

SUMMARY = summary_message("## Goal\nLoad the ship.\n## Progress\n### Done\n- nothing", "user")
DROPPED = 10


def thinking(number: int) -> dict[str, object]:
    block = {"type": "thinking", "thinking": "…", "signature": f"s{number}"}
    return {"role": "assistant", "content": f"answer {number}", "thinking_blocks": [block]}


def conversation() -> list[dict[str, object]]:
    turns = [[user(f"question {number}"), thinking(number)] for number in range(8)]
    return [{"role": "system", "content": "You load ships."}, *(one for turn in turns for one in turn)]


async def forked(folder: Path, model: str, at: int) -> list[ViewItem]:
    """The view of a fork before the end of a compaction, in a session from which a message was dropped later."""
    said = conversation()
    async with await SqliteStore.open(folder / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        id = (await archive.create_session(title="ships", model=model, engine="compressor")).id
        await archive.append(id, said, turn="t")
        shortened = {**said[15], "content": "question 7, shortened"}
        after = [*said[:3], SUMMARY, *said[8:15], shortened, said[16]]
        draft = draft_of(id, await archive.view(id), await archive.items(id), after)
        await archive.commit_compaction(id, draft, CompactionEvent("threshold", "compressor"))
        async with open_actions(archive, id, OPERATOR) as actions:
            await actions.drop([DROPPED])
        child = await SessionActions(archive, id, OPERATOR).fork(at=at)
        return await archive.items(child.id)


@pytest.mark.parametrize(
    ("model", "keeps_thinking"), [("claude-opus-5.5", False), ("claude-sonnet-4.5", True)]
)
def test_a_fork_without_a_dropped_message_keeps_only_thinking_that_is_still_valid(
    tmp_path: Path, model: str, keeps_thinking: bool
) -> None:
    items = asyncio.run(forked(tmp_path, model, at=13))
    numbers = [item.sequence for item in items]
    assert numbers == [n for n in range(1, 14) if n != DROPPED]
    signed = [item.sequence for item in items if item.message.get("thinking_blocks")]
    assert signed == [3, 5, 7, 9, *([11, 13] if keeps_thinking else [])]
    assert [item.message["content"] for item in items if item.sequence == 13] == ["answer 5"]
