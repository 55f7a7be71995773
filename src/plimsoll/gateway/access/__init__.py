"""The door: keys, limits, and who owns what."""
