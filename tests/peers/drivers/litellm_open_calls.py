"""Many calls of LiteLLM's proxy at once: each passes the hooks as the proxy calls them, when all are open."""

import asyncio
import json
import sys
from typing import Any

import litellm
from litellm.proxy._types import UserAPIKeyAuth

from plimsoll.integrations.litellm import PlimsollHook

task = json.load(sys.stdin)
attempts: list[str] = []
FILLER = "The harbour master wrote down every ship that came in. " * 20


async def main() -> int:
    """How many calls were changed by the hook of their deployment."""
    hook = PlimsollHook(
        window=1_024, threshold=0.0, on_compaction=lambda event: attempts.append(event.outcome)
    )
    key, all_open, opened, changed = UserAPIKeyAuth(api_key="any"), asyncio.Event(), 0, 0

    async def call(number: int) -> None:
        nonlocal opened, changed
        said = [{"role": "user", "content": f"ship{number}: {FILLER}"}]
        data: dict[str, Any] = {"model": "gpt-4.1", "messages": said, "litellm_call_id": f"call-{number}"}
        data = await hook.async_pre_call_hook(key, None, data, "acompletion")
        opened += 1
        if opened == task["calls"]:
            all_open.set()
        await all_open.wait()
        # The proxy makes the call in a task of its own, and repeats it there.
        for _ in range(2):
            made = hook.async_pre_call_deployment_hook(data, litellm.types.utils.CallTypes.acompletion)
            changed += await asyncio.create_task(made) is not data

    await asyncio.gather(*(call(number) for number in range(task["calls"])))
    hook.history.close()
    return changed


print(json.dumps({"changed": asyncio.run(main()), "attempts": len(attempts)}))
