"""What providers refuse, with their error messages."""
