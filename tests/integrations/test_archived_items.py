"""Named lists of items in an archive that other programs use as well."""

import asyncio
from pathlib import Path

from plimsoll.archive import OPERATOR
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.integrations.archived_items import ArchivedItems, Item
from plimsoll.messages import Message


def items(name: str, file: Path) -> ArchivedItems:
    def as_message(item: Item) -> Message:
        return {"role": "user", "content": item["text"]}

    def as_items(message: Message) -> list[Item]:
        return [{"text": message["content"]}]

    return ArchivedItems(name, str(file), as_message=as_message, as_items=as_items)


def test_a_chat_with_the_same_title_is_not_opened(tmp_path: Path) -> None:
    file = tmp_path / "archive.db"

    async def work() -> None:
        async with await SqliteStore.open(file) as store:
            archive = store.for_owner(OPERATOR)
            chat = await archive.create_session(title="support")
            await archive.append(chat.id, [{"role": "user", "content": "private"}], turn="1")
        support = items("support", file)
        assert await support.get() == []
        await support.add([{"text": "one"}, {"text": "two"}])
        support.close()
        async with await SqliteStore.open(file) as store:
            archive = store.for_owner(OPERATOR)
            assert [one.message["content"] for one in await archive.messages(chat.id)] == ["private"]

    asyncio.run(work())


def test_items_are_found_again_after_taking_back_and_clearing(tmp_path: Path) -> None:
    file = tmp_path / "archive.db"

    async def work() -> None:
        first = items("x", file)
        await first.add([{"text": "one"}, {"text": "two"}])
        assert await first.pop() == {"text": "two"}
        await first.add([{"text": "three"}])
        first.close()
        again = items("x", file)
        assert await again.get() == [{"text": "one"}, {"text": "three"}]
        await again.clear()
        assert await again.get() == []
        assert await again.pop() is None
        again.close()

    asyncio.run(work())
