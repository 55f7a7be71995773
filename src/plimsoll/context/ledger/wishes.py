"""Whether a sentence of a person says how the work should be done, or only what to do now.

    "I'd rather have one branch."      a wish: it holds until the person revokes it
    "Put it in settings.py."           a wish: an order that says where or how
    "Build it."  "Tariffs, please."    an order for the moment: a request, not a wish
    "Could we just run make?"          a wish: a question that proposes how
    "Can you check it again first?"    a question: a request, not a wish
    "I'd like to do two things:"       an announcement: not a wish by itself
    "The parser never throws."         a description: not a wish

The words of each language are data (`people.toml`).
"""

import re
from functools import cache

from plimsoll.context.ledger.people_words import is_reply, word_group
from plimsoll.context.ledger.requests import asks_to_know
from plimsoll.context.ledger.words import content_words

_NOT_A_SENTENCE = ("|", "`", "{", "<", "/", "+", "@", "[", "├", "│", "└", "⏺", "⎿", "!")
_QUOTED = re.compile(r"“[^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]|\"[^\"\n]*\"|「[^」\n]*」|『[^』\n]*』")
_TAG = re.compile(
    r"\b(?:right|ok(?:ay)?|no|yes|oder|ja|vale|verdad|né|certo|correct)\W*\?$"
)  # asks for assent
_CLAUSE = re.compile(r"[,;，；]|\s[-–—]+>?\s")
# A line that a terminal shows for a call of a tool: `Update(src/app.py)`, `Bash(go test ./...)`.
_TOOL_TITLE = re.compile(r"^\W*[A-Z]\w+\([^)]*(?:\)|$)")
_BRACKETS = " \t([*_-"
_MAX_WORDS = 60  # a longer sentence without a full stop is a list or a log


def is_wish(sentence: str, orders: bool = True) -> bool:
    """Whether a sentence says how the work should be done; without `orders`, orders are items of a plan."""
    lowered = sentence.lower().replace("’", "'").lstrip(_BRACKETS)
    if not _says_something(sentence, lowered):
        return False
    lowered = word_group("parting").without_clauses(lowered).rstrip()
    whole, text = lowered, word_group("openers").after(lowered)
    request = word_group("asks_for").after(text)
    if request != text and any(word_group(name).opens(request) for name in ("acts", "commands")):
        whole = text = request
    if _TAG.search(text) is None and text.rstrip().endswith(("?", "？")):
        if _is_proposal(text):
            return True
        # Text before a question in the same sentence is not a question: "let's store it, can you show how?"
        text = whole = text[: _last_clause(text)]
        orders = False
    if word_group("wishes").found_in(whole) or word_group("undoes").found_in(text):
        return True
    return orders and _is_lasting_order(text)


def _says_something(sentence: str, lowered: str) -> bool:
    """Whether a text is a sentence with an object, and no reply or question."""
    if sentence.startswith(_NOT_A_SENTENCE) or _TOOL_TITLE.match(sentence):
        return False
    if len(sentence.split()) > _MAX_WORDS or lowered.endswith((":", "：")):
        return False
    has_object = bool(content_words(sentence) - _words_without_object())
    return has_object and not is_reply(sentence) and not asks_to_know(sentence)


def _is_proposal(question: str) -> bool:
    """Whether a question proposes how to do the work, rather than asking for information or a look."""
    proposed = word_group("proposes").after_first(question)
    if not proposed and not is_order(question):
        return False
    if word_group("studies").opens(word_group("openers").after(proposed)):
        return False
    return word_group("manner").found_in(question) or word_group("keeps").found_in(question)


def _last_clause(text: str) -> int:
    """The start of a sentence's last clause; 0 if it has only one."""
    return max((found.start() for found in _CLAUSE.finditer(text)), default=0)


def is_order(sentence: str) -> bool:
    """Whether a sentence tells the reader to do something."""
    text = word_group("openers").after(sentence.lower().replace("’", "'").lstrip(_BRACKETS))
    return any(word_group(name).opens(text) for name in ("acts", "commands", "keeps"))


def _is_lasting_order(text: str) -> bool:
    """Whether an order also says how, where or in which order."""
    if word_group("keeps").opens(text):
        return True
    has_manner = word_group("manner").found_in(text)
    if word_group("artifacts").opens(text) and not has_manner:
        return False
    if word_group("commands").opens(text):
        return has_manner or word_group("places").found_in(text)
    return word_group("acts").opens(text) and has_manner


def is_description(sentence: str) -> bool:
    """Whether a sentence reports what something does or what someone said."""
    lowered = sentence.lower()
    if word_group("reports").found_in(lowered):
        return True
    return word_group("subjects").begins(lowered) and not word_group("demands").found_in(lowered)


def without_quotes(sentence: str) -> str:
    """A sentence without quotations: someone else's words, or a name."""
    return _QUOTED.sub(" ", sentence)


def without_statements(sentence: str) -> str:
    """A sentence without the clauses that tell what is or was; empty for the line of a program."""
    lowered = sentence.lower().replace("’", "'")
    if word_group("program_output").begins(lowered):
        return ""
    left = word_group("tells").without_clauses(lowered)
    return sentence if left == lowered else left


@cache
def _words_without_object() -> frozenset[str]:
    """The words of orders and wishes: with no other word a sentence does not say what it is about."""
    groups = ("acts", "wishes", "undoes", "refers")
    return content_words(" ".join(word for name in groups for word in word_group(name).words))
