"""Claude Agent SDK with our session store: the SDK's own checks of a store, then two processes with one session."""

import asyncio
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

from adapter_task import AdapterTask, write_result
from claude_agent_sdk import ClaudeSDKClient, ResultMessage
from claude_agent_sdk.testing import run_session_store_conformance

from plimsoll.integrations.claude_agent import PlimsollSessionStore

QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTO_COMPACT": "1",
    "IS_SANDBOX": "1",
}
task = AdapterTask()


async def converse(options: Any, questions: list[str]) -> tuple[list[str], str]:
    """The answers, and the id of the session."""
    answers, session = [], ""
    async with ClaudeSDKClient(options) as client:
        for question in questions:
            await client.query(question)
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    assert not message.is_error, message
                    answers.append(str(message.result))
                    session = message.session_id
    return answers, session


def options_of(example: dict[str, Any], folder: str, **more: Any) -> Any:
    """The options of the page, for the scripted server and a home that knows no sessions."""
    options = example["options"]
    home = str(Path(folder).absolute())
    options.env = {
        **QUIET,
        "ANTHROPIC_BASE_URL": task.url,
        "CLAUDE_CONFIG_DIR": home,
        "ANTHROPIC_API_KEY": "any",
    }
    options.model, options.allowed_tools = task.model, ["Bash"]
    for name, value in more.items():
        setattr(options, name, value)
    return options


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        numbers = itertools.count()
        stores = []

        def new_store() -> PlimsollSessionStore:
            stores.append(PlimsollSessionStore(f"{folder}/{next(numbers)}.db"))
            return stores[-1]

        await run_session_store_conformance(new_store)
        for store in stores:
            store.close()
    first = task.run_code()
    answers, session = await converse(options_of(first, "home1"), task.questions[:-1])
    first["store"].close()
    again = task.run_code()  # the archive is all that the second process has
    more, _ = await converse(options_of(again, "home2", resume=session), task.questions[-1:])
    store = again["store"]
    (project,) = {one.parent.name for one in Path("home1/projects").rglob("*.jsonl")}
    stored = await store.load({"project_key": project, "session_id": session})
    written = [json.loads(line) for line in next(Path("home1/projects").rglob(f"{session}.jsonl")).open()]
    missing = [one for one in written if one.get("uuid") and one not in stored]
    assert missing == [], missing[:1]
    store.close()
    write_result([*answers, *more], stored)


asyncio.run(main())
