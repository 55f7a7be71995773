"""Fixtures for the whole suite."""

pytest_plugins = ["embedded_model"]
