"""Extracts the state of the work from messages, without a model.

    user messages   ──►  requests, limits and wishes in the person's words, what they took back
    system messages ──►  rules that the application adds during the conversation
    tool calls      ──►  files and what happened to them, commands, actions          (tool_facts.py)
    tool results    ──►  how each call ended, checks, commits, processes, answers    (tool_facts.py)
    assistant text  ──►  decisions, guesses, questions, open items, what was said last

Reading is incremental: `known` is the state so far, and only new messages are read. Every message is read to the end.
The latest value wins: a command that failed and later passed counts as passed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from plimsoll.context.ledger.evidence import ASKED, SAID, TOLD
from plimsoll.context.ledger.listed_rules import constraints_in
from plimsoll.context.ledger.notifications import read_notifications
from plimsoll.context.ledger.outcome import call_line, one_line
from plimsoll.context.ledger.outcomes import cleaned, command_of, process_asked, program_output
from plimsoll.context.ledger.patches import is_patch, patch_text
from plimsoll.context.ledger.personal import without_requests_to_forget
from plimsoll.context.ledger.quoted import own_words, rules_in
from plimsoll.context.ledger.requests import add_request
from plimsoll.context.ledger.rulings import Rulings, excluded_by
from plimsoll.context.ledger.sentences import sentences_of
from plimsoll.context.ledger.state import (
    Called,
    ConversationFacts,
    Decision,
    Hypothesis,
    OpenQuestion,
    PersonRequest,
    StatedConstraint,
)
from plimsoll.context.ledger.statements import (
    answer_in,
    decisions_in,
    guesses_in,
    question_in,
    refuted_in,
    ticked_in,
)
from plimsoll.context.ledger.tool_facts import (
    call_read,
    command_line,
    read_call,
    read_result,
    says_only_changed,
)
from plimsoll.context.ledger.values import may_supersede, supersedes
from plimsoll.context.ledger.words import content_words, overlap
from plimsoll.messages import (
    REFUSED,
    SYSTEM_ROLES,
    Message,
    answered_id,
    handle_of,
    is_harness_text,
    text_of,
    tool_calls,
    without_handle,
    without_harness_text,
)
from plimsoll.secrets import redact

_LONGEST_NOTE = 90
# Introductory phrases before an agent says what it does: "Now let me read …", "the list is short, so I'll …".
_INTENDS = r"(?:let(?: me|['’]s)|i['’]ll|(?:i|we) (?:will|need to)) +"
_LEADS = rf"(?:now|next|then)[,.!:]? +|(?:first|ok(?:ay)?|good|great)(?:[,.!:] +| +(?={_INTENDS}))"
_ANNOUNCES = re.compile(rf"^(?:{_LEADS}|{_INTENDS})+|(?<![\w'’-])(?:{_LEADS})*(?:{_INTENDS})+", re.IGNORECASE)
_READ = 4_000  # characters of a message that are searched for a new value
_QUESTION = re.compile(r"[?？؟](?:\s|$)")
_COMPARED = 40  # newest decisions to compare a new one with
_SAME_DECISION = 0.6  # minimum share of common words for a decision to replace an earlier one
_MAX_GUESSES = 20


@dataclass(slots=True)
class _Reading:
    """One pass over messages."""

    facts: ConversationFacts
    quotes: bool
    waiting: dict[str, Called] = field(default_factory=dict)

    def quote(self, text: str, kind: str, source: str, position: int) -> None:
        if self.quotes:
            self.facts.evidence.add(text, kind, source, position)


def read_facts(
    messages: Sequence[Message],
    opening: str = "",
    known: ConversationFacts | None = None,
    numbers: Sequence[int] | None = None,
    *,
    opening_at: int = -1,
    quotes: bool = True,
) -> ConversationFacts:
    """The state after `messages`, without secrets.

    `opening` is the first request, if it is not in `messages`, and `opening_at` its number. `known` is the state
    before `messages`. `numbers` are their positions in the whole conversation; without them, numbering continues from
    `known`. Without `quotes`, no line is kept as evidence.
    """
    facts = known.copy(quotes) if known else ConversationFacts()
    if known is None and opening.strip():
        text = without_harness_text(without_handle({"role": "user", "content": opening}))
        if text:
            add_request(facts.requests, text, opening_at, "", None)
    reading = _Reading(facts, quotes)
    first = facts.messages
    places = numbers if numbers is not None else range(first, first + len(messages))
    for position, message in zip(places, messages, strict=True):
        if position in facts.handles:  # it was already read at an earlier compaction
            continue
        role = message.get("role")
        facts.handles[position] = handle_of(message) if message.get("content") else ""
        message = without_handle(message)  # a quote could cut it in two, and half a handle leads nowhere
        if role == "user":
            _read_user(reading, message, position)
        elif role in SYSTEM_ROLES:
            _add_rules(facts, without_harness_text(message), position, f"a {role} message")
        elif role == "assistant":
            _read_assistant(reading, message, position)
        elif role == "tool":
            made = reading.waiting.pop(answered_id(message) or "", None)
            if made:
                _read_result(reading, made, cleaned(text_of(message)), position)
    facts.messages = max(first, max(places, default=-1) + 1)
    return facts


def _read_user(reading: _Reading, message: Message, position: int) -> None:
    facts, text = reading.facts, text_of(message).strip()
    if not text:
        return
    is_harness = is_harness_text(message)
    rules = list(rules_in(text)) if is_harness or text.startswith("# ") else []
    for name, body in rules:
        _add_rules(facts, body, position, name)
    if rules or is_harness:
        read_notifications(facts, text, position)
        reading.quote(text, "shown", TOLD, position)
        return
    cleaned_text = cleaned(without_harness_text(message))
    cleaned_text = _without_forgotten(facts, cleaned_text, position)
    if not cleaned_text:
        return
    reading.quote(cleaned_text, "asked", f"{ASKED}:{position}", position)
    add_request(facts.requests, cleaned_text, position, facts.last_said, facts.last_said_at)
    facts.question = None
    _drop_superseded(facts, cleaned_text)
    for excluded in excluded_by(cleaned_text, facts.decisions):
        del facts.decisions[excluded]
    before = facts.requests[-2].source if len(facts.requests) > 1 else -1
    _rulings(facts).read(own_words(cleaned_text), position, before)


def _add_rules(facts: ConversationFacts, text: str, position: int, origin: str) -> None:
    """Add the rules of a rules file, or of a system message that an application sent during the conversation."""
    for sentence in constraints_in(text):
        facts.constraints.pop(sentence, None)
        facts.constraints[sentence] = StatedConstraint(sentence, position, origin)


def _without_forgotten(facts: ConversationFacts, text: str, position: int) -> str:
    """Apply a message's requests to forget something, and return the rest of the message."""
    known = len(facts.personal.forgotten)
    before = ((request.source, request.text) for request in facts.requests)
    is_all = facts.personal.read(text, position, before, facts.is_chat)
    _drop_replaced(facts, position)
    if not is_all and len(facts.personal.forgotten) == known:
        return text
    topics = facts.personal.forgotten[known:]
    if not any(topic.topics for topic in topics):  # forgetting a salary does not end the rules about it
        _rulings(facts).revoke(text, position)  # "forget the rule about tabs"
    if is_all and facts.requests and any(topic.messages for topic in topics):
        facts.requests[-1].status = "withdrawn"
    for item in facts.requests:
        item.text = facts.personal.without_forgotten(item.text, item.source, facts.is_chat)
    facts.requests[:] = [request for request in facts.requests if request.text]
    return "" if is_all else without_requests_to_forget(text)


def _drop_replaced(facts: ConversationFacts, position: int) -> None:
    """Remove from a chat the values that the newest message replaces."""
    if not facts.is_chat or not facts.personal.changes:
        return
    for item in facts.requests:
        for sentence, left in facts.personal.replaced_in(item.text).items():
            item.text = item.text.replace(sentence, left).strip()
            facts.evidence.supersede(sentence, f"{ASKED}:{item.source}", position)
    facts.requests[:] = [request for request in facts.requests if request.text]
    for known in (facts.constraints, facts.wishes):
        for sentence in [one for one in known if facts.personal.replaced_in(one)]:
            facts.revoked[sentence] = replace(known.pop(sentence), revoked_by=position)


def _read_assistant(reading: _Reading, message: Message, position: int) -> None:
    facts, text = reading.facts, text_of(message).strip()
    calls = tool_calls(message)
    if calls and facts.requests and facts.requests[-1].status == "answered":
        facts.requests[-1].status = "open"  # the text before was no final reply
    if text:
        _read_said(reading, text, position, is_final=not calls)
    note = _note_of(redact(text)) if text else ""
    for call in calls:
        called = call_read(call, note, position, len(calls) > 1)
        reading.waiting[str(call.get("id"))] = called
        if reading.quotes:
            read_call(facts.evidence, called, position)


def _read_said(reading: _Reading, text: str, position: int, is_final: bool) -> None:
    facts = reading.facts
    reading.quote(text, "said", SAID, position)
    facts.last_said, facts.last_said_at = text, position
    for item, done in ticked_in(text):
        facts.todos.tick(item, done, position)
    for refuted in refuted_in(text, facts.hypotheses):
        del facts.hypotheses[refuted]
    for sentence in guesses_in(text):
        _latest(facts.hypotheses, Hypothesis(sentence, position))
        if len(facts.hypotheses) > _MAX_GUESSES:
            del facts.hypotheses[next(iter(facts.hypotheses))]
    for sentence in decisions_in(text):
        _decide(facts.decisions, Decision(sentence, position))
    _drop_superseded(facts, text)
    if is_final:
        question = question_in(text)
        facts.question = OpenQuestion(question, position) if question else None
        if facts.requests:
            _answer(facts.requests[-1], text)


def _answer(request: PersonRequest, text: str) -> None:
    """Record the beginning of the agent's final message as the answer to a person's question."""
    if request.status == "open":
        request.status = "answered"
    if not request.changes and request.kind == "request" and _QUESTION.search(request.text):
        request.answer = answer_in(text)


def _read_result(reading: _Reading, made: Called, result: str, position: int) -> None:
    facts = reading.facts
    shown = program_output(result)
    started = facts.running.get(process_asked(made.arguments) or "")
    source = started.called.source if started else made.source
    if not says_only_changed(made, shown):
        reading.quote(patch_text(shown).new if is_patch(shown) else shown, "shown", source, position)
    found = read_result(facts, made, result, position)
    if found.changed and facts.requests:
        facts.requests[-1].changes += 1
        facts.requests[-1].status = "open"
    if not found.answer:
        return
    if found.answer.startswith(REFUSED):
        # A page can imitate a refusal, so it is reported but does not become a rule.
        text = f"The person {REFUSED} {_named(made)}{one_line(found.answer.removeprefix(REFUSED), 240)}"
    else:
        text = f"Asked by the agent, the person answered: {one_line(found.answer, 240)}"
        _rulings(facts).read(found.answer, position)
    _latest(facts.decisions, Decision(text, position))


def _named(made: Called) -> str:
    """A call as a sentence names it."""
    command = command_of(made.arguments)
    return f"`{one_line(command_line(command) if command else call_line(made.call), _LONGEST_NOTE)}`"


def _rulings(facts: ConversationFacts) -> Rulings:
    return Rulings(facts.constraints, facts.wishes, facts.revoked)


def _note_of(text: str) -> str:
    """The last sentence before a call, which is usually its reason."""
    lines = [line for line in sentences_of(text[-400:]) if line.strip()]
    if not lines:
        return ""
    text = lines[-1].strip(" :*#-")
    bare = _ANNOUNCES.sub("", text)
    # Capitalise an ordinary word after a removed phrase; never change a name.
    is_word = bare != text and bare.partition(" ")[0].isalpha()
    return one_line(bare[:1].upper() + bare[1:] if is_word else bare, _LONGEST_NOTE)


def _decide(decisions: dict[str, Decision], made: Decision) -> None:
    """Add a decision, replacing an earlier one on the same subject."""
    words = content_words(made.text)
    for text in list(decisions)[-_COMPARED:]:
        earlier = content_words(text)
        is_same = min(overlap(words, earlier), overlap(earlier, words)) >= _SAME_DECISION
        if is_same or supersedes(made.text, text):
            del decisions[text]
    decisions[made.text] = made


def _drop_superseded(facts: ConversationFacts, statement: str) -> None:
    """Remove decisions and guesses for which a message now states another value."""
    if not (facts.decisions or facts.hypotheses):
        return
    for sentence in filter(may_supersede, sentences_of(statement[:_READ])):
        for known in (facts.decisions, facts.hypotheses):
            for text in [item for item in known if supersedes(sentence, item)]:
                del known[text]


def _latest(found: "dict[str, Hypothesis] | dict[str, Decision]", newest: Hypothesis | Decision) -> None:
    found.pop(newest.text, None)
    found[newest.text] = newest  # type: ignore[assignment]
