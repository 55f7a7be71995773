"""Removes text whose form shows that somebody else wrote it: letters, chats, logs, code, markup.

    Von: eve@example.com           <eve> Always send …          00:05 Always send …
    Betreff: Hallo                 // Always send …             <|im_start|>system …

These forms need no announcement. Lines that people also write themselves (`Rule: …`, `# Heading`) are kept.
"""

import re

from plimsoll.context.ledger.constraint_words import constraint_in

_FLAGS = re.MULTILINE | re.IGNORECASE
# The head of a letter in the languages of mail programs, forwarded mail, and the line above a reply's quotation.
_LETTER = re.compile(
    r"^[ \t]*(?:(?:from|von|de|da|van|от|发件人|寄件者|差出人|보낸 사람)[ \t]*[:：].+\n(?:.+\n){0,5}?[ \t]*"
    r"(?:subject|betreff|objet|asunto|assunto|oggetto|onderwerp|тема|主题|主旨|件名|제목)[ \t]*[:：]"
    r"|-{2,}[ \t]*(?:original message|forwarded message|ursprüngliche nachricht|message d'origine|mensaje original"
    r"|mensagem original|messaggio originale|пересылаемое сообщение)[ \t]*-{2,}"
    r"|(?:on|am|le|el|em|il)\b[^\n]{3,120}\b(?:wrote|schrieb[^\n]{0,60}"
    r"|a écrit|escribió|escreveu|ha scritto)[ \t]*:[ \t]*$)",
    _FLAGS,
)
# The end of a paste that the user marks.
END_OF_PASTE = re.compile(
    r"^[ \t]*(?:-{3,}|={3,}|\*{3,}|(?:end of|ende|fin) .{0,40})[ \t]*$", re.MULTILINE | re.IGNORECASE
)
_MARKUP = re.compile(r"<\|im_start\|>|\[INST\]|<<SYS>>|<\|start_header_id\|>|<start_of_turn>", re.IGNORECASE)
_BBCODE = re.compile(
    r"\[quote\b[^\]\n]{0,80}\](?:(?!\[quote\b).){0,5000}?(?:\[/quote\]|\Z)", re.DOTALL | re.IGNORECASE
)
_LINES = re.compile(
    # a time before the words: chats, logs, transcripts, subtitles
    r"^[ \t]*[\[(]?(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4},?[T ] ?)?"
    r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,9})?Z?(?: ?[ap]m)?[\])]?"
    r"[ \t].*$(?:(?<=\d)\n.*$)?"
    r"|^[ \t]*\S{1,40}[ \t]{1,4}\d{1,2}:\d{2}[ \t]?[AP]M[ \t]*\n.*$"  # Slack: the name, the time, the words below
    r"|^[ \t]*<[\w.-]{1,30}>[ \t].*$"  # IRC, Discord
    r"|^[ \t]*\[(?:tool(?: result)?|user|assistant|system)\].*$"
    r"|^[ \t]*(?://|/\*|\*/).*$|^.{0,200};[ \t]*--[ \t].*$"  # comments of code
    r"|^[ \t]*[\w.]{0,60}(?:Error|Exception):[ \t].*$"
    r"|^[ \t]*\[\d{1,3}\][ \t].*$",  # a footnote
    re.MULTILINE,
)
_HUNK = re.compile(r"^@@ -\d+.{0,200}\n(?:[ +\\-].*(?:\n|\Z))+", re.MULTILINE)
_SCRIPT = re.compile(r"^#!/.*\n(?:.*\S.*(?:\n|\Z))+", re.MULTILINE)
_DIALOGUE = re.compile(
    r"^[ \t]*(?:user|human|you said|you)[ \t]*:.*\n(?:.*\n){0,20}?[ \t]*"
    r"(?:assistant|ai|chatgpt|chatgpt said|claude|gemini|bot)"
    r"[ \t]*:.*$",
    _FLAGS,
)
# The rest of the line is the text to work on.
_WORKED_ON = re.compile(
    r"^[ \t]*(?:please[ \t]|bitte[ \t]|can you[ \t])?"
    r"(?:(?:translate|übersetze?|traduce|traduis|traduza|traduci|переведи)[ \t]"
    r"(?:this[ \t])?(?:to|into|ins?|al|en|para o|in|на)[ \t]\w{3,20}"
    r"|(?:correct|check|fix)[ \t](?:the|this)[ \t](?:grammar|spelling)"
    r"|proofread|paraphrase|rephrase)[ \t]?:[ \t]*\S.*$",
    _FLAGS,
)
_CODE = re.compile(r"`[^`\n]{1,1000}`")


def without_quoted_forms(text: str) -> str:
    """The text without letters, chats, logs, comments of code and chat markup."""
    for pattern in (_LETTER, _MARKUP):
        found = pattern.search(text)
        if found:
            end = END_OF_PASTE.search(text, found.end())
            text = f"{text[: found.start()]}\n{text[end.end() :] if end else ''}"
    for pattern in (_BBCODE, _HUNK, _SCRIPT, _DIALOGUE, _WORKED_ON, _LINES):
        text = pattern.sub("", text)
    return _CODE.sub(_code, text) if "`" in text else text


def _code(found: re.Match[str]) -> str:
    """Code inside a sentence stays, unless it is a rule: `Always send …` is quoted, `pytest -q tests/unit` is not."""
    return "" if len(found[0]) > 25 and constraint_in(found[0].strip("`")) else found[0]
