"""Writes `docs/translation.md` from `mapping.toml`: `python site/translation.py > docs/translation.md`."""

from plimsoll.dialects import dialects
from plimsoll.dialects.mapping import rows

_TITLES = {
    "openai": "From a client of OpenAI chat completions",
    "anthropic": "From a client of Anthropic messages",
    "gemini": "From a client of Gemini's generateContent",
    "responses": "From a client of OpenAI Responses",
}
_INTRODUCTION = """# Translation between the dialects

A client of each dialect works with upstreams of the others. The gateway translates requests, replies, streams
and errors. It handles each request field in one of three ways:

- **mapped**: the field has an equivalent.
- **dropped**: the field has no equivalent. It is omitted and listed in the response header `x-plimsoll-dropped`.
  Fields that are not in these tables are dropped too, and so are fields that the model does not accept
  (`temperature` for a reasoning model).
- **refused**: the answer would be wrong without the field. The gateway returns 400 in the client's dialect and names
  the field.

`a.b` is field `b` of `a`. `a[x]` is an object in `a` whose role or type is `x`; `*` matches any. A row also applies
to nested fields. A row with an upstream in parentheses applies to that upstream only. A value under "no effect" is
treated as if the field were missing.

Each client's dialect has a table. "becomes" names fields of OpenAI's or Anthropic's dialect. For a Gemini upstream:

- The system prompt becomes `systemInstruction`. System messages later in the conversation become user text in
  `<system-message>` tags.
- Messages become `contents`; images and files become `inlineData` (base64) or `fileData` (URLs).
- Tool calls and results become `functionCall` and `functionResponse` with their ids. A result is `{"output": …}` or
  `{"error": …}`.
- OpenAI clients get the signature of a call as `extra_content.google.thought_signature` and should send it back. From
  Gemini 3 on, a call without one gets Google's value that skips the check.
- Tools become `functionDeclarations`, `tool_choice` becomes `toolConfig.functionCallingConfig`.
- Limit, temperature, top_p, stop (the first five), effort and the answer's schema become fields of
  `generationConfig`.
- `parallel_tool_calls: false`, `user` and thinking that the client sends back are dropped.

Effort and budget: `minimal` 1,024 tokens, `low` 2,048, `medium` 8,192, `high` 24,576, `xhigh` 32,768, `max` 65,536.
A budget becomes the largest effort that fits it.

"""


def tables() -> str:
    """The tables in Markdown."""
    missing = [dialect.name for dialect in dialects() if dialect.name not in _TITLES]
    if missing:
        raise SystemExit(f"Dialects without a title in _TITLES of site/translation.py: {', '.join(missing)}.")
    parts = []
    for dialect, title in _TITLES.items():
        lines = [f"## {title}", "", "| field | | becomes | no effect |", "|---|---|---|---|"]
        for row in rows(dialect):
            harmless = ", ".join(f"`{value}`" for value in row.harmless)
            only = f" ({row.upstream})" if row.upstream else ""
            lines.append(f"| `{row.field}`{only} | {row.fate} | {row.to.replace('|', ' or ')} | {harmless} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def page() -> str:
    """The whole page."""
    return _INTRODUCTION + tables()


if __name__ == "__main__":
    print(page(), end="")
