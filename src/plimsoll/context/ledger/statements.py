"""Explicit statements of agents: decisions, guesses, questions, and checked items of a list."""

import re
from collections.abc import Collection, Iterator
from itertools import takewhile

from plimsoll.context.ledger.outcome import one_line
from plimsoll.context.ledger.quoted import without_fences
from plimsoll.context.ledger.sentences import SENTENCE, sentences_of
from plimsoll.context.ledger.words import content_words
from plimsoll.secrets import redact

_READ = 4_000  # characters of a message that are searched
_LONGEST = 300
_ASKED_AT_END = 1_200  # final characters of a message that may contain its question
_BEFORE = 120  # characters of a longer sentence to keep before the words that set the limit
# The shortest sentence that can set a limit; scripts without spaces need fewer characters.
_SHORTEST, _SHORTEST_UNSPACED = 6, 4
_DECISION_WORDS = frozenset({
    "decided", "decision", "chose", "choose", "going", "we'll", "i'll", "instead", "rather", "because", "cause",
    "opted", "turns", "fix", "problem", "issue", "bug", "solution", "confirmed", "since", "failure", "error", "due",
    "reason", "culprit", "regression", "mismatch", "caused", "causes", "causing", "approach", "option", "choice",
    "way", "path", "route", "place", "change", "design", "alternative", "variant", "switching", "switched",
    "deliberately", "intentionally", "therefore", "tradeoff", "trade-off", "outdated", "wrong",
})  # fmt: skip
# Comparatives and superlatives by which people weigh one way against another.
_COMPARED_BY = (
    "better|best|safer|safest|cleaner|cleanest|simpler|simplest|easier|easiest|smaller|smallest|faster|fastest|cheaper"
    "|cheapest|clearer|clearest|(?:more|less|most|least) (?:robust|reliable|invasive|elegant|maintainable|efficient"
    "|straightforward|flexible|conservative|appropriate|sensible|promising|direct|consistent|complex|risky)"
)
_DECISION = re.compile(
    r"\b(?:decided|decision|chose|choose|opted|going with|i'll use|we'll use|instead of|rather than|root cause"
    r"|turns out|outdated|(?:was|were) wrong"
    r"|because|due to|caus(?:ed|es|ing)|deliberately|intentionally|therefore|trade-?off"
    r"|the (?:\w+ ){0,2}(?:fix|problem|issue|cause|bug|solution|failure|error|reason|culprit|regression|mismatch)"
    r" (?:is|was|comes|came|lies)|confirmed"
    r"|the reason|switch(?:ing|ed) (?:\w+ ){0,3}to"
    rf"|(?:right|{_COMPARED_BY}) (?:\w+ )?(?:fix|way|approach|option|choice|path|route|solution|change|design"
    r"|place)s?"
    r"|(?:option|approach|alternative|variant) \w+ (?:\([^)\n]*\) )?(?:is|seems|looks) (?:the )?"
    rf"(?:right|{_COMPARED_BY}))\b"
)
# What an agent says so presents something to the person, or asks them for something.
_PRESENTS = re.compile(r"(?:here(?:['’]s| is| are)|please|would you|do you|let me know)\b", re.IGNORECASE)
# Words of a finding that do not say what was found.
_ONLY_DECIDES = frozenset({
    "found", "find", "root", "cause", "fix", "issue", "problem", "bug", "failure", "error", "confirm", "confirmed",
    "complete", "completed", "done", "ready", "clear", "now", "real", "actual", "solution", "reason", "see",
    "identified", "good", "right", "approach", "best", "works", "work", "fixed", "exact", "decided", "decision",
})  # fmt: skip
_FEWEST_TOLD = 2  # content words of a decision besides those
_WEIGHED = re.compile(rf"\b(?:{_COMPARED_BY})\b")
_CAUSE = re.compile(
    r"\b(?:root cause(?:(?: is| was| found)\b|[:,] )|turns out|found (?:it|the (?:cause|bug|issue|problem))"
    r"|the (?:real |actual )?(?:problem|issue|cause|bug|culprit) (?:is|was)|confirmed)\b"
)
# What an agent says when a guess was wrong.
_REFUTES = re.compile(
    r"\b(?:(?:was|were|is|are) (?:wrong|incorrect|fine|healthy|intact|outdated|not (?:the|a|it|to blame)\b)"
    r"|rul(?:ed|es|ing) (?:it |this |that )?out|not (?:that|this|it) either"
    r"|not the (?:cause|culprit|problem|issue|reason)|(?:isn't|wasn't|aren't|weren't) (?:the|a|it)\b"
    r"|, not \w+[;.,]|nothing (?:wrong|to do) with|unrelated|it worked)"
)
_REFUTES_LAST = re.compile(
    r"\b(?:theory|guess|hypothesis|suspicion|assumption) (?:was|is) (?:wrong|incorrect)|not (?:that|this|it) either"
    r"|that (?:was not|wasn't|isn't|is not) (?:it|the (?:cause|culprit|problem|issue|reason))|it worked"
)
# An agent that announces its next look, run or message decides nothing: "I'm checking the parser first,
# because ...". Verbs such as use, keep, add or switch are not listed, because they often state a choice.
_LOOKING_VERBS = (
    "ask|build|check|collect|commit|compar|compil|confirm|continu|do|examin|explor|fetch|gather|get|grep|inspect|"
    "investigat|launch|let|look|map|monitor|open|pars|poll|post|prob|publish|pull|push|queri|query|read|repl|reply|report|"
    "reproduc|respond|review|run|sampl|scan|search|see|stag|start|summari[sz]|test|trac|validat|verif|verify|view|wait|watch"
)
_ANNOUNCES_A_LOOK = re.compile(
    r"(?:[^,;:]{0,90}, )?(?:(?:and|but|first|good|great|next|now|ok|okay|so|then) )?"
    r"(?:i'm|i am|i'll|i will|i need to|i want to|i'd like to|we'll|let me|let's)"
    r"(?: (?:about|also|be|first|going|just|next|now|quickly|still|then|to))* "
    rf"(?:(?:re-?|double-?)?(?:{_LOOKING_VERBS})(?:e|y|ning|ting|ying|ing)?"
    r"|us(?:e|ing) (?:\S+ ){0,5}(?:workflow|skill|guidance)s?)\b"
)
# The same without "I'm": "Checking the parser first …"; "reading it twice is slower" states something.
_LOOKS = re.compile(
    rf"(?:(?:now|next|first|then|just|also)[,:]? )*(?:re-?|double-?)?(?:{_LOOKING_VERBS})(?:n|t|y)?ing\b"
    r"(?!.* (?:is|are|was|were|would|makes?|means?|gives?|costs?) )"
)
_GUESS_WORDS = frozenset({
    "likely", "probably", "maybe", "perhaps", "suspect", "might", "possibly", "hypothesis", "presumably",
})  # fmt: skip
_GUESS = re.compile(
    r"\b(?:(?:very |most )?likely|probably|maybe|perhaps|i suspect|might be|possibly|my hypothesis|presumably)\b"
)
_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(?=\S)")
# A block of one line behind a colon belongs to the sentence: a command, a path.
_ONE_LINE_BLOCK = re.compile(r"([:：])[ \t]*\n+[ \t]*```[\w-]*\n[ \t]*([^\n`]+?)[ \t]*\n[ \t]*```")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_CLAUSE_END = re.compile(r"[,;:(—–] ?")
# Introductory phrases before an agent's answer.
_OPENS = re.compile(
    r"(?:good|great|fair|excellent) (?:question|point|catch)|let me\b|i['’]ll\b|looking at\b|based on\b.{0,80}:$"
    r"|here(?:['’]s| is| are)\b|sorry\b|you['’]re (?:absolutely )?right[.!]?$",
    re.IGNORECASE,
)
_YES_OR_NO = frozenset(
    {"yes", "no", "correct", "exactly", "right", "ja", "nein", "sí", "não", "sim", "oui", "non"}
)
_SHORTEST_ANSWER = 25  # characters
_PUNCTUATION = str.maketrans('.,;:!?()[]"`*', "             ")
_CHECKBOX = re.compile(r"^\s*[-*] \[( |x)\] (.+)$", re.MULTILINE)


def beginning_of(text: str, longest: int) -> str:
    """The first characters of a text; a longer one ends with its last complete sentence or line among them."""
    if len(text) <= longest:
        return text
    ends = [found.start() for found in SENTENCE.finditer(text, longest // 2, longest)]
    return text[: ends[-1] if ends else longest]


def bounded_sentence(said: str, at: int) -> str:
    """A sentence that sets a limit with the words at `at`, shortened if very long; empty if it is not a sentence."""
    if len(said) < (_SHORTEST if said.isascii() else _SHORTEST_UNSPACED):
        return ""
    return said if len(said) <= _LONGEST else _around(said, at)


def _around(sentence: str, at: int) -> str:
    """The part of a very long sentence that sets the limit, with markers for omitted text."""
    start = max(0, at - _BEFORE)
    start = sentence.find(" ", start, at) + 1 or start if start else 0
    part = sentence[start : start + _LONGEST - 2].strip()
    return f"{'…' if start else ''}{part}{'…' if start + _LONGEST - 2 < len(sentence) else ''}"


def decisions_in(text: str) -> Iterator[str]:
    """The agent's sentences that state a decision or a cause; guesses do not count."""
    if not _DECISION_WORDS.isdisjoint(_words(text)):
        for sentence in _with_lists(_prose(text)):
            low = sentence.lower().replace("’", "'")
            if _is_statement(sentence) and _states(low) and _tells(plain := _plain(sentence)):
                yield plain


def _tells(sentence: str) -> bool:
    """Whether a statement says what was decided or found, rather than what the agent looks at."""
    if _LOOKS.match(sentence.lower()) or _PRESENTS.match(sentence) or sentence.endswith((":", "：")):
        return False
    return len(content_words(sentence) - _ONLY_DECIDES) >= _FEWEST_TOLD


def _with_lists(text: str) -> Iterator[str]:
    """The sentences of a text; one that only introduces a list is followed by the beginning of the list.

    The items that stand there in full are not repeated.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    said = ""
    for number, line in enumerate(lines):
        bare = _ITEM.sub("", line).strip()
        if said and bare != line.strip() and bare.strip(" .;") in said:
            continue
        *sentences, last = sentences_of(bare)
        yield from sentences
        if not last.endswith(":"):
            yield last
            continue
        items = [_ITEM.sub("", one).strip(" .;") for one in takewhile(_ITEM.match, lines[number + 1 :])]
        if items:
            said = one_line(f"{last} {'; '.join(items)}", _LONGEST)
            yield said
        elif _WEIGHED.search(last.lower()):  # it says what is chosen, and the code or table after it how
            yield last.removesuffix(":")


def _states(sentence: str) -> bool:
    """Whether a sentence in lower case states a decision or a cause, and guesses only after it, if at all."""
    decided = _DECISION.search(sentence)
    if decided is None or _ANNOUNCES_A_LOOK.match(sentence):
        return False
    clause = _CLAUSE_END.search(sentence, decided.end())
    return not _GUESS.search(sentence, 0, clause.start() if clause else len(sentence))


def guesses_in(text: str) -> Iterator[str]:
    """The agent's sentences that state a possible cause."""
    if not _GUESS_WORDS.isdisjoint(_words(text)):
        for sentence in sentences_of(_prose(text)):
            low = sentence.lower().replace("’", "'")
            if _is_statement(sentence) and _GUESS.search(low) and not _states(low):
                yield _plain(sentence)


def finds_cause(text: str) -> bool:
    """Whether an agent says that it has found the cause."""
    lowered = text[:_READ].lower()
    return any(word in lowered for word in ("cause", "turns out", "found", "confirmed", "the ")) and any(
        _CAUSE.search(sentence) and not _GUESS.search(sentence) for sentence in sentences_of(lowered)
    )


def refuted_in(text: str, guesses: Collection[str]) -> list[str]:
    """The earlier guesses that a text disproves: all if it states the cause, else those whose words it denies."""
    if not guesses:
        return []
    if finds_cause(text):
        return list(guesses)
    found: list[str] = []
    for sentence in sentences_of(text[:_READ].lower().replace("’", "'")):
        if _GUESS.search(sentence) or not _REFUTES.search(sentence):
            continue
        if _REFUTES_LAST.search(sentence):
            found.append(list(guesses)[-1])
        words = content_words(sentence)
        found += [guess for guess in guesses if words & content_words(guess)]
    return list(dict.fromkeys(found))


def answer_in(text: str) -> str:
    """The first sentences of an agent's message that state something, as the answer to a question."""
    said: list[str] = []
    for sentence in sentences_of(_prose(text)):
        plain = _plain(sentence)
        if len(plain) < _SHORTEST_ANSWER and not said:
            said = [plain] if plain.rstrip(".!,:").lower() in _YES_OR_NO else []
        elif (
            not plain.startswith(("#", "|", "`"))
            and not plain.endswith(("?", ":"))
            and not _OPENS.match(plain)
        ):
            said.append(plain)
            if len(said[-1]) >= _SHORTEST_ANSWER:
                break
    return " ".join(said)[:_LONGEST]


def question_in(text: str) -> str:
    """The question at the end of an agent's message; empty if there is none."""
    sentences = [one.strip() for one in sentences_of(redact(text[-_ASKED_AT_END:])) if one.strip()]
    asked = [one for one in sentences[-3:] if one.endswith(("?", "？", "؟"))]
    return _plain(asked[-1])[:_LONGEST] if asked else ""


def _prose(text: str) -> str:
    """A text without blocks of code, and without secrets."""
    return redact(without_fences(_ONE_LINE_BLOCK.sub(r"\1 `\2`", beginning_of(text, _READ))))


def _is_statement(sentence: str) -> bool:
    return (
        20 <= len(sentence) <= 300
        and sentence[0] not in "#|`"
        and not sentence.rstrip().endswith(("?", "？"))
    )


def _plain(sentence: str) -> str:
    """A sentence without list or heading markup."""
    return _BOLD.sub(r"\1", sentence).strip().strip("*_").lstrip("-•#> ").strip()


def ticked_in(text: str) -> Iterator[tuple[str, bool]]:
    """The items of a checklist, and whether each is done."""
    if "[ ]" in text or "[x]" in text:
        for mark, item in _CHECKBOX.findall(text):
            yield item.strip(), mark == "x"


def _words(text: str) -> list[str]:
    return text[:_READ].lower().replace("’", "'").translate(_PUNCTUATION).split()
