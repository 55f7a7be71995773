"""Attacks run against real gateways and archives, with the servers and clients of their tests."""

import sys
from pathlib import Path

for folder in ("gateway", "archive", "lcm", "tools"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))
