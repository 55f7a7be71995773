"""Conversations that try to act in a page that shows them: scripts, links, escapes, tricks with direction, and size.

Each text calls `hit()` in one way if it is ever run. The tests define that function before the page starts.
"""

from typing import Any

Message = dict[str, Any]

MARKUP = {
    "script": "<script>hit('script')</script>",
    "script that ends one": "</script><script>hit('end')</script>",
    "image": "<img src=x onerror=hit('image')>",
    "svg": "<svg onload=hit('svg')><script>hit('inner')</script></svg>",
    "frame": "<iframe srcdoc=\"<script>parent.hit('frame')</script>\"></iframe>",
    "body": "<body onload=hit('body')>",
    "details": "<details open ontoggle=hit('details')>x</details>",
    "input": "<input autofocus onfocus=hit('input')>",
    "style": "<style>*{display:none!important}</style>",
    "style with script": "<div style=\"background:url('javascript:hit(1)')\">x</div>",
    "base": "<base href='https://evil.example.org/'>",
    "refresh": "<meta http-equiv=refresh content='0;url=https://evil.example.org/'>",
    "form": "<form action='https://evil.example.org/'><button>go</button></form>",
    "object": "<object data='javascript:hit(2)'></object><embed src='javascript:hit(3)'>",
    "template": "${hit('template')} {{hit('mustache')}} <%= hit('erb') %>",
    "comment": "<!-- <script>hit('comment')</script> --> ]]>",
    "entities": "&lt;script&gt;hit('entity')&lt;/script&gt; &#60;img src=x onerror=hit(4)&#62;",
    "math": "<math><mtext><table><mglyph><style><img src=x onerror=hit('math')>",
    "null bytes": "<scr\u0000ipt>hit('null')</scr\u0000ipt>",
}
LINKS = {
    "javascript link": "<a href=\"javascript:hit('link')\">click</a>",
    "javascript markdown": "[click](javascript:hit('markdown'))",
    "data link": "[click](data:text/html,<script>hit('data')</script>)",
    "file link": "[click](file:///etc/passwd) vscode://file/etc/passwd ms-msdt:/id",
    "plain link": "https://evil.example.org/?q=1 http://127.0.0.1:9/",
    "markdown image": "![x](https://evil.example.org/pixel.png)",
    "reference": '[a]: javascript:hit(5) "x"\n[a]',
    "html in markdown": "# Title\n\n<img src=x onerror=hit(6)>\n\n```html\n</code></pre><script>hit(7)</script>\n```",
}
SIGNS = {
    "terminal colours": "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x1b[H",
    "terminal link": "\x1b]8;;https://evil.example.org\x1b\\click\x1b]8;;\x1b\\",
    "backspaces": "good\b\b\b\bevil\r overwritten",
    "override": "invoice\u202efdp.exe",
    "isolates": "\u2067\u2066 if (isAdmin) { \u2069\u2066 // check",
    "embedding without end": "\u202b\u202a\u202d" * 50 + "text",
    "zero width": "pass\u200bword\u2060\ufeff\u00ad",
    "tags": "plain" + "".join(chr(0xE0000 + ord(letter)) for letter in "hidden"),
    "separators": "one\u2028two\u2029three",
    "many marks": "Z" + "\u0300\u0316\u0334" * 300 + "algo",
    "right to left": "שלום " * 40 + "مرحبا " * 40,
    "vertical": "\u1160\u115f\u3164\uffa0",
    "pictures": "👩‍👩‍👧‍👦 🏴‍☠️ 👍🏽",
}
SIZES = {
    "one line": "x" * 300_000,
    "one word with spaces": "a " * 100_000,
    "many lines": "\n" * 20_000 + "end",
    "many signs": "\u202e" * 3_000,
    "deep brackets": "[" * 30_000,
    "wide table": "|" + " cell |" * 4_000,
}
TEXTS = {**MARKUP, **LINKS, **SIGNS, **SIZES}


def conversation() -> list[Message]:
    """Every text as something that a person, a model and a tool said, and as a call."""
    messages: list[Message] = [{"role": "system", "content": "<script>hit('system')</script>"}]
    for number, text in enumerate(TEXTS.values()):
        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": "look", "arguments": text[:2_000]},
        }
        messages += [
            {"role": "user", "content": text},
            {
                "role": "assistant",
                "content": text[:2_000],
                "reasoning_content": text[:2_000],
                "tool_calls": [call],
            },
            {"role": "tool", "tool_call_id": f"call_{number}", "content": text},
        ]
    messages.append({"role": "assistant", "content": "Done."})
    return messages
