"""The numbered migration steps that ship with a store."""

from functools import cache
from importlib.resources import files


@cache
def steps(package: str) -> tuple[str, ...]:
    """The text of every migration of a store, in order."""
    folder = files(package).joinpath("migrations")
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return tuple(folder.joinpath(name).read_text("utf-8") for name in names)


def of_later_release(version: int, known: int) -> str:
    """The error message for an archive of a later release."""
    return (
        f"has version {version}, but this release supports versions up to {known}. It was not changed. "
        "Update Plimsoll, or set archive.url to another archive."
    )
