"""Whatever a crash leaves on disk, continuing gives the output of a run that was never interrupted."""

import tempfile
from pathlib import Path

import pytest
from bulk_datasets import conversation, output_bytes, rows, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.bulk.chunks import chunks_of
from plimsoll.bulk.compaction import BatchPlan
from plimsoll.bulk.inputs import find_inputs
from plimsoll.bulk.output import OutputFolder
from plimsoll.bulk.pieces import rows_finished
from plimsoll.bulk.process_chunk import ChunkJob, process_chunk
from plimsoll.bulk.process_row import BulkPlan
from plimsoll.bulk.run import BulkRun, in_processes, run_bulk
from plimsoll.errors import UserError

PLAN = BulkPlan(BatchPlan("", 64_000, 0.5, 0.2, 20, only_if_due=True))
COUNT = 12


def bulk_run(source: Path) -> BulkRun:
    return BulkRun(find_inputs([str(source)]), PLAN, chunk_rows=2)


def crash_after(run: BulkRun, folder: Path, commits: int) -> None:
    """Stop before the next commit, with the pieces of later chunks on disk."""

    class Crash(Exception):
        pass

    with OutputFolder(folder, run.settings) as output:

        def on_commit() -> None:
            if output.chunks == commits:
                raise Crash

        def ahead(jobs):
            every = list(jobs)
            return [process_chunk(job) for job in every]

        with pytest.raises(Crash):
            run_bulk(run, output, ahead, on_commit)


def finish(run: BulkRun, folder: Path) -> None:
    with OutputFolder(folder, run.settings) as output:
        run_bulk(run, output, lambda jobs: in_processes(jobs, 1))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> tuple[BulkRun, dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("recovery")
    source = write_lines(folder / "rows.jsonl", [*rows(COUNT - 1, rounds=2), {"broken": 1}])
    run = bulk_run(source)
    finish(run, folder / "whole")
    return run, output_bytes(folder / "whole")


@given(
    commits=st.integers(0, 5),
    torn=st.binary(max_size=40),
    cut=st.integers(0, 3_000),
    manifest=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_torn_writes_after_a_crash_change_nothing(
    dataset: tuple[BulkRun, dict[str, bytes]], commits: int, torn: bytes, cut: int, manifest: bool
):
    run, expected = dataset
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "out"
        crash_after(run, folder, commits)
        for name in ("data.jsonl", "report.jsonl", *(["manifest.jsonl"] if manifest else [])):
            with (folder / name).open("ab") as handle:
                handle.write(torn.replace(b"\n", b"?"))
        for piece in (folder / "work").iterdir():
            content = piece.read_bytes()
            piece.write_bytes(content[: max(0, len(content) - cut)] + torn)
        finish(run, folder)
        assert output_bytes(folder) == expected


def test_a_row_at_which_workers_died_twice_is_set_aside(tmp_path: Path):
    source = write_lines(tmp_path / "rows.jsonl", rows(4, rounds=1))
    run = BulkRun(find_inputs([str(source)]), PLAN)
    with OutputFolder(tmp_path / "out", run.settings) as output:

        def deadly(jobs):
            (job,) = jobs
            first = ChunkJob(job.chunk, job.plan, job.folder, deaths=(1, 2, 1))
            return [process_chunk(first)]

        run_bulk(run, output, deadly)
    assert (output.rows, output.rejected) == (4, 1)
    assert "the worker process died 2 times at this row" in (tmp_path / "out" / "rejects.jsonl").read_text()
    assert '"row": 2' in (tmp_path / "out" / "rejects.jsonl").read_text()


def test_the_place_of_a_death_is_the_first_row_that_is_not_finished(tmp_path: Path):
    source = write_lines(tmp_path / "rows.jsonl", [{"messages": conversation(n, 1)} for n in range(3)])
    (chunk,) = chunks_of(find_inputs([str(source)]))
    job = ChunkJob(chunk, PLAN, str(tmp_path))
    assert job.after_death().deaths == (0,)
    process_chunk(job)
    assert rows_finished(job.piece) == 3
    assert job.after_death().after_death().deaths == (3, 3)


def test_two_runs_do_not_write_to_one_folder(dataset: tuple[BulkRun, dict[str, bytes]], tmp_path: Path):
    run, _ = dataset
    with (
        OutputFolder(tmp_path / "out", run.settings),
        pytest.raises(UserError, match="Another `plimsoll bulk`"),
    ):
        OutputFolder(tmp_path / "out", run.settings)


def test_a_file_that_lost_rows_is_not_filled_with_zeros(
    dataset: tuple[BulkRun, dict[str, bytes]], tmp_path: Path
) -> None:
    run, _ = dataset
    finish(run, tmp_path / "out")
    (tmp_path / "out" / "data.jsonl").unlink()
    with pytest.raises(UserError, match=r"data\.jsonl is shorter than recorded in manifest\.jsonl"):
        finish(run, tmp_path / "out")
