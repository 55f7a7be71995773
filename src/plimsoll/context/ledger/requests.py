"""What people asked for, and which subject each request belongs to.

    port the importer to the new schema        opens a subject: the goal of the work
    keep the old command line                  the same subject
    yes                                        a reply: belongs to the agent's question
    ok, let's try something else: …            opens another subject

The newest request is the current task; the request that opened its subject is the goal.
"""

import re

from plimsoll.context.ledger.constraint_words import constraint_in
from plimsoll.context.ledger.listed_rules import listed_sentences
from plimsoll.context.ledger.people_words import is_reply, refers_back, word_group
from plimsoll.context.ledger.sentences import sentences_of
from plimsoll.context.ledger.state import PersonRequest
from plimsoll.context.ledger.words import content_words, overlap

_FEW_WORDS = 7  # content words; fewer do not open a subject by themselves
_SAME_SUBJECT = 0.34  # share of a request's words that already occurred in the subject
_RESTATED = 0.7  # minimum share of common words for a request to restate the previous one
_OPENING = 160  # characters of a message that may announce a change of subject
_OFFER = 240
_ASKS_UNMARKED = ("吗", "呢", "怎么说", "か", "ますか", "ですか", "でしょうか")
_LINK = re.compile(r"https?://[^\s\])>]+")
_HEADING = re.compile(r"^[ \t]*#{1,4}[ \t]+([^\n]{1,60}?)[ \t]*:?[ \t]*$", re.MULTILINE)
_MARKUP = ' \t\n"-*_'
_QUESTION = re.compile(r"[?？؟]\s*$")


def add_request(
    requests: list[PersonRequest], text: str, source: int, agent_text: str, agent_text_at: int | None
) -> None:
    """Add a person's request; `agent_text` is the agent's last text before it, from message `agent_text_at`."""
    request = PersonRequest(text, source)
    if len(requests) == 1 and is_courtesy(requests[0].text):
        requests.clear()  # a greeting before the first request is not what the work is for
    if requests:
        _place(request, requests[-1], agent_text, agent_text_at)
    request.subject = _subject_of(request, requests)
    requests.append(request)


def _place(request: PersonRequest, before: PersonRequest, agent_text: str, agent_text_at: int | None) -> None:
    """Determine how a request relates to the one before it and to what the agent said."""
    text = request.text
    opening = text.lower()[:_OPENING]
    is_undone = len(before.text) <= _OPENING and word_group("undoes").begins(opening)
    if is_undone or word_group("withdraws").found_in(opening):
        before.status = "withdrawn"
    elif before.status == "open":
        before.status = "answered"
    if is_reply(text) or is_courtesy(text):
        request.kind, request.answers, request.offer = "reply", agent_text_at, offer_in(agent_text)
        request.about = before.about if before.about is not None and before.kind == "reply" else before.source
    elif _is_restated(text, before):
        before.status, request.replaces = "withdrawn", before.source
    elif _is_rule(text):
        request.kind, request.about = "rule", before.about if before.about is not None else before.source
    elif _is_follow_up(text):
        request.about = before.about if before.about is not None else before.source


def is_courtesy(text: str) -> bool:
    """Whether a message is only a greeting, thanks or a goodbye."""
    if len(text) > _OPENING:
        return False
    lowered = text.lower().replace("’", "'")
    left = word_group("courtesies").without(lowered)
    return left != lowered and content_words(left) <= content_words(" ".join(word_group("replies").words))


def offer_in(agent_text: str) -> str:
    """The last question of the agent's text, or else its last sentence, which a short reply agrees to."""
    sentences = [
        sentence.strip(" *#->") for sentence in sentences_of(agent_text[-2_000:]) if sentence.strip(" *#->")
    ]
    questions = [sentence for sentence in sentences if _QUESTION.search(sentence)]
    return " ".join((questions or sentences or [""])[-1].split())[:_OFFER]


def task_in(text: str) -> str:
    """What the last heading for a task introduces; empty if a message has none.

    Programs that start agents write pages about the agent, the format and the rules before the task itself.
    """
    headings = list(_HEADING.finditer(text))
    titles = {*word_group("task_titles").words, *word_group("task_titles").signs}
    for number in reversed(range(len(headings))):
        if headings[number][1].strip(" *_").lower() in titles:
            end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
            body = text[headings[number].end() : end].strip(_MARKUP)
            if len(content_words(body)) >= _FEW_WORDS // 2:
                return body
    return ""


def request_at(requests: list[PersonRequest], source: int | None) -> PersonRequest | None:
    """The request of a message."""
    return next((request for request in reversed(requests) if request.source == source), None)


def _is_follow_up(text: str) -> bool:
    return len(content_words(text)) < _FEW_WORDS and refers_back(text)


def _subject_of(request: PersonRequest, requests: list[PersonRequest]) -> int:
    """The message that opened the subject of a request.

    People discuss before work starts. Until then, all requests are one subject, unless they only asked a question or
    announce a change of subject.
    """
    if not requests:
        return request.source
    current = requests[-1].subject
    words = content_words(request.text)
    if request.kind == "reply" or request.about is not None or len(words) < _FEW_WORDS // 2:
        return current
    if _turns(request.text) or request.replaces is not None:
        return request.source
    is_other = len(words) >= _FEW_WORDS and not is_inquiry(request.text)
    return request.source if is_other and _leaves(words, current, requests) else current


def _leaves(words: frozenset[str], subject: int, requests: list[PersonRequest]) -> bool:
    """Whether a request with these words leaves a subject.

    If no work was done for the subject yet, only a subject of questions can be left.
    """
    of_subject = [request for request in requests if request.subject == subject]
    opener = request_at(requests, subject)
    if opener is not None and not any(request.changes for request in of_subject):
        return is_inquiry(opener.text)
    spoken = frozenset().union(*(content_words(request.text) for request in of_subject))
    return overlap(words, spoken) < _SAME_SUBJECT


def aims_of(requests: list[PersonRequest]) -> list[PersonRequest]:
    """The goals of the work: its first request, the one with the most changes, and the current subject."""
    if not requests:
        return []
    first = _first_aim(requests)
    largest = max(requests, key=lambda item: item.changes)
    # A short follow-up says what to do; the request that opened its subject says what it is about.
    worked = (
        [request_at(requests, largest.subject) if _is_short(largest) else None, largest]
        if largest.changes
        else []
    )
    found = [first, *worked, request_at(requests, _newest_subject(requests))]
    aims = [
        request
        for request in found
        if request is first or (request is not None and request.kind == "request" and not _is_undone(request))
    ]
    return list({aim.source: aim for aim in aims}.values())


def _first_aim(requests: list[PersonRequest]) -> PersonRequest:
    """The first goal of the work, in its newest wording."""
    first = request_at(requests, requests[0].subject) or requests[0]
    for request in requests:
        if request.replaces == first.source:
            first = request
    # A single thing that was undone is no goal; of a long request, only a part may have been withdrawn.
    if _is_undone(first):
        return next((one for one in reversed(requests) if one.status != "withdrawn"), first)
    return first


def _is_undone(request: PersonRequest) -> bool:
    return request.status == "withdrawn" and len(request.text) <= _OPENING


def _newest_subject(requests: list[PersonRequest]) -> int:
    """The current subject; a single question about something else does not change it."""
    changes: dict[int, int] = {}
    for request in requests:
        changes[request.subject] = changes.get(request.subject, 0) + request.changes
    newest = requests[-1].subject
    worked = [subject for subject, count in changes.items() if count]
    is_single = requests[-1].source == newest and not _turns(requests[-1].text)
    return worked[-1] if worked and is_single and not changes[newest] else newest


def _is_short(request: PersonRequest) -> bool:
    return request.kind == "reply" or request.about is not None


def _turns(text: str) -> bool:
    return word_group("turns").found_in(text.lower()[:_OPENING])


def _is_rule(text: str) -> bool:
    """Whether a message only sets limits."""
    sentences = list(listed_sentences(text))
    return bool(sentences) and all(
        sentence.is_rule or constraint_in(sentence.text) is not None for sentence in sentences
    )


def _is_restated(text: str, before: PersonRequest) -> bool:
    # A link alone does not restate a request.
    words, now = (content_words(_LINK.sub(" ", item)) for item in (before.text, text))
    if len(words) < _FEW_WORDS // 2 or before.changes:
        return False
    return min(overlap(words, now), overlap(now, words)) >= _RESTATED


def is_inquiry(text: str) -> bool:
    """Whether a message only asks for information."""
    sentences = [sentence.strip() for sentence in sentences_of(text.strip()) if sentence.strip()]
    return bool(sentences) and all(map(asks_to_know, sentences))


def asks_to_know(sentence: str) -> bool:
    """Whether a sentence asks for information rather than work."""
    lowered = sentence.strip().lower().replace("’", "'").lstrip("¿")
    if not _QUESTION.search(sentence):
        return not lowered.isascii() and lowered.endswith(_ASKS_UNMARKED)
    return word_group("inquiries").opens(lowered) or not lowered.isascii()
