"""Tests of the gateway use the stores under test of the archive, a PostgreSQL server among them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "archive"))
