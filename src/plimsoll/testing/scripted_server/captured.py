"""A request that the server received, and its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from plimsoll.caching import Bill
from plimsoll.dialects import ChatRequest, Reply, Usage
from plimsoll.testing.scripted_server.faults import Fault
from plimsoll.testing.scripted_server.rules.refusal import Refusal


@dataclass(slots=True)
class CapturedRequest:
    """One request. The outcome is set before the first byte of the response; the last two fields after it."""

    dialect: str
    path: str
    headers: Mapping[str, str] = field(repr=False)  # names in lower case; contains the key
    raw: bytes = field(repr=False)
    time: float  # arrival time by the server's clock
    body: dict[str, Any] | None = field(default=None, repr=False)
    request: ChatRequest | None = field(default=None, repr=False)
    status: int | None = None  # None until something is sent
    refusal: Refusal | None = None
    fault: Fault | None = None
    reply: Reply | None = field(default=None, repr=False)
    bill: Bill | None = None
    usage: Usage | None = None
    is_done: bool = False  # answered, interrupted or abandoned: nothing more will be sent
    is_abandoned: bool = False  # the client disconnected before the end
