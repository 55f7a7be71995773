"""What an operator sees: health, metrics, log, traces. Never what was said."""
