"""Whether a change to files needs approval, and what it would change."""

import asyncio
from collections.abc import Callable

from plimsoll.tools.tool import Approval, ToolContext

ALL_EDITS = "all edits"  # can be allowed for the rest of the conversation


async def edit_approval(
    outside: str | None, reason: str, preview: Callable[[], str], context: ToolContext
) -> Approval | None:
    """Require approval outside the project, and inside it if every edit needs one."""
    if outside:
        return Approval(outside, preview=await asyncio.to_thread(preview))
    if context.edits.mode != "ask":
        return None
    return Approval(reason, (ALL_EDITS,), await asyncio.to_thread(preview))
