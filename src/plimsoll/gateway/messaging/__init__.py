"""Messaging platforms: each room or chat is one conversation."""
