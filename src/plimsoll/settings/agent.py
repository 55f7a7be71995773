"""`agent`: the limits of one turn.

    agent:
      max_requests: 100      a turn that loops ends here
      max_seconds: null
      max_money: 0.50        US dollars

A limit ends the turn with a message; the session continues.
"""

from pydantic import Field

from plimsoll.settings.section import Section


class AgentSettings(Section):
    """Limits of one turn. Reaching a limit ends the turn, not the session; null means no limit."""

    max_requests: int | None = Field(
        default=100, ge=1, description="Maximum number of model requests per turn."
    )
    max_seconds: float | None = Field(
        default=None, gt=0, description="Seconds after which a turn sends no further request."
    )
    max_money: float | None = Field(
        default=None,
        gt=0,
        description="USD after which a turn sends no further request, for models with known prices.",
    )
