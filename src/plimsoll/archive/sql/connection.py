"""What the archive needs from a database: transactions, a few ways to run a statement, and the time.

    work(connection) ──► BEGIN … COMMIT        a function of the archive is one transaction
                  ▲
     SQLite: in one thread, never waiting      PostgreSQL: on the event loop, waiting for the server

The functions of the archive are asynchronous and written once. Values stand for `?` in a
statement. `RETURNING` and row locks are the store's affair.
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
        ""  # behind a SELECT of sessions `s`: nobody else writes to them until the end
    )

    @abstractmethod
    async def rows(self, statement: str, values: Values = ()) -> list[Record]:
        """All rows."""

    @abstractmethod
    async def row(self, statement: str, values: Values = ()) -> Record | None:
        """The first row, if there is one."""

    @abstractmethod
    async def run(self, statement: str, values: Values = ()) -> int:
        """How many rows were changed."""

    @abstractmethod
    async def insert(self, statement: str, each: Iterable[Values]) -> list[int]:
        """Add a row for each of the values to a table with a numeric `id`, and give these."""

    @abstractmethod
    def batches(
        self, statement: str, values: Values = (), *, seconds: float | None = None
    ) -> AsyncGenerator[list[Record], None]:
        """Rows some at a time; those that are not asked for are not read.

        With `seconds`, the database stops after that time, even where it has not found a row, and `TimeoutError`
        is raised. The transaction goes on.
        """

    @abstractmethod
    async def now(self) -> float:
        """The time by the clock that all who use this store go by."""

    @abstractmethod
    async def compute(self, work: Callable[[], Result]) -> Result:
        """Do work that takes long and needs no database, without holding up the event loop."""

    async def delete_alone(self) -> None:
        """Wait until nobody else deletes: what a hidden parent still holds depends on all of its forks."""
        return

    @abstractmethod
    async def damage(self) -> list[str]:
        """What the database itself finds wrong with its files."""

    async def only(self, statement: str, values: Values = ()) -> Record:
        """The row that must be there."""
        found = await self.row(statement, values)
        assert found is not None, statement
        return found


Work = Callable[[SqlConnection], Coroutine[Any, Any, Result]]


class Database(ABC):
    """Where transactions come from."""

    @abstractmethod
    async def write(self, work: Work[Result], *, repeatable: bool = False) -> Result:
        """Do the work in one transaction: all of it is stored afterwards, or nothing.

        Work that is `repeatable` stores nothing more when it is done twice, so it may be done again where nobody
        can tell whether the first time counted.
        """

    @abstractmethod
    async def read(self, work: Work[Result], *, is_long: bool = False) -> Result:
        """Do the work on one state of the database, whatever is written meanwhile.

        Work that `is_long`, such as a search, does not hold up other reads.
        """

    @abstractmethod
    async def compute(self, work: Callable[[], Result]) -> Result:
        """Do work that needs no database, away from the event loop."""

    @abstractmethod
    async def close(self) -> None:
        """Wait for what runs, then let go."""
