"""Separates the user's own words in a user message from quotes and from rules that a harness supplied.

    Please summarise this page:            the user's words
    > Always send the file to …            quoted: a fact at most, never a rule
    ```                                    fenced: the same
    # AGENTS.md instructions for /src      a rules file: its rules count, with their origin

A document without an announcement is recognised by its form (`pasted.py`). A page that the user pastes does not
contain the user's rules.
"""

import re
from collections.abc import Iterator

from plimsoll.context.ledger.beside_pastes import without_text_beside
from plimsoll.context.ledger.pasted import pasted_in
from plimsoll.context.ledger.quoted_forms import END_OF_PASTE, without_quoted_forms

_FENCED = re.compile(r"^[ \t]*(?P<fence>```+|~~~+).*?(?:^[ \t]*(?P=fence)|\Z)", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(
    r"<(?P<tag>document|documents|page|web_?page|article|file|context|search_?results?|tool_?result|result|output|email"
    r"|pasted?\w*|quote|blockquote|html|body|attachment|source|content|transcript)\b[^>]*>.*?(?:</(?P=tag)>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_QUOTE_LINES = re.compile(r"^[ \t]*(?:>|\|).*$", re.MULTILINE)
_COMMENTED = re.compile(r"<!--.{0,2000}?(?:-->|\Z)|/\*.{0,2000}?\*/", re.DOTALL)
# The page says at the bottom: From now on …
_REPORTED = re.compile(
    r"(?P<who>\b(?:page|site|article|docs?|readme|post|mail|message|file|card|label|sign|banner|tweet|notice|manual"
    r"|spec|rfc|wiki|faq|leaflet|poster|https?://\S+|\S+\.\w{1,5})\b[^.:\n]{0,60}\b(?:says?|reads?|states?|tells?)\b[^:\n]{0,30}:)"
    r"[^\n]+?(?=[.!?][ \t]+[^.\n]{0,200}\?|$)",
    re.MULTILINE | re.IGNORECASE,
)
# A quotation inside a sentence; a short one is a name.
_QUOTATION = re.compile(
    r"“[^”\n]{25,1000}”|«[^»\n]{25,1000}»|\"(?=\S)[^\"\n]{25,1000}(?<=\S)\"|「[^」\n]{12,500}」"
)
# A line that announces someone else's text, which follows. A task ("Write a page:") does not announce one.
_ANNOUNCED = re.compile(
    r"^[^\n]{0,200}\b(?:summari[sz]e|translate|read|review|explain|parse|load|rate|analy[sz]e"
    r"|look at|check|here(?:'s| is| are)|below is|got"
    r"|received|found|says?|wrote|from|pasted?|what is|fasse|übersetze|hier ist|resume|traduce|résume"
    r"|traduis|voici)\b"
    r"[^\n]{0,80}\b(?:page|article|document|docs|documentation|e-?mail|readme|post|blog|thread|issue|ticket|web ?site"
    r"|web ?page|output|logs?|transcript|ya?ml|toml|json|csv|xml|diff"
    r"|patch|prompt|cv|terms|contract|text|contents?|message|letter|comment|seite|dokument|artikel|mail|página"
    r"|documento|artículo|courriel)\b[^\n]{0,80}:[ \t]*\n",
    re.MULTILINE | re.IGNORECASE,
)
_DOCUMENT = re.compile(
    r"^[ \t]*(?:<!doctype|<html|<head|<body|From: .+\n(?:.+\n){0,4}Subject: )", re.MULTILINE | re.IGNORECASE
)
_INSTRUCTIONS = re.compile(
    r"\A\s*# (?P<name>[\w.-]{1,40}\.md) instructions for [^\n]*\n+\s*<INSTRUCTIONS>"
    r"(?P<rules>.*?)(?:</INSTRUCTIONS>|\Z)",
    re.DOTALL,
)
_CONTENTS = re.compile(
    r"^Contents of \S{0,300}?(?P<name>[A-Z]+(?:\.local)?\.md)\b[^\n]*:\n"
    r"(?P<rules>.*?)(?=^Contents of |</system-reminder>|\Z)",
    re.DOTALL | re.MULTILINE,
)


def without_fences(text: str) -> str:
    """A text without its fenced blocks: code, and output of programs."""
    return _FENCED.sub("\n", text) if "```" in text or "~~~" in text else text


def own_words(text: str) -> str:
    """A message without quoted text: fences, quote lines, quotations, documents and pages."""
    is_closed = END_OF_PASTE.search(text) is not None
    text = _QUOTE_LINES.sub("", _TAGGED.sub("\n", without_fences(text)))
    pasted = pasted_in(text)
    if pasted:
        text = f"{text[: pasted.start]}\n{text[pasted.end :]}"
    found = _ANNOUNCED.search(text) or _DOCUMENT.search(text)
    if found:
        start = found.start() if found.re is _DOCUMENT else found.end()
        end = END_OF_PASTE.search(text, start)
        text = f"{text[:start]}\n{text[end.end() :] if end else ''}"
    text = _COMMENTED.sub("", text)
    if not is_closed:  # the person marked where the paste ends
        text = without_text_beside(text)
    text = _QUOTATION.sub("", without_quoted_forms(text))
    return _REPORTED.sub(r"\g<who>", text)


def rules_in(text: str) -> Iterator[tuple[str, str]]:
    """The rules files that a harness inserted into a message, with their names, and their text without examples."""
    for pattern in (_INSTRUCTIONS, _CONTENTS):
        for found in pattern.finditer(text):
            yield found["name"], without_fences(found["rules"])
