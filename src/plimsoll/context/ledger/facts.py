"""The facts of a stretch of conversation, read from the messages themselves, without a model.

    user messages   ──►  requests, constraints in the user's words
    tool calls      ──►  files and what happened to them, commands, actions
    tool results    ──►  how each call ended, error lines, commits
    assistant text  ──►  decisions, open items, what was said last

The latest value wins: a command that failed and later passed counts as passed.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from plimsoll.context.ledger.evidence import ASKED, SAID, TOLD, Evidence, argument_texts, lines_of
from plimsoll.context.ledger.outcome import call_line, error_lines, one_line
from plimsoll.context.ledger.outcomes import Outcome, command_of, covers, outcome_of, parsed, process_asked
from plimsoll.context.ledger.quoted import own_words, rules_in
from plimsoll.context.ledger.statements import SENTENCE, constraints_in, decisions_in, ticked_in
from plimsoll.context.ledger.terms import plain_words
from plimsoll.context.ledger.todos import Todos
from plimsoll.messages import (
    Message,
    answered_id,
    arguments_of,
    call_name,
    is_harness_text,
    text_of,
    tool_calls,
)
from plimsoll.secrets import redact

# A summary holds a few hundred lines, and a running conversation is compacted long before so many messages. Only a
# giant history that comes all at once is longer: the user's words in it are read to the very first, the rest the less
# deep the more there is, so that reading never costs more than weighing.
_MOST_DEEP = 800
_LEAST_DEEP = 300
_DEEP_UP_TO = 3_000_000  # messages times messages read deeply
_PATH_KEYS = (
    "file_path",
    "path",
    "filename",
    "file",
    "filePath",
    "notebook_path",
    "target_file",
    "absolute_path",
)
_EDIT_KEYS = {
    "old_string",
    "new_string",
    "old_str",
    "new_str",
    "patch",
    "diff",
    "edits",
    "insert_text",
    "new_source",
}
_OLD_KEYS = {"old_string", "old_str", "old_source", "old_text"}
_LONGEST_NOTE = 90
_LEADING = 600
_LONGEST_COMMAND = 240
_MOVES = re.compile(r"^(?:cd \S+ && )+")
_WRITE_KEYS = {"content", "file_text", "contents", "text"}
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_DELETES = re.compile(r"delete|remove|unlink", re.IGNORECASE)
_COMMIT = re.compile(r"^\[[^\]\n]+ [0-9a-f]{7,40}\] .+$", re.MULTILINE)


@dataclass(slots=True)
class FileFact:
    """What happened to one file, counted, and when last."""

    actions: dict[str, int] = field(default_factory=dict)
    last: int = 0
    note: str = ""  # what the agent said when it last worked on the file, changes before looks

    def add(self, action: str, position: int, note: str = "") -> None:
        if action != "read" or (note and self.actions.keys() <= {"read"}):
            self.note = note  # what was seen before a change may no longer be true
        self.actions[action] = self.actions.get(action, 0) + 1
        self.last = position


@dataclass(frozen=True, slots=True)
class Event:
    """A command or another call and how it ended."""

    position: int
    line: str
    outcome: Outcome
    errors: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    note: str = ""  # what the agent called it
    looks: bool = False  # whether it changed nothing


@dataclass(frozen=True, slots=True)
class _Called:
    """A call that waits for its result: its arguments, the item that it belongs to, and why it was made."""

    call: dict[str, Any]
    arguments: dict[str, Any]
    source: str
    note: str


@dataclass(slots=True)
class ConversationFacts:
    """Everything that was found, in order of first appearance; the latest value of each."""

    opening: str = ""
    requests: list[str] = field(default_factory=list)
    constraints: dict[str, str] = field(default_factory=dict)  # and the rules file that each is from
    files: dict[str, FileFact] = field(default_factory=dict)
    commands: dict[str, Event] = field(default_factory=dict)
    actions: dict[str, Event] = field(default_factory=dict)
    commits: dict[str, None] = field(default_factory=dict)
    decisions: dict[str, None] = field(default_factory=dict)
    running: dict[str, "_Called"] = field(default_factory=dict)  # processes that had not ended, by their ids
    todos: Todos = field(default_factory=Todos)
    last_said: str = ""
    evidence: Evidence = field(default_factory=Evidence)
    messages: int = 0  # that were read

    def copy(self) -> "ConversationFacts":
        """The same facts, to read on from; what is read then does not change these."""
        files = {
            path: FileFact(dict(fact.actions), fact.last, fact.note) for path, fact in self.files.items()
        }
        return replace(
            self,
            requests=list(self.requests),
            constraints=dict(self.constraints),
            files=files,
            commands=dict(self.commands),
            actions=dict(self.actions),
            running=dict(self.running),
            commits=dict(self.commits),
            decisions=dict(self.decisions),
            todos=self.todos.copy(),
            evidence=self.evidence.copy(),
        )


def read_facts(
    messages: Sequence[Message], opening: str = "", known: ConversationFacts | None = None
) -> ConversationFacts:
    """The facts of `messages`, without secrets; the cost of reading tools is bounded, the user is read in full.

    `opening` is the request that the conversation began with, where `messages` do not hold it. `known` are the facts
    of what was said before them, which are read on from.
    """
    facts = known.copy() if known else ConversationFacts(opening=opening.strip())
    first = facts.messages
    facts.messages += len(messages)
    deep_from = first + skimmed_messages(len(messages))
    waiting: dict[str, _Called] = {}
    for position, message in enumerate(messages, start=first):
        role = message.get("role")
        if role == "user":
            _read_user(facts, message, position, position >= deep_from)
        elif position < deep_from:
            continue
        elif role == "assistant":
            _read_assistant(facts, message, position)
            said = text_of(message)
            note = _note_of(redact(said)) if said else ""
            for call in tool_calls(message):
                arguments = arguments_of(call)
                called = _Called(call, arguments, _source_of(call, arguments), note)
                waiting[str(call.get("id"))] = called
                _read_call(facts, called, position)
        elif role == "tool":
            made = waiting.pop(answered_id(message) or "", None)
            if made:
                _read_result(facts, made, text_of(message), position)
    return facts


def skimmed_messages(count: int) -> int:
    """Of how many of the oldest messages of a long history only the user's words are read."""
    deep = max(_LEAST_DEEP, min(_MOST_DEEP, _DEEP_UP_TO // max(1, count)))
    return max(0, count - deep)


def _note_of(said: str) -> str:
    """The last thing that was said before a call, which is mostly why it is made."""
    lines = [line for line in SENTENCE.split(said[-400:]) if line.strip()]
    return one_line(lines[-1].strip(" :*#-"), _LONGEST_NOTE) if lines else ""


def command_line(command: str) -> str:
    """A command on one line, without the folder it first goes to; nothing of a secret where it is cut."""
    bare = _MOVES.sub("", command.strip()) or command
    return one_line(redact(bare) if len(bare) > _LONGEST_COMMAND else bare, _LONGEST_COMMAND)


def _first_telling(text: str) -> str:
    """The first of a text's leading lines in which plain words say something."""
    lines = islice(lines_of(text[:_LEADING]), 12)
    return one_line(next((line for line in lines if len(plain_words(line)) >= 2), ""), _LONGEST_NOTE)


def _read_user(facts: ConversationFacts, message: Message, position: int, deep: bool) -> None:
    text = text_of(message).strip()
    if not text:
        return
    rules = list(rules_in(text)) if is_harness_text(message) or text.startswith("# ") else []
    for name, body in rules:
        for sentence in constraints_in(body):
            facts.constraints.pop(sentence, None)
            facts.constraints[sentence] = name
    if rules or is_harness_text(message):
        if deep:
            facts.evidence.add(text, "shown", TOLD, position)
        return
    facts.requests.append(text)
    if deep:
        # The opening request counts as the first one where it is known apart.
        number = len(facts.requests) - (0 if facts.opening else 1)
        facts.evidence.add(text, "asked", f"{ASKED}:{number}", position)
    for sentence in constraints_in(own_words(text)):
        facts.constraints.pop(sentence, None)
        facts.constraints[sentence] = ""


def _read_assistant(facts: ConversationFacts, message: Message, position: int) -> None:
    text = text_of(message).strip()
    if not text:
        return
    facts.evidence.add(text, "said", SAID, position)
    facts.last_said = text
    for item, done in ticked_in(text):
        facts.todos.tick(item, done)
    for sentence in decisions_in(text):
        _latest(facts.decisions, sentence)


def _read_call(facts: ConversationFacts, called: _Called, position: int) -> None:
    for key, value in called.arguments.items():
        for text in argument_texts({key: value}):
            if key in _OLD_KEYS:
                facts.evidence.supersede(text, position)
            else:
                facts.evidence.add(text, "typed", called.source, position)


def _source_of(call: dict[str, Any], arguments: dict[str, Any]) -> str:
    """The item under which lines of this call and its result are quoted."""
    command = command_of(arguments)
    if command is not None:
        return f"run:{command_line(command)}"
    touched = _files_touched(call_name(call), arguments)
    return f"file:{touched[0][0]}" if touched else f"call:{call_line(call, 200)}"


def _read_result(facts: ConversationFacts, made: _Called, result: str, position: int) -> None:
    call, arguments, note = made.call, made.arguments, made.note
    facts.evidence.add(result, "shown", made.source, position)
    head = result[:4_000]
    if "] " in head:
        for commit in _COMMIT.findall(head):
            _latest(facts.commits, one_line(commit, 160))
    if facts.todos.read(arguments, result):
        return
    command = command_of(arguments)
    asked = process_asked(arguments)
    if asked in facts.running:
        made = facts.running[asked]
        call, arguments = made.call, made.arguments
        command = command_of(arguments)
    outcome = outcome_of(call, result)
    errors = tuple(error_lines(result)) if outcome.failed else ()
    if outcome.process:
        facts.running[outcome.process] = made
    if command is not None:
        called = one_line(_first_text(arguments, ("description",)) or "", _LONGEST_NOTE)
        line, looks = command_line(command), parsed(command).only_looks
        if outcome.status not in ("ran", "running") and not looks:
            _drop_covered_failures(facts.commands, command)
        _record(facts.commands, Event(position, line, outcome, errors, note=called, looks=looks))
        return
    touched = _files_touched(call_name(call), arguments)
    if outcome.failed or not touched:
        paths = tuple(path for path, _ in touched)
        _record(facts.actions, Event(position, call_line(call, 200), outcome, errors, paths))
        return
    if not note:
        written = _first_text(arguments, ("new_string", "new_str", "content", "file_text", "insert_text"))
        note = _first_telling(written or result)
    for path, action in touched:
        facts.files.setdefault(path, FileFact()).add(action, position, note)
        # What failed on this file before has been overcome.
        for line in [line for line, event in facts.actions.items() if path in event.paths]:
            del facts.actions[line]


def _drop_covered_failures(events: dict[str, Event], command: str) -> None:
    """A check that was run again says what is true now; how it failed before is over."""
    for line in [line for line, event in events.items() if event.outcome.failed and covers(command, line)]:
        del events[line]


def _record(events: dict[str, Event], event: Event) -> None:
    """Keep only the newest outcome of a repeated command, at its newest place."""
    events.pop(event.line, None)
    events[event.line] = event


def _files_touched(tool: str, arguments: dict[str, Any]) -> list[tuple[str, str]]:
    for value in arguments.values():
        if isinstance(value, str) and "*** " in value:
            named = {"Add": "created", "Update": "edited", "Delete": "deleted"}
            patched = [(path.strip(), named[verb]) for verb, path in _PATCHED.findall(value)]
            if patched:
                return patched
    path = _first_text(arguments, _PATH_KEYS)
    if path in (None, ".", "/") or "pattern" in arguments or "query" in arguments:
        return []
    if arguments.keys() & _EDIT_KEYS:
        return [(path, "edited")]
    if arguments.keys() & _WRITE_KEYS:
        return [(path, "written")]
    return [(path, "deleted" if _DELETES.search(tool) else "read")]


def _first_text(arguments: dict[str, Any], keys: Collection[str]) -> str | None:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def _latest(found: dict[str, None], line: str) -> None:
    found.pop(line, None)
    found[line] = None
