"""Settings of this package: the limits of one turn.

    agent:
      max_requests: 100      a turn that loops ends here
      max_seconds: null
      max_money: 0.50        US dollars

A limit ends the turn with a sentence; the session goes on.
"""

from pydantic import Field

from plimsoll.agent.limits import TurnLimits
from plimsoll.sections import Section


class AgentSettings(Section):
    """How far one turn may go. A limit ends the turn, never the session; null is no limit."""

    max_requests: int | None = Field(
        default=100, ge=1, description="Requests to the model that one turn may make."
    )
    max_seconds: float | None = Field(
        default=None, gt=0, description="Seconds after which a turn makes no further request."
    )
    max_money: float | None = Field(
        default=None,
        gt=0,
        description="USD after which a turn makes no further request, where prices are known.",
    )

    def limits(self) -> TurnLimits:
        """The limits of one turn."""
        return TurnLimits(self.max_requests, self.max_seconds, self.max_money)
