"""Model requests: one client for every provider, typed errors, model resolution, and the embedded model."""

from plimsoll.models.providers import KeyVariable, ProviderFacts, provider_at, providers
from plimsoll.providers.client import Client, ReplyStream
from plimsoll.providers.connect import connect
from plimsoll.providers.endpoint import Endpoint, in_mode, model_at
from plimsoll.providers.failures import classify
from plimsoll.providers.keys import address_of, find_key
from plimsoll.providers.listing import served_models
from plimsoll.providers.local import LocalServer, fetch_model
from plimsoll.providers.resolve import Resolution, ResolutionStep, resolve
from plimsoll.providers.retry import Retries
from plimsoll.providers.transport import Timeouts

__all__ = [
    "Client",
    "Endpoint",
    "KeyVariable",
    "LocalServer",
    "ProviderFacts",
    "ReplyStream",
    "Resolution",
    "ResolutionStep",
    "Retries",
    "Timeouts",
    "address_of",
    "classify",
    "connect",
    "fetch_model",
    "find_key",
    "in_mode",
    "model_at",
    "provider_at",
    "providers",
    "resolve",
    "served_models",
]
