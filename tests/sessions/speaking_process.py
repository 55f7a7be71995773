"""A process that takes turns in a session that others have open too; prints what it compacted."""

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace

from equipped import equipped

from plimsoll.agent import Compacted


async def speak(url, path, session, name, turns):
    compacted = 0

    def emit(event):
        nonlocal compacted
        compacted += isinstance(event, Compacted) and event.event.outcome == "compacted"

    server = SimpleNamespace(anthropic_url=url)
    async with equipped(server, Path(path), window=8_000, session=session, holder=name) as conversation:
        for n in range(turns):
            await conversation.say({"role": "user", "content": f"{name} says {n}. " + "word " * 150}, emit)
    print(compacted)


if __name__ == "__main__":
    url, path, session, name, turns = sys.argv[1:]
    asyncio.run(speak(url, path, session, name, int(turns)))
