"""Finds private keys in PEM form, however a tool prints their lines.

         1→-----BEGIN RSA PRIVATE KEY-----        as file readers number them
    +MIIEpAIBAAKCAQEA…                            in a diff
    key.pem:3:MIIEpAIBAAKCAQEA…                   from grep -n
    "-----BEGIN PRIVATE KEY-----\\nMIIE…"         in JSON

The marker lines stay; the lines between them are redacted. If a key is truncated at either end, the part that is
present is redacted.
"""

import re

from plimsoll.secrets.assigned import MARK

PEM = re.compile(
    r"(?P<begin>-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)"
    r"(?P<body>(?:[A-Za-z0-9+/=\s:,.\"]|\\{1,3}[nr]|-(?!-))*+)"
    r"(?P<end>-----END )?"
)
_PEM_LINES = re.compile(r"(?:\s|\\{1,3}[nr]|[A-Za-z0-9+/=]{24,}+)*+[A-Za-z0-9+/=]{0,23}+")
_PEM_LINE = re.compile(r"[A-Za-z0-9+/=]{24}")
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
# Prefixes that tools add to a line: a file name, a number, a diff sign, a quotation mark.
PREFIX = re.compile(
    r"[ \t]{0,12}(?:[\w./@~+-]{1,200}?[:-](?=\d))?(?:\d{1,7}[ \t]{0,4}[→|:\t)-][ \t]{0,4}|\d{1,7}[ \t]{1,4})?"
    r"(?:[+> |-][ \t]{0,4}){0,3}"
)
_ENDS = " \t\"',\\$"  # what tools add after a line: quotation marks, and `$` by `cat -A`
_BODY = re.compile(r"[A-Za-z0-9+/]{1,100}={0,2}|(?:Proc-Type|DEK-Info|Version|Comment|Hash): .{0,100}|")


def without_private_keys(text: str) -> str:
    """The text with the bodies of private keys redacted."""
    if "\n" in text:
        lines = text.splitlines(keepends=True)
        gone = _key_lines(lines)
        text = "".join(_bodiless(line) if number in gone else line for number, line in enumerate(lines))
    return _without_ends(PEM.sub(_whole, text))


def _without_ends(text: str) -> str:
    """The text without what stands before a closing marker whose opening marker was cut off, all in one line."""
    kept: list[str] = []
    done = 0
    for found in _END.finditer(text):
        start = found.start()
        while start > done and (text[start - 1] in _ALPHABET or _is_escape(text, start)):
            start -= 1
        body = text[start : found.start()]
        if _PEM_LINE.search(body) and "\n" not in body:
            kept += [text[done:start], MARK]
            done = found.start()
    return "".join((*kept, text[done:])) if kept else text


def _is_escape(text: str, end: int) -> bool:
    return text[end - 1] == "\\" and text[end : end + 1] in ("n", "r", "\\")


def _whole(found: re.Match[str]) -> str:
    body = found["body"]
    if not _PEM_LINE.search(body):
        return found[0]
    if found["end"]:
        return f"{found['begin']}{MARK}{found['end']}"
    # A truncated key: redact the lines that look like a key and keep those after it.
    lines = _PEM_LINES.match(body)
    return f"{found['begin']}{MARK}{body[lines.end() if lines else 0 :]}"


def _key_lines(lines: list[str]) -> set[int]:
    """The numbers of the lines with parts of a key, after any prefix that a tool added."""
    gone: set[int] = set()
    for number, line in enumerate(lines):
        if _BEGIN.search(line) and not _END.search(line):
            gone |= _run(lines, range(number + 1, len(lines)))
        elif _END.search(line) and number - 1 not in gone:
            gone |= _run(lines, range(number - 1, -1, -1))
    if all(_starts_bare(lines[number]) for number in gone):
        # Unprefixed lines are redacted as one block, unless only the end of the key is present.
        return gone if not any(map(_BEGIN.search, lines)) else set()
    return gone


def _starts_bare(line: str) -> bool:
    prefix = PREFIX.match(line)
    return (not prefix or not prefix[0].strip()) and not line.rstrip("\r\n").endswith("$")


def _run(lines: list[str], numbers: range) -> set[int]:
    """The lines with parts of a key, starting at a marker; empty if the first lines have none."""
    found: set[int] = set()
    for number in numbers:
        line = lines[number].rstrip("\r\n")
        if "-----" in line or not _is_body(line):
            break
        if _body_of(line):
            found.add(number)
    return found if any(len(_body_of(lines[number].rstrip("\r\n"))) >= 16 for number in found) else set()


def _is_body(line: str) -> bool:
    prefix = PREFIX.match(line)
    return bool(_BODY.fullmatch(line[prefix.end() if prefix else 0 :].rstrip(_ENDS))) or not line.strip()


def _body_of(line: str) -> str:
    prefix = PREFIX.match(line)
    return line[prefix.end() if prefix else 0 :].rstrip(_ENDS)


def _bodiless(line: str) -> str:
    bare = line.rstrip("\r\n")
    body = _body_of(bare)
    return line.replace(body, MARK, 1) if body else line
