import os
from dataclasses import dataclass


@dataclass
class Options:
    tail: int = 8
    share: float = 0.5
    seconds: float = 30.0

    @classmethod
    def from_environment(cls):
        return cls(tail=int(os.environ.get("HARBOUR_TAIL", "8")))
