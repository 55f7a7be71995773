"""OpenAI's Responses API, as a client and as a server."""
