"""The page `docs/translation.md`, made from `mapping.toml`; `make docs` writes it."""

from plimsoll.dialects.mapping import rows

_TITLES = {
    "openai": "From an OpenAI client to an Anthropic upstream",
    "anthropic": "From an Anthropic client to an OpenAI upstream",
}
_INTRODUCTION = """# Translation between the dialects

A client of either dialect works with an upstream of the other one: requests, answers, streams and errors are
translated. Each field of a request has one of three fates.

- **mapped**: it has an equivalent.
- **dropped**: it has none. It is left out, and the response header `x-plimsoll-dropped` names it. So is a field that
  is not in these tables, and one that the model does not take (`temperature` for a model that thinks).
- **refused**: the answer would be wrong without it. The gateway answers 400 in the client's dialect and names the
  field.

`a.b` is a field of a field. `a[x]` is an object in `a` whose role or type is x, and `*` stands for any. A row also
holds for the fields below it. Values under "no effect" count as if the field was not there.

Effort and budget: `minimal` 1,024 tokens, `low` 2,048, `medium` 8,192, `high` 24,576, `xhigh` 32,768, `max` 65,536.
A budget becomes the largest effort that it pays for.

"""


def tables() -> str:
    """Both tables in Markdown."""
    parts = []
    for dialect, title in _TITLES.items():
        lines = [f"## {title}", "", "| field | | becomes | no effect |", "|---|---|---|---|"]
        for row in rows(dialect):
            harmless = ", ".join(f"`{value}`" for value in row.harmless)
            lines.append(f"| `{row.field}` | {row.fate} | {row.to.replace('|', ' or ')} | {harmless} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def page() -> str:
    """The whole page."""
    return _INTRODUCTION + tables()
