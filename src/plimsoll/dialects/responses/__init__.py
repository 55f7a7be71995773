"""OpenAI's Responses API, both directions: as its client and as a server that speaks it."""
