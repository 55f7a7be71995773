"""Whether a command line runs without approval, and what a user may allow permanently.

    every command is read-only or allowed           no reason to ask
    one of them is unknown                          a reason, and the program that could be allowed
    the line is more than words and pipes           a reason, and nothing to allow

`cd` is followed: the commands after it must be harmless in both the old directory and the new one, because whether
`cd` succeeds depends on the commands.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plimsoll.tools.terminal.paths import Paths
from plimsoll.tools.terminal.read_only import (
    ApprovalReason,
    approval_reason,
    credential_patterns,
    grant_obstacle,
    grantable,
    path_reason,
)
from plimsoll.tools.terminal.shell import ShellCommand, UnsupportedSyntax, commands_in
from plimsoll.tools.workspace import Workspace

EVERYTHING = "*"
_MAX_DIRECTORIES = 8


@dataclass(slots=True)
class ApprovalDecision:
    """The reasons to ask about a command line; without one it runs."""

    reasons: list[ApprovalReason] = field(default_factory=list)
    used: set[str] = field(default_factory=set)  # programs that run because they were allowed

    @property
    def reason(self) -> str | None:
        return self.reasons[0].reason if self.reasons else None

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs that must be allowed for this line; empty if allowing them is not enough."""
        named = {found.program: None for found in self.reasons}
        return () if "" in named else tuple(named)


def approval_for(
    text: str, directory: Path, place: Workspace, allow: Collection[str] = (), granted: Collection[str] = ()
) -> ApprovalDecision:
    """`allow` comes from the settings and may name any program; `granted` comes from the user's answers."""
    verdict = ApprovalDecision()
    if EVERYTHING in allow:
        verdict.used.add(EVERYTHING)
        return verdict
    try:
        commands = commands_in(text)
        _judge(commands, verdict, _Rules(place, allow, granted), [directory])
    except UnsupportedSyntax as error:
        verdict.reasons = [ApprovalReason(f"uses {error}, so its effect cannot be checked in advance")]
    return verdict


@dataclass(frozen=True, slots=True)
class _Rules:
    place: Workspace
    allow: Collection[str]
    granted: Collection[str]

    @property
    def environment(self) -> Mapping[str, str]:
        return self.place.environment

    def allows(self, words: Sequence[str]) -> bool:
        named = {words[0], " ".join(words[:2])} & set(self.allow)
        return bool(named) or grantable(words) in self.granted


def _judge(
    commands: Sequence[ShellCommand], verdict: ApprovalDecision, rules: _Rules, directories: list[Path]
) -> None:
    paths, home = Paths(rules.place.root, *credential_patterns()), rules.environment.get("HOME")
    for command in commands:
        for directory in list(directories):
            if not paths.is_inside(directory):
                verdict.reasons.append(ApprovalReason(f"runs in {directory}, outside {paths.root}"))
                return
            words = command.expanded(directory, home)
            inputs = command.expanded_inputs(directory, home)
            found = path_reason(inputs, directory, paths, names=False) or _reason_to_ask(
                command, words, directory, paths, rules, verdict
            )
            if found is not None:
                verdict.reasons.append(found)
            elif words[0] == "cd":
                reached = directory / words[-1] if len(words) > 1 else Path(home or "/")
                if reached not in directories:
                    directories.append(reached)
        if len(directories) > _MAX_DIRECTORIES:
            raise UnsupportedSyntax("too many directories")


def _reason_to_ask(
    command: ShellCommand,
    words: Sequence[str],
    directory: Path,
    paths: Paths,
    rules: _Rules,
    verdict: ApprovalDecision,
) -> ApprovalReason | None:
    found = approval_reason(command, words, directory, paths, rules.environment)
    if found is not None and found.program:
        found = grant_obstacle(words, directory, paths) or found
    if found is not None and rules.allows(words):
        verdict.used.add(words[0])
        found = grant_obstacle(words, directory, paths)
    return found
