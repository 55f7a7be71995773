"""Names for MCP tools that every provider accepts.

    ("git hub", "create/issue")   ->   mcp_git_hub_create_issue

A name that is too long or ambiguous ends in a part of a hash of the original, so that it is the same in every run,
whatever the order of servers and tools.
"""

import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

_LONGEST = 64  # characters, the shortest limit of all providers
_FORBIDDEN = re.compile(r"[^a-zA-Z0-9_-]")


def tool_names(tools: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A unique name for each (server, tool)."""
    originals = list(dict.fromkeys(tools))
    plain = {original: _FORBIDDEN.sub("_", f"mcp_{original[0]}_{original[1]}") for original in originals}
    shared = Counter(plain.values())
    return {
        original: name if len(name) <= _LONGEST and shared[name] == 1 else _marked(name, original)
        for original, name in plain.items()
    }


def _marked(name: str, original: tuple[str, str]) -> str:
    mark = sha256("\0".join(original).encode("utf-8", "replace")).hexdigest()[:8]
    return f"{name[: _LONGEST - 9]}_{mark}"
