"""The embedded model: downloaded once, served on loopback by a separate process."""

from plimsoll.providers.local.fetch import fetch_model
from plimsoll.providers.local.model import (
    DEFAULT_CONTEXT,
    EmbeddedModel,
    embedded_model,
    is_fetched,
    is_model_file,
    model_path,
)
from plimsoll.providers.local.server import LocalServer, can_serve, shared_server, stop_shared

__all__ = [
    "DEFAULT_CONTEXT",
    "EmbeddedModel",
    "LocalServer",
    "can_serve",
    "embedded_model",
    "fetch_model",
    "is_fetched",
    "is_model_file",
    "model_path",
    "shared_server",
    "stop_shared",
]
