"""One file per peer: its own message types, its real entry point, back to OpenAI chat dicts."""
