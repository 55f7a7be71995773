"""The HTTP server: the endpoints for other programs."""
