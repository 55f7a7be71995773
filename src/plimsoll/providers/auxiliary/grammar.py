"""A grammar that forces a small model to use the summary's headings.

    root ::= "## Goal\\n" line "## Progress\\n### Done\\n" line …

Only the embedded server accepts one. The smallest models lose the headings or never stop; with the grammar each
section is one line of limited length.
"""

from plimsoll.context.ledger import NONE, SECTIONS, render_sections

_SHORTEST = 12
_CHARACTERS = 1.4  # for each token of the answer, over all lines; headings take the rest


def summary_grammar(max_tokens: int) -> str:
    """The grammar, in llama.cpp's notation, of a summary that fits into `max_tokens`."""
    longest = max(_SHORTEST, int(max_tokens * _CHARACTERS / len(SECTIONS)))
    lines = [
        "line" if line == NONE else f'"{line}\\n"'
        for line in render_sections({}).splitlines()
        if line.strip()
    ]
    return f'root ::= {" ".join(lines)}\nline ::= [A-Za-z0-9] [^\\n#]{{2,{longest}}} "\\n"\n'
