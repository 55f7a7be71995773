"""The rules by which providers reject requests, with their error messages."""
