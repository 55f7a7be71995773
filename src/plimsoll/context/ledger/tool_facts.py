"""Facts from tool calls and their results: files, commands and outcomes, checks, commits, processes, answers.

patch(path=src/a.py, …) ──► ok            src/a.py was edited
terminal(go test ./...) ──► exit 1        the check `go test` fails; a later run that passes resolves it
ask_user(question=…)    ──► "the second"  a person's answer
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from plimsoll.context.ledger.commits import read_commits, read_pull_request
from plimsoll.context.ledger.evidence import Evidence, argument_texts, lines_of
from plimsoll.context.ledger.failures import drop_covered_failures, drop_repeated_calls
from plimsoll.context.ledger.moves import apply_moves, moved_by_patch, moves_in
from plimsoll.context.ledger.outcome import call_line, error_lines, first_error, one_line
from plimsoll.context.ledger.outcomes import (
    Check,
    Outcome,
    called_in,
    check_of,
    command_of,
    outcome_of,
    parsed,
    printed_file,
    process_asked,
    program_output,
    script_texts,
    unwrapped,
)
from plimsoll.context.ledger.patches import (
    changed_names,
    is_about,
    is_patch,
    patch_text,
    says_more,
    text_for,
)
from plimsoll.context.ledger.state import (
    Called,
    CheckState,
    ConversationFacts,
    Event,
    FileFact,
    RunningProcess,
)
from plimsoll.context.ledger.terms import says_something
from plimsoll.context.ledger.todos import listed_in
from plimsoll.messages import arguments_of, arguments_text, call_name, person_answer
from plimsoll.secrets import redact

_PATH_KEYS = (
    "file_path", "path", "filename", "file", "filePath", "notebook_path", "target_file", "absolute_path",
)  # fmt: skip
_EDIT_KEYS = {
    "old_string", "new_string", "old_str", "new_str", "oldString", "newString", "patch",
    "diff", "edits", "insert_text", "new_source",
}  # fmt: skip
_OLD_KEYS = {"old_string", "old_str", "old_source", "old_text", "oldString"}
_NEW_KEYS = ("new_string", "new_str", "newString", "content", "file_text", "insert_text")
_LONGEST_NOTE = 90
_LEADING = 600
_SEEN = 4_000  # characters of a read file that are compared with the agent's text
_LONGEST_COMMAND = 240
_MOVES = re.compile(r"^(?:cd \S+ && )+")
_WRITE_KEYS = {"content", "file_text", "contents", "text"}
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_PATCHED_IN_SCRIPT = re.compile(r"\*\*\* (Add|Update|Delete) File: ((?:[^\\\"'`\n])+)")
_LINE_NUMBER = re.compile(r"^\d+[.:] +(?=\S)")  # as tools print them before the lines of a file
_PROSE = (".md", ".mdx", ".txt", ".rst", ".adoc", ".org")
# Lines that say what a file of code is for: comments, headings, definitions …
_DESCRIBES = re.compile(
    r"""\s*(?://|/\*|\*|\#|--|;|%|<!--|\"{3}|'{3}|(?:export |default |public |async |abstract |pub(?:\(\w+\))? )*"""
    r"""(?:def|class|fn|func|function|interface|struct|enum|trait|type|impl|describe|it|@?test|module)\b)"""
)
# … but not those that only a program reads.
_FOR_PROGRAMS = re.compile(
    r"""\s*(?:\#!|\#\[|\#(?:include|pragma|define|if|endif|region)\b|//go:|//\s*\+build|\#?\s*-{3,}|[\w-]+: *\S+$"""
    r"""|(?://|/\*|\#)\s*(?:@ts-|eslint|prettier|biome|type:|noqa|pylint|ruff|mypy|-\*-|coding[:=]|SPDX|Copyright"""
    r"""|Licensed|istanbul|@flow|swiftlint))""",
    re.IGNORECASE,
)
_DELETES = re.compile(r"delete|remove|unlink", re.IGNORECASE)
_LONGEST_ANSWER = 1_000
_LONGEST_NOTICE = 200  # characters
_MAX_FIXES = 6
_MARK = "[error] "  # before results that a harness reports as failed
_MAX_OVERCOME, _LONGEST_ERROR = 3, 120
_FAILED_TEST = re.compile(
    r"(?:--- FAIL: |FAILED \S*::|^\s*(?:✗|×|✕) |^FAIL: )(\w[\w/.\[\]-]{3,})", re.MULTILINE
)
_FAILED_WITHIN = 20_000  # final characters of a result that may name the failed tests


@dataclass(frozen=True, slots=True)
class ResultRead:
    """The effects of a result besides its facts."""

    changed: bool = False  # whether files were changed
    answer: str = ""  # a person's words inside it


def call_read(call: dict[str, Any], note: str, position: int, is_one_of_many: bool = False) -> Called:
    """A call with its item and its reason; the reason of one of many calls in a message may be about another one."""
    arguments = arguments_of(call)
    if not arguments and is_patch(arguments_text(call)):  # some agents pass nothing but the patch
        arguments = {"input": arguments_text(call)}
        call = {**call, "function": {"name": call_name(call), "arguments": arguments}}
    script = arguments.get("input")
    inner = called_in(script) if isinstance(script, str) and "tools." in script else None
    if inner:
        name, arguments = inner
        call = {**call, "function": {"name": name, "arguments": arguments}}
    return Called(call, arguments, _source_of(call, arguments), note, position, is_one_of_many)


def read_call(evidence: Evidence, called: Called, position: int) -> None:
    """Read the lines that a call types; replaced text is no longer true.

    A to-do list is not quoted: its items are under the headings.
    """
    if listed_in(called.arguments):
        return
    for key, value in called.arguments.items():
        is_script = key == "input" and isinstance(value, str) and "tools." in value
        for text in argument_texts({key: script_texts(value) if is_script else value}):
            if key in _OLD_KEYS:
                evidence.supersede(text, called.source, position)
            elif is_patch(text):
                both = patch_text(text)
                evidence.supersede(both.removed, called.source, position)
                evidence.add(both.new, "typed", called.source, position)
            else:
                evidence.add(text, "typed", called.source, position)


def read_result(facts: ConversationFacts, made: Called, result: str, position: int) -> ResultRead:
    """Read the outcome of a call."""
    answer = redact(person_answer(made.call, result))[:_LONGEST_ANSWER]
    if facts.todos.read(made.arguments, result, position):
        return ResultRead()
    asked = process_asked(made.arguments)
    if asked in facts.running:
        made = facts.running.pop(asked).called
    outcome = outcome_of(made.call, result)
    if outcome.is_cancelled:
        return ResultRead()
    command = command_of(made.arguments)
    read_commits(facts, command, result, outcome.failed, position)
    if outcome.process:
        line = command_line(command) if command else call_line(made.call, 200)
        facts.running[outcome.process] = RunningProcess(made, line, position)
    if command is not None:
        _read_command(facts, made, command, outcome, result, position)
        if not outcome.failed:
            read_pull_request(facts, command, result, position)
            apply_moves(facts, moves_in(command), position)
        touched = [] if outcome.failed else _touched_by_command(made.arguments, command)
    else:
        touched = files_touched(call_name(made.call), made.arguments)
        if outcome.failed or not touched:
            _read_action(facts, made, touched, outcome, result, position)
            touched = []
    return ResultRead(_touch(facts, touched, made, result, position), answer)


def says_only_changed(made: Called, result: str) -> bool:
    """Whether a short result of an edit says only that it was made; what was changed stands in the call."""
    if len(result) > _LONGEST_NOTICE:
        return False
    touched = files_touched(call_name(made.call), made.arguments)
    return any(action != "read" for _, action in touched) and not outcome_of(made.call, result).failed


def _touched_by_command(arguments: Mapping[str, Any], command: str) -> list[tuple[str, str]]:
    """The files that a command patches, or the one that it prints."""
    shown = printed_file(command)
    return _patched_in(arguments) or ([(shown, "read")] if shown else [])


def _read_action(
    facts: ConversationFacts,
    made: Called,
    touched: list[tuple[str, str]],
    outcome: Outcome,
    result: str,
    position: int,
) -> None:
    """Read a call other than a command that changed no file, or failed to."""
    paths = tuple(path for path, _ in touched)
    errors = tuple(error_lines(result)) if outcome.failed else ()
    line = call_line(made.call, 200)
    if not outcome.failed:
        drop_repeated_calls(facts, line)
    _record(facts.actions, Event(position, line, outcome, errors, paths))
    for path in paths:
        facts.failed_on[path] = (*facts.failed_on.get(path, ()), line)


def command_line(command: str) -> str:
    """A command on one line, without a leading `cd`; a cut never leaves part of a secret."""
    bare = _MOVES.sub("", command.strip()) or command
    return one_line(redact(bare) if len(bare) > _LONGEST_COMMAND else bare, _LONGEST_COMMAND)


def _read_command(
    facts: ConversationFacts, made: Called, command: str, outcome: Outcome, result: str, position: int
) -> None:
    called = one_line(_first_text(made.arguments, ("description",)) or "", _LONGEST_NOTE)
    line, looks = command_line(command), parsed(command).only_looks
    errors = tuple(error_lines(result)) if outcome.failed else ()
    known = facts.commands.get(line)
    check = None if looks else check_of(command, outcome)
    is_known = outcome.status not in ("ran", "running")
    dropped = drop_covered_failures(facts, command, outcome) if is_known and not looks else []
    was_fixed = bool(dropped) or (known is not None and known.failed_before)
    earlier = [*dropped, known, _passed_before(facts, check)]
    failed = tuple(dict.fromkeys(_FAILED_TEST.findall(result[-_FAILED_WITHIN:]))) if outcome.failed else ()
    event = Event(
        position,
        line,
        outcome,
        errors,
        note=called,
        looks=looks,
        command=command,
        failed=failed,
        failed_before=was_fixed and not outcome.failed,
        first_error=_first_error_of(result) if errors else "",
        overcame=_errors_of(earlier),
    )
    _record(facts.commands, event)
    facts.failing.pop(line, None)
    if outcome.failed and not looks:
        facts.failing[line] = command
    if check is not None and is_known:
        before = facts.checks.pop(check.name, None)
        facts.checks[check.name] = _checked(facts, before, event, check.kind, check.name)


def _checked(
    facts: ConversationFacts, before: CheckState | None, event: Event, kind: str, name: str
) -> CheckState:
    """The state of a check after one more run."""
    if event.outcome.failed:
        return CheckState(name, kind, event, failed_at=event.position)
    if before is None or before.failed_at is None or before.fixed_by:
        return CheckState(
            name, kind, event, before.failed_at if before else None, before.fixed_by if before else ()
        )
    fixes = sorted(
        source for fact in facts.files.values() for source in fact.sources if source > before.failed_at
    )
    return CheckState(name, kind, event, before.failed_at, tuple(fixes[-_MAX_FIXES:]))


def _touch(
    facts: ConversationFacts, touched: list[tuple[str, str]], made: Called, result: str, position: int
) -> bool:
    """Record actions on files; return whether any file was changed."""
    patches = "\n".join(_patches_in(made.arguments)) if touched else ""
    for path, action in touched:
        fact = facts.files.setdefault(path, FileFact())
        _read_change(fact, path, action, made, patches, result, position, len(touched) > 1)
        for line in facts.failed_on.pop(path, ()):  # earlier failures on this file are resolved
            failed = facts.actions.pop(line, None)
            if failed is not None and not fact.is_only_read:
                fact.failed = one_line(failed.outcome.line.removeprefix("[error] "), _LONGEST_NOTE)
    if "*** Move to: " in patches:
        apply_moves(facts, moved_by_patch(patches), position)
    return any(action != "read" for _, action in touched)


def _read_change(
    fact: FileFact,
    path: str,
    action: str,
    made: Called,
    patches: str,
    result: str,
    position: int,
    is_one_of_many: bool,
) -> None:
    """Record what a change was and why; for a read, what the file contains."""
    is_shared = made.is_one_of_many or is_one_of_many
    if action == "read":
        _read_content(fact, path, made, program_output(result)[:_SEEN], position)
        return
    new = patch_text(text_for(path, patches)).new if patches else _first_text(made.arguments, _NEW_KEYS) or ""
    names = changed_names(new) if action == "edited" else []
    has_phrase = bool(names) or (not fact.is_only_read and bool(fact.names or fact.note))
    own = "" if has_phrase else _first_descriptive_line(new, path)
    note = "" if is_shared and (names or own) else _reason(made, path, new)
    fact.add(action, position, note or own, names)  # better than nothing is the change's own comment


def _read_content(fact: FileFact, path: str, made: Called, shown: str, position: int) -> None:
    """Record what a file is, and why it was read."""
    fact.about = fact.about or _first_descriptive_line(shown, path)
    is_its = not made.is_one_of_many and is_about(made.note, shown)
    fact.add("read", position, made.note if is_its else "")


def _reason(made: Called, path: str, new: str) -> str:
    """The text before a change, which is usually the reason; if it is about something else, nothing is better."""
    return made.note if is_about(made.note, f"{path}\n{new}") and says_more(made.note, path) else ""


def _patches_in(arguments: Mapping[str, Any]) -> list[str]:
    """The patches that a call applies, including those inside a script."""
    values = [value for value in arguments.values() if isinstance(value, str) and "*** " in value]
    texts = [text for value in values for text in (script_texts(value) if "tools." in value else [value])]
    return [text for text in texts if "*** " in text]


def _source_of(call: dict[str, Any], arguments: dict[str, Any]) -> str:
    """The item for quotes of this call and its result."""
    command = command_of(arguments)
    if command is not None:
        shown = printed_file(command)
        return f"file:{shown}" if shown else f"run:{command_line(command)}"
    touched = files_touched(call_name(call), arguments)
    return f"file:{touched[0][0]}" if touched else f"call:{call_line(call, 200)}"


def _first_descriptive_line(text: str, path: str) -> str:
    """The first of a file's leading lines with meaningful plain words; in code, of its comments and definitions."""
    lines = (_LINE_NUMBER.sub("", line) for line in islice(lines_of(text[:_LEADING]), 12))
    is_prose = path.lower().endswith(_PROSE)
    telling = (
        line for line in lines if (is_prose or _DESCRIBES.match(line)) and not _FOR_PROGRAMS.match(line)
    )
    return one_line(next((line for line in telling if says_something(line)), ""), _LONGEST_NOTE)


def _passed_before(facts: ConversationFacts, check: Check | None) -> Event | None:
    """The newest run of a check, unless it failed: a failure outside of the scope of the next run is still open."""
    state = facts.checks.get(check.name) if check else None
    return state.newest if state and not state.newest.outcome.failed else None


def _first_error_of(result: str) -> str:
    return one_line(redact(first_error(unwrapped(result).text.removeprefix(_MARK))), _LONGEST_ERROR)


def _errors_of(earlier: Iterable[Event | None]) -> tuple[str, ...]:
    """The first errors of earlier failures of a command or check, newest last."""
    found = sorted({event for event in earlier if event}, key=lambda event: event.position)
    errors = (error for event in found for error in (*event.overcame, event.first_error))
    return tuple(dict.fromkeys(filter(None, errors)))[-_MAX_OVERCOME:]


def _record(events: dict[str, Event], event: Event) -> None:
    """Keep only the newest outcome of a repeated command, at its newest position."""
    events.pop(event.line, None)
    events[event.line] = event


def files_touched(tool: str, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The files that a call works on, each with its action."""
    patched = _patched_in(arguments)
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


def _patched_in(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    named = {"Add": "created", "Update": "edited", "Delete": "deleted"}
    for value in arguments.values():
        if isinstance(value, str) and "*** " in value:
            found = _PATCHED.findall(value) or _PATCHED_IN_SCRIPT.findall(value)
            if found:
                return [(path.strip(), named[verb]) for verb, path in found]
    return []


def _first_text(arguments: Mapping[str, Any], keys: Collection[str]) -> str | None:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None
