"""Jobs for Ray, whose workers start in folders of their own."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from bulk_datasets import rows, write_lines

from plimsoll.bulk.chunks import chunks_of
from plimsoll.bulk.compaction import BatchPlan
from plimsoll.bulk.inputs import find_inputs
from plimsoll.bulk.pieces import read_piece
from plimsoll.bulk.process_chunk import ChunkJob
from plimsoll.bulk.process_row import BulkPlan
from plimsoll.bulk.ray_runner import on_ray, process_row_of_ray, row_of
from plimsoll.errors import UserError

PLAN = BulkPlan(BatchPlan("", 4_000, 0.5, 0.2, 20, only_if_due=True))


@pytest.mark.parametrize("is_relative", [True, False])
def test_a_worker_in_another_folder_finds_files_that_were_given_with_relative_paths(
    is_relative: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "work").mkdir(parents=True)
    there.mkdir()
    write_lines(here / "rows.jsonl", rows(2, rounds=2))
    monkeypatch.chdir(here)
    base = "" if is_relative else f"{here}/"
    (chunk,) = chunks_of(find_inputs([f"{base}rows.jsonl"]))
    row = row_of(ChunkJob(chunk, PLAN, f"{base}work"))
    monkeypatch.chdir(there)
    assert process_row_of_ray(row) == {"number": 0}
    results = list(read_piece(ChunkJob.piece_in(here / "work", 0)))
    assert [one.reject for one in results] == [b"", b""]
    assert list(there.iterdir()) == []


def test_a_node_of_ray_that_does_not_start_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: Any) -> None:
        raise Exception("The current node timed out during startup.")  # what Ray itself raises

    ray: Any = ModuleType("ray")
    ray.init, ray.is_initialized = init, lambda: False
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.data", ModuleType("ray.data"))
    with pytest.raises(UserError, match="--ray local: Ray did not start: The current node timed out"):
        list(on_ray(iter(()), "local"))
