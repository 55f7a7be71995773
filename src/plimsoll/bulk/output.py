"""The output folder of a run, and how a killed run continues.

    OUT/data.jsonl       the conversations, or their training examples
        report.jsonl     one line for each row that is in data.jsonl
        rejects.jsonl    one line for each rejected row, with the reason
        statistics.md    written at the end
        manifest.jsonl   the run's settings, then one line for each chunk in the files above
        work/            pieces: chunks that are not in the files yet, and what was spent; removed at the end

Chunks are appended in order. A chunk counts once its line in the manifest is on disk; that line has the sizes of the
files at that moment. To continue, the files are truncated to the sizes in the last line, so every row appears once.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from plimsoll.bulk.pieces import read_piece
from plimsoll.bulk.spend_log import SpendLog
from plimsoll.errors import UserError, advice_on

DATA, REPORT, REJECTS = "data.jsonl", "report.jsonl", "rejects.jsonl"
STATISTICS, MANIFEST, WORK = "statistics.md", "manifest.jsonl", "work"
SPENDING = "spending.jsonl"
_FILES = (DATA, REPORT, REJECTS)


class OutputFolder:
    """Open while a run writes to it; one run at a time."""

    def __init__(self, path: Path, settings: Mapping[str, Any], restart: bool = False) -> None:
        """`settings` describe the run; a folder with the output of a different run is rejected."""
        self.path = path
        self.chunks = self.rows = self.rejected = self.size = 0  # in the files
        self.spent = 0.0  # USD for the summary model, set by the caller
        self.is_finished = False
        self._open = ExitStack()
        try:
            self._start(dict(settings), restart)
        except OSError as error:
            self._open.close()
            raise UserError(
                f"{path} cannot be written: {error.strerror or error}. {advice_on(error)}"
            ) from error
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def work(self) -> Path:
        """The folder for the workers' pieces."""
        return self.path / WORK

    def open_spend_log(self) -> SpendLog:
        """The log of what the run spends, open as long as the folder. A finished run has none."""
        log = SpendLog(self.work / SPENDING)
        self._open.callback(log.close)
        self.spent = log.spent
        return log

    def commit(self, piece: Path, size: int) -> None:
        """Append the next chunk to the files; it is never processed again."""
        with _explained(self.path):
            for result in read_piece(piece):
                self._files[DATA].write(result.data)
                self._files[REPORT].write(result.report)
                self._files[REJECTS].write(result.reject)
                self.rows += 1
                self.rejected += bool(result.reject)
            for handle in self._files.values():
                _sync(handle)
            self.chunks += 1
            self.size += size
            self._note(
                chunk=self.chunks,
                rows=self.rows,
                rejected=self.rejected,
                size=self.size,
                spent=self.spent,
                ends=[self._files[name].tell() for name in _FILES],
            )
            piece.unlink()

    def finish(self) -> None:
        """Finish the run after the last chunk."""
        with _explained(self.path):
            shutil.rmtree(self.work)
            self._note(finished=True)
        self.is_finished = True

    def _start(self, settings: dict[str, Any], restart: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path} is a file. Pass a folder to --output.")
        self.path.mkdir(parents=True, exist_ok=True)
        self._refuse_other_files()
        self._manifest = self._opened(MANIFEST)
        try:
            fcntl.flock(self._manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"Another `plimsoll bulk` is writing to {self.path}. Wait for it or stop it."
            ) from error
        if restart:
            self._manifest.truncate(0)
        lines = list(self._noted())
        self._files = {name: self._opened(name) for name in _FILES}
        if lines:
            self._resume(lines, settings)
        else:
            self._note(asked=settings)
        ends = next((line["ends"] for line in reversed(lines) if "ends" in line), [0, 0, 0])
        for name, end in zip(_FILES, ends, strict=True):
            if os.fstat(self._files[name].fileno()).st_size < end:
                raise UserError(
                    f"{self.path / name} is shorter than recorded in {MANIFEST}: content was removed. "
                    "Pass another --output, or --restart to process every row again."
                )
            self._files[name].seek(end)
            self._files[name].truncate()
        if not self.is_finished:
            self._prepare_work(restart)

    def _refuse_other_files(self) -> None:
        """Reject a folder with other files; without a manifest, no file in it is ours."""
        names = {path.name for path in self.path.iterdir()}
        if names and MANIFEST not in names:
            raise UserError(f"{self.path} contains {min(names)!r}. Pass a new or empty folder to --output.")

    def _resume(self, lines: list[dict[str, Any]], settings: dict[str, Any]) -> None:
        before = lines[0].get("asked", {})
        changed = sorted(key for key in {*before, *settings} if before.get(key) != settings.get(key))
        if changed:
            raise UserError(
                f"{self.path} has a run with other settings: {', '.join(changed)} changed. Pass another --output, "
                "the same settings to continue it, or --restart to replace it."
            )
        committed = [line for line in lines if "chunk" in line]
        if committed:
            last = committed[-1]
            self.chunks, self.rows, self.rejected = last["chunk"], last["rows"], last["rejected"]
            self.size, self.spent = last["size"], last["spent"]
        self.is_finished = any("finished" in line for line in lines)

    def _prepare_work(self, restart: bool) -> None:
        if restart and self.work.exists():
            shutil.rmtree(self.work)
        self.work.mkdir(exist_ok=True)
        for piece in self.work.glob("*.piece"):
            if int(piece.stem) < self.chunks:
                piece.unlink()
        for folder in (self.path, self.path.parent):
            _sync_folder(folder)

    def _opened(self, name: str) -> IO[bytes]:
        descriptor = os.open(self.path / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        return self._open.enter_context(os.fdopen(descriptor, "r+b"))

    def _noted(self) -> Iterator[dict[str, Any]]:
        """The complete lines of the manifest; leaves the handle after them and removes an incomplete line."""
        self._manifest.seek(0)
        end = 0
        for line in iter(self._manifest.readline, b""):
            try:
                value = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                value = None
            if not isinstance(value, dict):
                break
            end += len(line)
            yield value
        self._manifest.seek(end)
        self._manifest.truncate()

    def _note(self, **facts: Any) -> None:
        self._manifest.write(json.dumps(facts, ensure_ascii=False).encode("utf-8") + b"\n")
        _sync(self._manifest)


def _sync(handle: IO[bytes]) -> None:
    handle.flush()
    os.fsync(handle.fileno())


def _sync_folder(path: Path) -> None:
    """Flush the names of new files to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror or error}. {advice_on(error)} "
            "Run the same command again to continue."
        ) from error
