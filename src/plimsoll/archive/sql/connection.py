"""The database interface of the archive: transactions, statements and the time.

    work(connection) ──► BEGIN … COMMIT        a function of the archive is one transaction
                  ▲
     SQLite: in one thread, never waiting      PostgreSQL: on the event loop, waiting for the server

The functions of the archive are asynchronous and written once. Statements use `?` for values.
`RETURNING` and row locks depend on the store.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

Result = TypeVar("Result")
Values = Sequence[Any]
Record = tuple[Any, ...]


class SqlConnection(ABC):
    """One transaction on the database."""

    for_update: ClassVar[str] = (
        ""  # after a SELECT of sessions `s`: locks them until the end of the transaction
    )

    @abstractmethod
    async def rows(self, statement: str, values: Values = ()) -> list[Record]:
        """All rows."""

    @abstractmethod
    async def row(self, statement: str, values: Values = ()) -> Record | None:
        """The first row, if there is one."""

    @abstractmethod
    async def run(self, statement: str, values: Values = ()) -> int:
        """Run a statement. Returns the number of changed rows."""

    @abstractmethod
    async def insert(self, statement: str, each: Iterable[Values]) -> list[int]:
        """Insert a row for each of the values into a table with a numeric `id`, and return the ids."""

    @abstractmethod
    def batches(
        self, statement: str, values: Values = (), *, seconds: float | None = None
    ) -> AsyncGenerator[list[Record], None]:
        """Rows in batches, read on demand.

        With `seconds`, the database stops after that time, even without a row, and raises `TimeoutError`. The
        transaction continues.
        """

    @abstractmethod
    async def now(self) -> float:
        """The time by the store's clock, shared by all processes."""

    @abstractmethod
    async def compute(self, work: Callable[[], Result]) -> Result:
        """Run long work that needs no database, without blocking the event loop."""

    async def delete_alone(self) -> None:
        """Serialise deletions, because the messages of a hidden parent depend on all of its forks."""
        return

    @abstractmethod
    async def damage(self) -> list[str]:
        """The faults that the database finds in its own files."""

    async def only(self, statement: str, values: Values = ()) -> Record:
        """The row, which must exist."""
        found = await self.row(statement, values)
        assert found is not None, statement
        return found


Work = Callable[[SqlConnection], Coroutine[Any, Any, Result]]


class Database(ABC):
    """Runs transactions."""

    @abstractmethod
    async def write(
        self, work: Work[Result], *, repeatable: bool = False, awaits_disk: bool = True
    ) -> Result:
        """Run the work in one transaction, which is stored completely or not at all.

        `repeatable` work is idempotent, so it runs again if it is unknown whether the first attempt was stored.
        Without `awaits_disk`, it survives the end of the process at once, but a power failure only some time later.
        """

    @abstractmethod
    async def read(self, work: Work[Result], *, is_long: bool = False) -> Result:
        """Run the work on one snapshot of the database.

        Work that `is_long`, such as a search, does not block other reads.
        """

    @abstractmethod
    async def compute(self, work: Callable[[], Result]) -> Result:
        """Run work that needs no database, off the event loop."""

    @abstractmethod
    async def close(self) -> None:
        """Wait for running work, then close."""
