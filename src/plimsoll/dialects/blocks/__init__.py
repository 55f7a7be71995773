"""Canonical parts and calls ⇄ Anthropic content blocks."""
