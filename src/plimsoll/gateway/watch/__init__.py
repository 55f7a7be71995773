"""What an operator sees: health, figures, lines, traces. Never what was said."""
