"""The request walkthroughs of ARCHITECTURE.md are those of real runs."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_walkthroughs_list_the_files_and_functions_of_real_runs():
    command = [sys.executable, "bench/walkthroughs.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"run `make docs`\n{done.stdout}\n{done.stderr}"
