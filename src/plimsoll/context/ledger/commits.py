"""Which commits and pull requests the work made, as tools reported them, without those that were undone.

git commit -m x                [main 1a2b3c4] x     made
git commit --amend             [main 5d6e7f8] x     made, in place of the one before
git reset --soft HEAD~2                             the last two are undone
gh pr create                   https://…/pull/7     opened
"""

import re

from plimsoll.context.ledger.outcome import one_line
from plimsoll.context.ledger.outcomes import parsed
from plimsoll.context.ledger.state import CommitMade, ConversationFacts

_READ = 4_000  # leading characters of a result that may report a commit, and final ones that may name a pull request
_LONGEST = 160
_COMMIT = re.compile(r"^\[[^\]\n]+ [0-9a-f]{7,40}\] .+$", re.MULTILINE)
_AMENDS = re.compile(r"^git (?:-\S+ \S+ )*commit\b.* --amend\b", re.DOTALL)
_RESETS = re.compile(r"^git (?:-\S+ \S+ )*reset (?:--(?:soft|mixed|hard|keep|merge) )?(?:HEAD|@)(~\d*|\^+)")
_PULL_REQUEST = re.compile(r"https?://\S+/(?:pull|merge_requests)/\d+\b")
_IN_NEW_REPOSITORY = re.compile(r"\bgit init\b.*\bgit commit\b", re.DOTALL)
_OPENS_PULL_REQUEST = re.compile(r"\bgh pr create\b|\bglab mr create\b")


def read_commits(
    facts: ConversationFacts, command: str | None, result: str, failed: bool, position: int
) -> None:
    """Record the commits that a result reports, and remove those that its command replaces or undoes."""
    made = _COMMIT.findall(result[:_READ])
    if command is not None and "git" in command:
        works = [step.work for step in parsed(command).works]
        amended = bool(made) and any(map(_AMENDS.match, works))
        undone = 0 if failed else sum(map(_undone_by, works))
        _remove_last(facts.commits, undone + amended)
    if command is not None and _IN_NEW_REPOSITORY.search(command):
        return  # a repository made for an experiment
    for commit in made:
        _add(facts.commits, one_line(commit, _LONGEST), position)


def read_pull_request(facts: ConversationFacts, command: str, result: str, position: int) -> None:
    """Record the pull request that a command opened."""
    if _OPENS_PULL_REQUEST.search(command):
        for url in _PULL_REQUEST.findall(result[-_READ:])[-1:]:
            _add(facts.commits, f"pull request opened: {url}", position)


def _undone_by(work: str) -> int:
    """How many commits a program undoes."""
    found = _RESETS.match(work)
    if found is None:
        return 0
    back = found[1]
    return len(back) if back.startswith("^") else int(back[1:] or 1)


def _remove_last(commits: dict[str, CommitMade], count: int) -> None:
    """Remove the newest commits; a pull request stays."""
    for text in [commit for commit in reversed(commits) if commit.startswith("[")][:count]:
        del commits[text]


def _add(commits: dict[str, CommitMade], text: str, position: int) -> None:
    commits.pop(text, None)
    commits[text] = CommitMade(text, position)
