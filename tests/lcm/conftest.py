"""Makes the conversations of the agent's tests importable here too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "agent"))
