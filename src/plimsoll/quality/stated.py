"""Stated facts: what a conversation states explicitly, by kind, found in the messages by simple rules.

    kind        where it is found                                             it is kept if the context has
    edited      path argument of a call whose tool edits or writes            the last two parts of the path
    read        path or URL argument of a call whose tool reads               the same
    command     `command` argument, except read-only ones that succeeded;     its first 40 characters, followed by
                of several runs of one check only the newest                  its failure, if it failed
    test        the newest command that runs tests                            the same
    error       the first line of a failed result that mentions an error,     the sentence
                without the harness's marks around it
    id          tickets, commits, codes in text of people and the agent       the id
    number      numbers with a unit or currency, in the same text             the number and its unit
    ask         the first sentence of each message of a person                the sentence
    constraint  a person's sentences with must, never, don't, only, …         the sentence
    decision    the agent's sentences that weigh, choose or name a cause      the sentence
    todo        open items of the newest to-do list                           the sentence

A path counts by its last two parts, a command without `cd … &&`. "The sentence" means 70 % of its plain words within
twice its length, or its first 60 characters verbatim. Only English is supported. No code is shared with the engine's
extractors.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.messages import Message, answers, call_name, text_of, tool_calls
from plimsoll.messages.untyped import object_of
from plimsoll.quality.cuts import is_said_by_a_person
from plimsoll.quality.terms import Reading
from plimsoll.quality.texts import characters, decoded
from plimsoll.quality.todos import open_items

WEIGHTS: Mapping[str, int] = {
    "edited": 3, "read": 1, "command": 2, "test": 3, "error": 2, "id": 2, "number": 1, "ask": 3, "constraint": 3,
    "decision": 2, "todo": 3,
}  # fmt: skip
HEAD = 40  # characters that identify a command
_PATH_KEYS = ("file_path", "path", "notebook_path", "filename", "target_file", "file", "url")
_EDITS = re.compile(r"edit|write|patch|replace|insert|create", re.IGNORECASE)
_READS = re.compile(r"read|view|open|visit|inspect|fetch", re.IGNORECASE)
_EXIT = re.compile(
    r"exit(?:ed)?[ _-]?(?:code|status|with)?[\"':\s]*(?:code )?(-?\d+)|returncode[\"':=\s]*(-?\d+)", re.I
)
_MARKS = re.compile(r"^\[error\] |</?tool_use_error>")
_OPENS_BADLY = re.compile(r"\W*(?:tool_use_)?(?:error|fatal|traceback|exception|failed)\b", re.IGNORECASE)
_ERROR = re.compile(
    r"error|exception|fail|panic|fatal|denied|not found|cannot|can't|undefined|invalid|unexpected|missing",
    re.I,
)
_LOOKS = re.compile(
    r"(?:ls|cat|nl|head|tail|less|grep|rg|find|fd|tree|wc|pwd|which|echo|sed -n|stat|file|env|ps|du|df|date|sleep|git"
    r" (?:status|log|diff|show|branch|blame|rev-parse|remote|ls-files|fetch))(?:\s|$)"
)
_LOOKS_ELSEWHERE = re.compile(
    r"gh (?:pr|run|issue|release|repo) (?:view|list|diff|checks|status|watch)\b"
    r"|\S+(?: \S+)? (?:--?version|version|--help)\b"
)
_CHECKS = re.compile(r"\b(?:tests?|lint|clippy|vet|typecheck|check-types|fmt|build|compile|check)\b")
_SHELL_SIGNS = re.compile(r"[|;&>]|\d>")
_TESTS = re.compile(
    r"\b(?:pytest|unittest|tox|jest|vitest|rspec|phpunit|ctest|(?:go|cargo|npm|yarn|pnpm|bun|make|mvn|gradle)"
    r"(?: run)? test|mise run test)\b"
)
_ID = re.compile(
    r"\b[A-Z][A-Z0-9]+-\d+\b|(?<!\w)#\d{2,}\b|\b(?=\w*\d)(?=\w*[a-f])[0-9a-f]{7,40}\b"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{6,8}\b|\b[a-z]+_[a-z]+_\d{3,}\b"
)
_NUMBER = re.compile(
    r"\$\d+(?:,\d{3})*(?:\.\d+)?|\b\d+(?:,\d{3})*(?:\.\d+)?\s?(?:%|(?:ms|s|seconds?|minutes?|hours?|days?|weeks?|[KMG]B|bytes|tokens?"
    r"|lines?|files?|tests?|commits?|messages?|bags?|passengers?|miles|km|kg|USD|dollars)\b)"
)
_CONSTRAINT = re.compile(
    r"\b(?:must|never|always|only|avoid|don'?t|do not|should(?: not|n'?t)?|make sure|prefer|no longer|without"
    r"|no more than|at least|not allowed|need to keep)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:caused by|the (?:real )?reason|settled on|picked|switch(?:ed|ing)? to|trade-?offs?|concluded|simplest"
    r"|cleanest|best (?:fix|option|approach|way)|comes? down to|(?:which|that)(?: is|'s) why|we can drop)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_SHORTEST, _LONGEST = 20, 300
_SHORTEST_ASK = 12  # anything shorter, such as "yes", occurs anywhere
_LITERAL = 60
_KEPT_SHARE = 0.7
_MIN_WORDS = 3
_MIN_STRETCH = 200
_FAILURE_DISTANCE = 300  # characters between a command and the word that it failed
_FAILED = re.compile(r"exit|fail|error|✗|panic|not found", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StatedFact:
    """One fact: the text to look for, and its last position in the history (0 the beginning, 1 the end)."""

    kind: str
    text: str
    at: float
    has_failed: bool = False  # a command whose failure the context must mention
    size: int = 0  # characters of a whole command


def stated_facts(history: Sequence[Message]) -> list[StatedFact]:
    """Every fact once, at its last position."""
    ends = list(_ends(history))
    whole = max(1, ends[-1]) if ends else 1
    found: dict[tuple[str, str], StatedFact] = {}
    for place, fact in _all(history):
        at = ends[place] / whole
        key = fact.kind, _check_of(fact.text) if fact.kind == "command" else fact.text
        found.pop(key, None)
        found[key] = StatedFact(fact.kind, fact.text, at, fact.has_failed, fact.size)
    return list(found.values())


def _check_of(command: str) -> str:
    """What a test, build or lint command checks; only the newest of several runs counts."""
    if not _CHECKS.search(command):
        return command
    return _SHELL_SIGNS.split(command, maxsplit=1)[0].strip()


def _ends(history: Sequence[Message]) -> Iterator[int]:
    size = 0
    for message in history:
        yield size
        size += characters(message)


def _all(history: Sequence[Message]) -> Iterator[tuple[int, StatedFact]]:
    results = {
        (answer.call_at, id(answer.call)): text_of(history[answer.result_at]) for answer in answers(history)
    }
    newest_test: tuple[int, StatedFact] | None = None
    for place, message in enumerate(history):
        role = message.get("role")
        if is_said_by_a_person(message):
            yield from ((place, fact) for fact in _said_by_a_person(text_of(message)))
        elif role == "assistant":
            yield from ((place, fact) for fact in _said_by_the_agent(text_of(message)))
        for call in tool_calls(message):
            for fact in _done(call_name(call), decoded(call), results.get((place, id(call)), "")):
                yield place, fact
                if fact.kind == "command" and _TESTS.search(_command(decoded(call)) or ""):
                    newest_test = place, fact
    if newest_test:
        place, fact = newest_test
        yield place, StatedFact("test", fact.text, 0, fact.has_failed, fact.size)
    yield from ((place, StatedFact("todo", _collapsed(text), 0)) for place, text in open_items(history))


def _said_by_a_person(text: str) -> Iterator[StatedFact]:
    sentences = _sentences(text)
    first = next((s for s in sentences if len(Reading(s).words) >= _MIN_WORDS), _collapsed(text))
    if len(first) >= _SHORTEST_ASK:
        yield StatedFact("ask", first[:_LONGEST], 0)
    for sentence in sentences:
        if _SHORTEST <= len(sentence) <= _LONGEST and _CONSTRAINT.search(sentence):
            yield StatedFact("constraint", sentence, 0)
    yield from _values(text)


def _said_by_the_agent(text: str) -> Iterator[StatedFact]:
    for sentence in _sentences(text):
        is_heading = sentence.startswith("#")
        if _SHORTEST <= len(sentence) <= _LONGEST and not is_heading and _DECISION.search(sentence):
            yield StatedFact("decision", sentence, 0)
    yield from _values(text)


def _values(text: str) -> Iterator[StatedFact]:
    for pattern, kind in ((_ID, "id"), (_NUMBER, "number")):
        for value in dict.fromkeys(pattern.findall(text)):
            yield StatedFact(kind, _collapsed(value), 0)


def _done(tool: str, arguments: Any, result: str) -> Iterator[StatedFact]:
    """What one tool call did."""
    failed = _is_failure(result)
    command, path = _command(arguments), _path(arguments)
    if command:
        short = _without_moves(_collapsed(command))
        if failed or not (_LOOKS.match(short) or _LOOKS_ELSEWHERE.match(short)):
            yield StatedFact("command", short[:HEAD], 0, failed, len(command))
    elif path and _EDITS.search(tool):
        yield StatedFact("edited", path, 0)
    elif path and _READS.search(tool):
        yield StatedFact("read", path, 0)
    if failed:
        lines = map(_collapsed, _reported(result))
        line = next((item for item in lines if _ERROR.search(item) and not _EXIT.fullmatch(item)), "")
        if line:
            yield StatedFact("error", line[:_LONGEST], 0)


def _reported(result: str) -> Iterator[str]:
    """The lines of a failed result without the marks of a harness: `[error]`, tags, JSON around the output."""
    for line in result.splitlines():
        output = _output_in(line) if line.startswith("{") else None
        yield from (_MARKS.sub("", line),) if output is None else output.splitlines()


def _output_in(line: str) -> str | None:
    try:
        body = json.loads(line)
    except ValueError:
        return None
    output = object_of(body).get("output")
    return output if isinstance(output, str) else None


def _without_moves(command: str) -> str:
    """A command without its leading `cd … &&`."""
    while command.startswith("cd ") and " && " in command:
        command = command.partition(" && ")[2]
    return command


def _command(arguments: Any) -> str | None:
    command = arguments.get("command", arguments.get("cmd")) if isinstance(arguments, dict) else None
    if isinstance(command, list):
        command = " ".join(map(str, command))
    return command if isinstance(command, str) and command.strip() else None


def _path(arguments: Any) -> str | None:
    """The last two parts of a call's path argument, or its URL without the query."""
    if not isinstance(arguments, dict):
        return None
    value = next((arguments[key] for key in _PATH_KEYS if isinstance(arguments.get(key), str)), "")
    if "://" in value:
        return value.partition("?")[0].rstrip("/")
    return "/".join([part for part in value.split("/") if part][-2:]) or None


def _is_failure(result: str) -> bool:
    code = _EXIT.search(result[:200])
    if code:
        return (code[1] or code[2]) != "0"
    return _OPENS_BADLY.match(result) is not None


def _sentences(text: str) -> list[str]:
    return [_collapsed(piece) for piece in _SENTENCE_END.split(text) if piece.strip()]


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def kept(facts: Sequence[StatedFact], context: Reading) -> list[bool]:
    """For each fact, whether the compacted context still contains it."""
    flat, places = _collapsed(context.text), context.word_places()
    return [_is_kept(fact, flat, places) for fact in facts]


def _is_kept(fact: StatedFact, flat: str, places: Mapping[str, Sequence[int]]) -> bool:
    if fact.kind in ("command", "test"):
        return _has_command(fact, flat)
    if fact.kind in ("edited", "read", "id", "number"):
        return _has_word(fact.text, flat)
    return _has_sentence(fact.text, flat, places)


def _has_word(word: str, flat: str) -> bool:
    """Whether the text occurs and is not part of a longer word; a search by pattern takes many times longer."""
    place = flat.find(word)
    while place >= 0:
        end = place + len(word)
        if not _is_word_sign(flat[place - 1 : place] if place else "") and not _is_word_sign(
            flat[end : end + 1]
        ):
            return True
        place = flat.find(word, place + 1)
    return False


def _is_word_sign(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _has_command(fact: StatedFact, flat: str) -> bool:
    place = flat.find(fact.text)
    while place >= 0:
        if not fact.has_failed or _FAILED.search(
            flat, place + len(fact.text), place + fact.size + _FAILURE_DISTANCE
        ):
            return True
        place = flat.find(fact.text, place + 1)
    return False


def _has_sentence(sentence: str, flat: str, places: Mapping[str, Sequence[int]]) -> bool:
    if sentence[:_LITERAL] in flat:
        return True
    words = set(Reading(sentence).words)
    if len(words) < _MIN_WORDS:
        return False
    needed = max(_MIN_WORDS, -int(-len(words) * _KEPT_SHARE // 1))
    return _occur_together(words, needed, max(_MIN_STRETCH, 2 * len(sentence)), places)


def _occur_together(
    words: Iterable[str], needed: int, stretch: int, places: Mapping[str, Sequence[int]]
) -> bool:
    """Whether at least `needed` different words occur within `stretch` characters of each other."""
    all_places = sorted((place, word) for word in words for place in places.get(word, ()))
    inside: dict[str, int] = {}
    first = 0
    for place, word in all_places:
        inside[word] = inside.get(word, 0) + 1
        while place - all_places[first][0] > stretch:
            left = all_places[first][1]
            inside[left] -= 1
            if not inside[left]:
                del inside[left]
            first += 1
        if len(inside) >= needed:
            return True
    return False


def weighted(shares: Mapping[str, float]) -> float:
    """The weighted mean of the shares of the kinds that occur."""
    total = sum(WEIGHTS[kind] for kind in shares)
    return sum(WEIGHTS[kind] * share for kind, share in shares.items()) / total if total else 1.0
