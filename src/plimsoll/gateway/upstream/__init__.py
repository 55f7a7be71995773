"""Where requests go: which provider, with whose key, over which connection."""
