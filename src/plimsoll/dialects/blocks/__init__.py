"""Pieces of a conversation: canonical parts and calls ⇄ Anthropic content blocks."""
