"""`plimsoll bulk --ray` on a real Ray of two workers."""

import json
import os
import subprocess
import sys
from pathlib import Path

from peer_list import read_peers

sys.path.insert(0, str(Path(__file__).parents[1] / "bulk"))

from bulk_datasets import WINDOW, output_bytes, read_lines, rows, write_lines

LIMIT = 1_200  # seconds; only a Ray that hangs takes so long
STARTED = "900"  # seconds for Ray to start, which takes about ten unless the machine is very busy


def bulk(source: Path, folder: Path, *options: str) -> str:
    """Run the command in Ray's environment; what it printed."""
    peer = read_peers()["ray"]
    assert peer.is_installed, "run `make peers`"
    command = [str(peer.program("plimsoll")), "bulk", str(source), "-o", str(folder), "--window", WINDOW]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PLIMSOLL_", "RAY_"))}
    done = subprocess.run(
        [*command, *options],
        env={
            **kept,
            "PLIMSOLL_HOME": str(folder.parent / "home"),
            "RAY_raylet_start_wait_time_s": STARTED,
        },
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_local_ray_with_two_workers_writes_the_bytes_of_one_process(tmp_path: Path):
    lines = [json.dumps(row) for row in rows(60)]
    lines[17] = lines[17][:100]  # a broken row is set aside there too
    source = tmp_path / "rows.jsonl"
    source.write_text("\n".join(lines), "utf-8")
    bulk(source, tmp_path / "one", "--workers", "1")
    printed = bulk(source, tmp_path / "ray", "--workers", "2", "--ray")
    assert "59 rows in" in printed
    assert output_bytes(tmp_path / "ray") == output_bytes(tmp_path / "one")
    assert len(read_lines(tmp_path / "ray" / "rejects.jsonl")) == 1


def test_a_run_that_began_in_processes_ends_on_ray(tmp_path: Path):
    source = write_lines(tmp_path / "rows.jsonl", rows(40))
    bulk(source, tmp_path / "whole", "--workers", "1", "--split-at-compactions")
    bulk(source, tmp_path / "out", "--workers", "1", "--split-at-compactions")
    manifest = tmp_path / "out" / "manifest.jsonl"
    lines = manifest.read_bytes().splitlines(keepends=True)
    manifest.write_bytes(b"".join(lines[:2]))  # as if it had been killed after the first chunk
    bulk(source, tmp_path / "out", "--workers", "2", "--split-at-compactions", "--ray")
    assert output_bytes(tmp_path / "out") == output_bytes(tmp_path / "whole")
