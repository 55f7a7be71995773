"""The transcript for the summary model: important content in full, the rest by what was used later.

    [user] …                                     people's messages in full
    [user, in a tool result] Where? → Sidebar    answers that people gave to questions
    [program] …                                  user messages that a program wrote, shortened
    [assistant] …                                in full
      calls edit(path=…, new=…, old=…)           the new text of an edit before the old one, plans in full
        → ok: …                                  each call with its result, also for parallel calls

A result shows its first and last lines, errors, and the lines with terms that the agent used afterwards. Secrets are
redacted before anything is cut, because half a key no longer looks like one.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from plimsoll.context.compressor.shorten import relevant_lines
from plimsoll.context.ledger.evidence import argument_texts
from plimsoll.context.ledger.outcome import error_lines
from plimsoll.context.ledger.outcomes import outcome_of, unwrapped
from plimsoll.context.ledger.terms import terms_in
from plimsoll.messages import (
    Message,
    answers,
    arguments_of,
    arguments_text,
    call_name,
    excerpt,
    is_harness_text,
    media_of,
    person_answer,
    text_of,
    tool_calls,
    without_harness_text,
)
from plimsoll.secrets import redact

# Characters. A longer message is a pasted document; its beginning and end are shown.
_PERSON, _PROGRAM, _ASSISTANT = 24_000, 600, 12_000
_USED, _UNUSED = 3_000, 400  # characters of a result: with lines that were used later, and without any
_EDGE = 2  # first and last lines of a result
_LONGEST_LINE = 300  # characters of one line of a result
_NEW, _OLD, _OTHER = 3_000, 300, 600  # of an argument
_PLAN = 24_000  # characters of a plan; plans are quoted in full unless they are huge
_NEW_NAMES = frozenset(
    {"new_string", "new_str", "new_text", "new_source", "insert_text", "content", "file_text"}
)
_OLD_NAMES = frozenset({"old_string", "old_str", "old_text", "old_source", "oldString"})
_PLAN_NAMES = frozenset({"plan", "todos", "steps", "tasks", "explanation"})
_PATCH = "*** Begin Patch"


def transcript_texts(messages: Sequence[Message]) -> list[str]:
    """One text per message, with results after their calls."""
    used = _used_later(messages)
    results = {id(answer.call): answer.result_at for answer in answers(messages)}
    paired = set(results.values())
    return [
        _as_read(message, messages, results, used)
        for place, message in enumerate(messages)
        if place not in paired
    ]


def _as_read(
    message: Message, messages: Sequence[Message], results: dict[int, int], used: dict[int, list[str]]
) -> str:
    role = str(message.get("role"))
    text = redact(text_of(message))
    if role == "user":
        return "\n".join((_said_by_user(message, text), *_attached(message)))
    limit = _ASSISTANT if role == "assistant" else _USED
    lines = [f"[{role}] {excerpt(text, limit)}".rstrip(), *_attached(message)]
    for call in tool_calls(message):
        lines.append(f"  calls {call_name(call)}({_arguments(call)})")
        place = results.get(id(call))
        if place is not None:
            lines.append(_result(call, messages[place], used.get(place, [])))
            lines += _attached(messages[place])
    return "\n".join(lines)


def _said_by_user(message: Message, text: str) -> str:
    if is_harness_text(message):
        return f"[program] {excerpt(text, _PROGRAM)}"
    return f"[user] {excerpt(redact(without_harness_text(message)), _PERSON)}"


def _attached(message: Message) -> Iterator[str]:
    return (f"  (attached: {part.get('type')})" for part in media_of(message))


def _result(call: dict[str, Any], message: Message, used: Iterable[str]) -> str:
    """The outcome of a call, and the relevant lines of its result."""
    text = text_of(message)
    answer = person_answer(call, text)
    if answer:
        return f"[user, in a tool result] {redact(answer)}"
    body = unwrapped(text).text
    return f"    → {outcome_of(call, text).status}: {_relevant_lines(redact(body), used)}"


def _relevant_lines(text: str, used: Iterable[str]) -> str:
    """The first and last lines of a text, its errors, and the lines that were used later, in order."""
    lines = [line[:_LONGEST_LINE] for line in text.splitlines() if line.strip()]
    wanted = {line[:_LONGEST_LINE] for line in (*error_lines(text), *used)}
    room = _USED if wanted else _UNUSED
    if sum(map(len, lines)) <= room:
        return "\n".join(lines)
    found = relevant_lines(lines, _EDGE, [lambda line: line.strip() in wanted], room, len)
    return "\n".join(found) or excerpt(text, _UNUSED)


def _used_later(messages: Sequence[Message]) -> dict[int, list[str]]:
    """For each result position, its lines with a term that the agent used after it."""
    later: set[str] = set()
    found: dict[int, list[str]] = {}
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.get("role") == "tool" and later:
            lines = unwrapped(text_of(message)).text.splitlines()
            found[place] = [
                line.strip() for line in lines if not later.isdisjoint(terms_in(line[:_LONGEST_LINE]))
            ]
        elif message.get("role") == "assistant":
            later.update(terms_in(text_of(message)))
            for call in tool_calls(message):
                for text in argument_texts(arguments_of(call)):
                    later.update(terms_in(text))
    return found


def _arguments(call: dict[str, Any]) -> str:
    """The arguments of a call: the new text before the old, plans in full."""
    # Redact the whole object first: the argument name identifies a password.
    text = redact(arguments_text(call))
    arguments = arguments_of({"function": {"arguments": text}})
    if not arguments:
        return excerpt(text, _OTHER)
    names = sorted(arguments, key=lambda name: 2 if name in _OLD_NAMES else name in _NEW_NAMES)
    return ", ".join(f"{name}={_argument(name, arguments[name])}" for name in names)


def _argument(name: str, value: Any) -> str:
    text = redact(value if isinstance(value, str) else "\n".join(argument_texts(value)) or str(value))
    if _PATCH in text:
        return excerpt(_without_removed(text), _NEW)
    if name in _PLAN_NAMES:
        return excerpt(text, _PLAN)
    return excerpt(text, _NEW if name in _NEW_NAMES else _OLD if name in _OLD_NAMES else _OTHER)


def _without_removed(patch: str) -> str:
    """A patch without its removed lines: the new content matters more."""
    return "\n".join(line for line in patch.splitlines() if not line.startswith("-"))
