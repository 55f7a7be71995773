"""Makes the agent's settings for tests importable here too."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in ("sessions", "agent", "terminal")]
