"""Limits on the requests, time and money of one turn. A limit ends the turn with a message, never the session."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """Limits of one turn; None means no limit."""

    requests: int | None = 100
    seconds: float | None = None
    money: float | None = None

    def reached(self, requests: int, seconds: float, money: float) -> str:
        """The limit that the turn has reached, as a message for the user; empty if none."""
        if self.requests is not None and requests >= self.requests:
            return (
                f"This turn has reached its limit of {requests} requests (agent.max_requests). "
                "Say `go on` to continue."
            )
        if self.seconds is not None and seconds >= self.seconds:
            return (
                f"This turn has taken {seconds:.0f} s; its limit is {self.seconds:.0f} s (agent.max_seconds). "
                "Say `go on` to continue."
            )
        if self.money is not None and money >= self.money:
            return (
                f"This turn has cost ${money:.2f}; its limit is ${self.money:.2f} (agent.max_money). "
                "Say `go on` to continue."
            )
        return ""
