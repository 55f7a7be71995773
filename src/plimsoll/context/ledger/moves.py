"""What shell commands do to files: rename, delete, or revert to the committed version.

git mv src/Views.ts src/views.ts     src/Views.ts is src/views.ts now
rm src/old.ts                        deleted
git checkout -- src/app.ts           its changes were reverted
git reset --hard                     all changes were reverted
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plimsoll.context.ledger.outcomes import parsed
from plimsoll.context.ledger.state import ConversationFacts, FileFact

_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|\S+")
_MOVES = re.compile(r"^(?:git )?mv ")
_DELETES = re.compile(r"^(?:git )?rm ")
_RESTORES = re.compile(r"^git (?:checkout (?:\S+ )?-- |restore (?!--staged))")
_RESETS = re.compile(r"^git (?:reset --hard|checkout \.|restore \.|checkout -- \.)(?:\s|$)")
_MOVED_TO = re.compile(r"^\*\*\* Update File: (.+)\n\*\*\* Move to: (.+)$", re.MULTILINE)
_LATELY = 3  # files changed last; reverting one of them gives up the attempt


@dataclass(frozen=True, slots=True)
class FileMoves:
    """What one command does to files."""

    moved: tuple[tuple[str, str], ...] = ()  # from, to
    deleted: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    resets: bool = False  # all files are reverted


def moves_in(command: str) -> FileMoves:
    """What a command does to the files that it names."""
    if not any(sign in command for sign in ("mv ", "rm ", "git ")):  # fast path for most commands
        return FileMoves()
    moved: list[tuple[str, str]] = []
    deleted: list[str] = []
    restored: list[str] = []
    resets = False
    for step in parsed(command).works:
        named = [word.strip("\"'") for word in _WORD.findall(step.work) if not word.startswith("-")]
        if _MOVES.match(step.work):
            moved += _renamed(named[1 + (named[0] == "git") :])
        elif _DELETES.match(step.work):
            deleted += named[1 + (named[0] == "git") :]
        elif _RESETS.match(step.work):
            resets = True
        elif _RESTORES.match(step.work):
            restored += named[2:]
    return FileMoves(tuple(moved), tuple(deleted), tuple(restored), resets)


def moved_by_patch(patch: str) -> FileMoves:
    """The files that a patch renames."""
    return FileMoves(tuple((old.strip(), new.strip()) for old, new in _MOVED_TO.findall(patch)))


def _renamed(names: list[str]) -> Iterator[tuple[str, str]]:
    if len(names) < 2:
        return
    *olds, new = names
    is_folder = len(olds) > 1 or new.endswith("/")
    for old in olds:
        yield old, f"{new.rstrip('/')}/{old.rsplit('/', 1)[-1]}" if is_folder else new


def apply_moves(facts: ConversationFacts, moves: FileMoves, position: int) -> None:
    """Update the state of the files after a successful command."""
    for old, new in moves.moved:
        path = _known(facts, old)
        if path is not None:
            _rename(facts, path, path[: len(path) - len(old)] + new, position)
    for name in moves.deleted:
        path = _known(facts, name)
        if path is not None and not facts.files[path].is_only_read:
            facts.files[path].add("deleted", position)
    lately = sorted(
        (path for path, fact in facts.files.items() if not fact.is_only_read),
        key=lambda path: facts.files[path].sources[-1:] or (-1,),
    )[-_LATELY:]
    if moves.resets or any(_known(facts, name) in lately for name in moves.restored):
        facts.undone_at = position


def _rename(facts: ConversationFacts, old: str, new: str, position: int) -> None:
    """Rename a file in the state, together with its facts and quoted lines."""
    fact = facts.files.pop(old)
    known = facts.files.pop(new, FileFact())
    for action, count in known.actions.items():
        fact.actions[action] = fact.actions.get(action, 0) + count
    fact.add("renamed", position)
    first = fact.first_name or old
    fact.first_name = first if first != new else ""
    facts.files[new] = fact
    facts.renamed[old] = new


def current_name(facts: ConversationFacts, path: str) -> str:
    """The current name of a file."""
    for _ in range(len(facts.renamed)):
        if path not in facts.renamed:
            break
        path = facts.renamed[path]
    return path


def changed_paths(files: Mapping[str, FileFact]) -> dict[str, str]:
    """For each file that was only read under a relative path, the changed file that this path names."""
    changed = [path for path, fact in files.items() if not fact.is_only_read]
    found: dict[str, str] = {}
    for path, fact in files.items():
        bare = path.removeprefix("./")
        same = [item for item in changed if item.endswith(f"/{bare}")] if fact.is_only_read else []
        if len(same) == 1:
            found[path] = same[0]
    return found


def _known(facts: ConversationFacts, name: str) -> str | None:
    """The known path of a file that a command names relative to its folder."""
    bare = name.removeprefix("./")
    if bare in facts.files:
        return bare
    found = [path for path in facts.files if path.endswith(f"/{bare}")]
    return found[0] if len(found) == 1 else None
