"""Completes commands, model names after `/model`, and paths after `@`."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from plimsoll.models import shipped_cards
from plimsoll.terminal.chat.attachments import mention
from plimsoll.terminal.chat.commands import ALL, SlashCommand

MAX_PATHS = 50
_ARGUMENTS = {"/edits": ("ask", "accept", "plan"), "/export": ("markdown", "html", "json")}
_MENTION = re.compile(r'(?<![\w@/])@("?)([^\s"]*|(?<=")[^"]*)$')


class ChatCompleter(Completer):
    """Completes input at the prompt."""

    def __init__(
        self,
        commands: Callable[[], Mapping[str, SlashCommand]] = lambda: ALL,
        place: Callable[[], Path] = Path.cwd,
    ) -> None:
        self._commands, self._place = commands, place

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        named = _MENTION.search(text)
        if named:
            yield from self._paths(named[2], len(named[0]))
        elif text.startswith("/") and "\n" not in text:
            yield from self._slash(text)

    def _slash(self, text: str) -> Iterator[Completion]:
        name, space, argument = text.partition(" ")
        if space:
            names = [card.name for card in shipped_cards()] if name == "/model" and argument else []
            yield from (Completion(item, -len(argument)) for item in names if argument in item)
            words = _ARGUMENTS.get(name, ())
            yield from (Completion(word, -len(argument)) for word in words if word.startswith(argument))
            return
        for command in self._commands().values():
            for entry in command.names:
                if f"/{entry}".startswith(name):
                    shown = command.usage if entry == command.name else f"/{entry}"
                    yield Completion(f"/{entry}", -len(name), shown, display_meta=command.about)

    def _paths(self, typed: str, length: int) -> Iterator[Completion]:
        folder, _, start = typed.rpartition("/")
        above = self._place() / Path(f"{folder}/" if folder or typed.startswith("/") else ".").expanduser()
        try:
            with os.scandir(above) as entries:
                found = sorted(
                    (entry.name, entry.is_dir()) for entry in entries if entry.name.startswith(start)
                )
        except OSError:
            return
        shown = [item for item in found if start.startswith(".") or not item[0].startswith(".")]
        for name, is_folder in shown[:MAX_PATHS]:
            whole = f"{folder}/{name}" if folder or typed.startswith("/") else name
            ending = "/" if is_folder else ""
            # A folder's quotes stay open: its files are completed next.
            named = mention(Path(whole)).removesuffix('"') if is_folder else mention(Path(whole))
            yield Completion(f"{named}{ending}", -length, f"{name}{ending}")
