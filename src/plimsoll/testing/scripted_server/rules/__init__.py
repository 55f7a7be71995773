"""What providers refuse, and the words that they use."""
