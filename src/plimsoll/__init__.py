"""Plimsoll keeps the conversations of LLM agents within their model's context window.

The names below are the whole public API. They load on first use, so that `import plimsoll` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from plimsoll.caching import apply_anthropic_cache_control
    from plimsoll.context import ContextCompressor, ContextEngine, Summarizer
    from plimsoll.messages import Message, Violation, repair, validate
    from plimsoll.models import estimate_messages_tokens_rough
    from plimsoll.plugins import register_context_engine
    from plimsoll.request_compaction import compact

_HOME_OF = {
    "ContextCompressor": "plimsoll.context",
    "ContextEngine": "plimsoll.context",
    "Message": "plimsoll.messages",
    "Summarizer": "plimsoll.context",
    "Violation": "plimsoll.messages",
    "apply_anthropic_cache_control": "plimsoll.caching",
    "compact": "plimsoll.request_compaction",
    "estimate_messages_tokens_rough": "plimsoll.models",
    "register_context_engine": "plimsoll.plugins",
    "repair": "plimsoll.messages",
    "validate": "plimsoll.messages",
}

__all__ = [
    "ContextCompressor",
    "ContextEngine",
    "Message",
    "Summarizer",
    "Violation",
    "__version__",
    "apply_anthropic_cache_control",
    "compact",
    "estimate_messages_tokens_rough",
    "register_context_engine",
    "repair",
    "validate",
]


def __getattr__(name: str) -> Any:
    """Load a public name from the package that defines it."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
