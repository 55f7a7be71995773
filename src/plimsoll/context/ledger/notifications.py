"""Background processes whose end a harness reports in a message of its own, later than their start.

<task-notification><task-id>b1</task-id><status>failed</status>
<summary>Background command "Run the tests" failed with exit code 1</summary></task-notification>
"""

import re

from plimsoll.context.ledger.state import ConversationFacts
from plimsoll.context.ledger.tool_facts import read_result

_ENDED = re.compile(
    r"<task-id>(?P<id>[\w-]+)</task-id>(?:(?!</?task-notification).)*?"
    r"<status>(?P<status>completed|failed|killed)</status>\s*(?:<summary>(?P<summary>[^<]*)</summary>)?",
    re.DOTALL,
)
_CODE = re.compile(r"exit code (\d{1,3})\b")


def read_notifications(facts: ConversationFacts, text: str, position: int) -> None:
    """Record the outcome of each process that a message reports as ended."""
    for found in _ENDED.finditer(text) if "<task-id>" in text else ():
        process = facts.running.pop(found["id"], None)
        if process is None:
            continue
        summary = (found["summary"] or "").strip()
        stated = _CODE.search(summary)
        code = int(stated[1]) if stated else int(found["status"] != "completed")
        read_result(facts, process.called, f"Exit code: {code}\nOutput:\n{summary}", position)
