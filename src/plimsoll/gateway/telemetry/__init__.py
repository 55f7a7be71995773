"""Health, metrics, log and traces for operators. Never contains message contents by default."""
