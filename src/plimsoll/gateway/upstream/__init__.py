"""The upstream of a request: its provider, its key and its connections."""
