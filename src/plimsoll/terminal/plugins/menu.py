"""The menu pages of `plimsoll plugins` and the current position. Independent of the terminal.

    Plugins ─┬─ Provider Plugins ── Context Engine ── compressor, lcm, yours …     Enter chooses
             └─ General Plugins ─── what is installed, enabled or not

Back goes one page up; back on the first page leaves.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.plugins import CatalogueEntry
from plimsoll.terminal.plugins.engine_choice import EngineChoice
from plimsoll.terminal.plugins.listing import mark_of

KEYS_HELP = "↑ ↓ move · Enter choose · Esc back"
READ_ONLY_HELP = "↑ ↓ move · Esc back · set plugins.enabled in config.yaml to enable plugins"


@dataclass(frozen=True, slots=True)
class MenuItem:
    """One selectable line, its description, and its action."""

    title: str
    about: tuple[str, ...] = ()
    choose: Callable[[], None] | None = None


@dataclass(slots=True)
class MenuPage:
    """A list of items, rebuilt whenever it is shown."""

    name: str
    make: Callable[[], list[MenuItem]]
    how: str = KEYS_HELP
    place: int = 0


@dataclass(slots=True)
class Menu:
    """The path from the first page to the current one."""

    choice: EngineChoice
    way: list[MenuPage] = field(default_factory=list)
    message: str = ""

    def __post_init__(self) -> None:
        self.way = [MenuPage("Plugins", self._first)]

    @property
    def page(self) -> MenuPage:
        return self.way[-1]

    def items(self) -> list[MenuItem]:
        """The items of the current page."""
        items = self.page.make()
        self.page.place = max(0, min(self.page.place, len(items) - 1))
        return items

    def move(self, steps: int) -> None:
        """Move up or down, within the list."""
        last = len(self.items()) - 1
        self.page.place = max(0, min(self.page.place + steps, last))

    def enter(self) -> None:
        """Run the action of the current item; a mistake shows a message."""
        self.message = ""
        items = self.items()
        choose = items[self.page.place].choose if items else None
        if choose is None:
            return
        try:
            choose()
        except UserError as error:
            self.message = str(error)

    def back(self) -> bool:
        """Go one page up; False if there is none."""
        self.message = ""
        if len(self.way) == 1:
            return False
        self.way.pop()
        return True

    def _open(self, page: MenuPage) -> Callable[[], None]:
        return lambda: self.way.append(page)

    def _first(self) -> list[MenuItem]:
        general = self.choice.catalogue.general
        used = sum(entry.is_enabled for entry in general)
        return [
            MenuItem(
                "Provider Plugins",
                ("one of each kind is active",),
                self._open(MenuPage("Provider Plugins", self._providers)),
            ),
            MenuItem(
                "General Plugins",
                (f"{len(general)} installed, {used} enabled",),
                self._open(MenuPage("General Plugins", self._general, READ_ONLY_HELP)),
            ),
        ]

    def _providers(self) -> list[MenuItem]:
        page = MenuPage("Context Engine", self._engines)
        about = (
            "keeps a conversation within its window",
            f"active: {plain(self.choice.tried.serving(self.choice.active).name)}",
        )
        return [MenuItem("Context Engine", about, self._open(page))]

    def _engines(self) -> list[MenuItem]:
        found = self.choice.tried
        using = found.serving(self.choice.active)
        return [
            MenuItem(f"{mark_of(engine, using)} {plain(engine.name)}", _about(engine), self._use(engine))
            for engine in found.engines
        ]

    def _general(self) -> list[MenuItem]:
        return [
            MenuItem(f"{mark_of(entry, None)} {plain(entry.name)}", _about(entry))
            for entry in self.choice.tried.general
        ]

    def _use(self, entry: CatalogueEntry) -> Callable[[], None]:
        def use() -> None:
            self.message = " ".join(self.choice.use(entry.name))

        return use


def _about(entry: CatalogueEntry) -> tuple[str, ...]:
    version = f" · {entry.manifest.version}" if entry.manifest.version else ""
    lines = (plain(entry.description) or "no description", plain(entry.source + version))
    return (*lines, plain(entry.obstacle)) if entry.obstacle else lines
