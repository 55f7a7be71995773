"""Names the command that installs a missing host package."""

from collections.abc import Iterator
from contextlib import contextmanager

from plimsoll.errors import UserError
from plimsoll.installation import install_command


@contextmanager
def host_package(extra: str, package: str) -> Iterator[None]:
    """Wrap the imports of a host: a missing package becomes an error that names the command."""
    try:
        yield
    except ImportError as error:
        missing = error.name or ""
        if missing.partition(".")[0] != package.partition(".")[0]:
            raise
        raise UserError(
            f"The adapter needs the package {missing!r}, which is not installed. "
            f"Run `{install_command(extra)}`."
        ) from error
