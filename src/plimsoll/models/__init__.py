"""Facts about models, token counting without a tokenizer, and calibration by reported usage."""

from plimsoll.models.anchor import UsageAnchor
from plimsoll.models.betas import limiting_betas
from plimsoll.models.cards import DEFAULT_WINDOW, CacheRules, ModelCard, Prices, unknown_model_notice
from plimsoll.models.catalogue import card_for, shipped_cards
from plimsoll.models.counting import (
    estimate_message_tokens,
    estimate_messages_tokens_rough,
    estimate_tokens,
    estimate_tools_tokens,
)
from plimsoll.models.media_facts import media_bytes

__all__ = [
    "DEFAULT_WINDOW",
    "CacheRules",
    "ModelCard",
    "Prices",
    "UsageAnchor",
    "card_for",
    "estimate_message_tokens",
    "estimate_messages_tokens_rough",
    "estimate_tokens",
    "estimate_tools_tokens",
    "limiting_betas",
    "media_bytes",
    "shipped_cards",
    "unknown_model_notice",
]
