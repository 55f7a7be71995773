"""The numbered migration steps that ship with a store."""

from functools import cache
from importlib.resources import files


@cache
def steps(package: str) -> tuple[str, ...]:
    """The text of every migration of a store, in order."""
    folder = files(package).joinpath("migrations")
    names = sorted(one.name for one in folder.iterdir() if one.name.endswith(".sql"))
    return tuple(folder.joinpath(name).read_text("utf-8") for name in names)


def of_later_release(version: int, known: int) -> str:
    """What to say about an archive that this release does not know."""
    return (
        f"is of version {version}, and this release knows versions up to {known}. It was left as it is. "
        "Update Plimsoll, or set archive.url to another archive."
    )
