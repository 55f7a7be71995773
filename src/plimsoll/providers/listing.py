"""Lists the models of a server on this machine or network, with a short timeout."""

import httpx

from plimsoll.dialects import dialect_at
from plimsoll.providers.endpoint import is_loopback

PROBE = 0.2  # seconds: a server on this machine answers in a few milliseconds


async def served_models(base_url: str) -> tuple[str, ...] | None:
    """The models of the server at an address; None if no server answers in time."""
    dialect = dialect_at(base_url)
    try:
        async with _client(base_url) as http:
            response = await http.get(dialect.models_url(base_url))
            return tuple(dialect.model_names(response.raise_for_status().json()))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None


def _client(base_url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        timeout=PROBE,
        verify=base_url.startswith("https:"),  # certificates are slow to load and useless without TLS
        trust_env=not is_loopback(base_url),
    )
