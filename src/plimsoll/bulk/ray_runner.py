"""Processes chunks on Ray Data: the chunks are the rows of a dataset, processed wherever Ray has a free core.

The driver sends positions in files and gets numbers back; rows never pass through it. The input and the output folder
must be on storage that every node mounts at the same path.
"""

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from plimsoll.bulk.process_chunk import ChunkJob, process_chunk
from plimsoll.errors import UserError
from plimsoll.installation import install_command

LOCAL = "local"  # start Ray on this machine
START_SECONDS = "120"  # Ray waits 30 by itself; on two busy cores it gave up after 55 and was not ready


def on_ray(jobs: Iterator[ChunkJob], address: str, workers: int | None = None) -> Iterator[int]:
    """The numbers of finished chunks; `workers` limits how many run at the same time."""
    ray = _connected(address, workers)
    try:
        all_jobs = list(jobs)  # positions only; Ray Data plans the whole dataset
        if not all_jobs:
            return
        ray.data.DataContext.get_current().enable_progress_bars = False
        rows = ray.data.from_items([row_of(job) for job in all_jobs], override_num_blocks=len(all_jobs))
        done = rows.map(process_row_of_ray, num_cpus=1, concurrency=workers)
        for row in done.iter_rows():
            yield int(row["number"])
    finally:
        if address == LOCAL:
            ray.shutdown()


def row_of(job: ChunkJob) -> dict[str, Any]:
    """A job for a worker in any directory, and the base of its relative paths; reports keep paths as given."""
    is_relative = not all(
        Path(path).is_absolute() for path in (job.folder, *(part.path for part in job.chunk.parts))
    )
    return {"job": job, "start": str(Path.cwd()) if is_relative else ""}


def process_row_of_ray(row: dict[str, Any]) -> dict[str, int]:
    """Process the job of a row. A Ray worker is a process with one job at a time."""
    if row["start"]:
        os.chdir(row["start"])
    return {"number": process_chunk(row["job"])}


def _connected(address: str, workers: int | None) -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", START_SECONDS)
    try:
        ray = import_module("ray")
        import_module("ray.data")
    except ImportError as error:
        raise UserError(f"--ray needs Ray. Run `{install_command('ray')}`.") from error
    if ray.is_initialized():
        return ray
    options: dict[str, Any] = {"num_cpus": workers} if address == LOCAL and workers else {}
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            include_dashboard=False if address == LOCAL else None,
            **options,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UserError(f"--ray {address}: Ray cannot be reached: {error}. Check the address.") from error
    except Exception as error:
        if type(error) is not Exception:  # Ray raises nothing narrower when a node does not start in time
            raise
        raise UserError(
            f"--ray {address}: Ray did not start: {error} Try again when the machine is less busy, or without --ray."
        ) from error
    return ray
