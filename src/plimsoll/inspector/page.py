"""Builds the page: an empty shell, one script and one style sheet, or everything with its data in one file.

    served       shell ─► app.js, app.css ─► data over HTTP, with a key in a header
    standalone   everything inline, data as JSON: no requests

The script is its parts joined in the order of `SCRIPTS`, each in its own function, so no build step is needed. A
content security policy forbids everything else, in the standalone file too.
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from plimsoll.models import Prices, shipped_cards

SCRIPTS = (
    "vendor/preact.js",
    "vendor/htm.js",
    "vendor/diff.js",
    "text.js",
    "numbers.js",
    "requests.js",
    "source.js",
    "dialogs.js",
    "list.js",
    "chart.js",
    "timeline.js",
    "message.js",
    "messages.js",
    "compaction.js",
    "simulate.js",
    "cache.js",
    "actions.js",
    "search.js",
    "app.js",
)
STYLES = ("page.css", "parts.css")
_POLICY = (
    "default-src 'none'; {scripts}; {styles}; {connections}; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGE_HEADERS = {
    "content-security-policy": _POLICY.format(
        scripts="script-src 'self'", styles="style-src 'self'", connections="connect-src 'self'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page; `version` changes with its content."""

    content: bytes
    media_type: str
    version: str


@cache
def script() -> Asset:
    """All scripts as one, after the model facts that they use."""
    facts = f"globalThis.Plimsoll = {{ models: {json.dumps(model_facts(), separators=(',', ':'))} }};"
    return _asset("\n".join([facts, *(_wrapped(name) for name in SCRIPTS)]), "text/javascript")


@cache
def stylesheet() -> Asset:
    """All styles as one."""
    return _asset("\n".join(_read(name) for name in STYLES), "text/css")


@cache
def shell() -> bytes:
    """The page without any data."""
    head = (
        f'<link rel="stylesheet" href="/inspect/app.css?v={stylesheet().version}">'
        f'<script defer src="/inspect/app.js?v={script().version}"></script>'
    )
    return _page(head, "").encode()


def standalone(data: Any) -> bytes:
    """The page and its data in one file, which needs no server and sends no requests."""
    code, style = script().content.decode(), stylesheet().content.decode()
    policy = _POLICY.replace(" frame-ancestors 'none';", "").format(
        scripts=f"script-src '{_digest(code)}'",
        styles=f"style-src '{_digest(style)}'",
        connections="connect-src 'none'",
    )
    head = f'<meta http-equiv="content-security-policy" content="{policy}"><style>{style}</style>'
    # `<` is the only sign that could end the element early.
    stored = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    body = f'<script type="application/json" id="data">{stored}</script><script>{code}</script>'
    return _page(head, body).encode()


def model_facts() -> dict[str, dict[str, Any]]:
    """Window, prices and cache rules of models with prices, for the page's what-if."""
    facts = {}
    for card in sorted(shipped_cards(), key=lambda item: item.name):
        if not card.prices.input:
            continue
        facts[card.name] = {
            "window": card.window,
            "input_cap": card.input_cap,
            "prices": _listed(card.prices),
            "long": card.long_prompt,
            "long_prices": _listed(card.long_prices) if card.long_prices else None,
            "style": card.cache.style,
            "minimum": card.cache.minimum,
            "lifetimes": list(card.cache.lifetimes),
        }
    return facts


def _listed(prices: Prices) -> list[float]:
    return [prices.input, prices.output, prices.cache_read, prices.write_5m, prices.write_1h]


def _page(head: str, body: str) -> str:
    return _read("shell.html").replace("<!-- head -->", head).replace("<!-- body -->", body)


def _read(name: str) -> str:
    return files("plimsoll.inspector").joinpath("assets", name).read_text("utf-8")


def _wrapped(name: str) -> str:
    """A script in its own scope. A `</script` in a string would end an inline script."""
    code = _read(name).replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return f"/* {name} */\n(function () {{\n{code}\n}}).call(globalThis);"


def _asset(text: str, media_type: str) -> Asset:
    content = text.encode()
    return Asset(content, media_type, hashlib.sha256(content).hexdigest()[:16])


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
