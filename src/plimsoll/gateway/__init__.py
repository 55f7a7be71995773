"""HTTP in: the endpoints that other programs talk to."""
