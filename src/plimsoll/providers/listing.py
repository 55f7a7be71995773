"""Lists the models of a server on this machine or network, with a short timeout."""

import httpx

from plimsoll.dialects import dialect_at
from plimsoll.providers.endpoint import is_loopback

PROBE = 0.2  # seconds: a server on this machine answers in a few milliseconds


async def served_models(base_url: str) -> tuple[str, ...] | None:
    """The models of the server at an address; None if no server answers in time."""
    try:
        async with _client(base_url) as http:
            response = await http.get(dialect_at(base_url).models_url(base_url))
            data = response.raise_for_status().json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
    listed = data.get("data") if isinstance(data, dict) else None
    models = listed if isinstance(listed, list) else []
    return tuple(str(model["id"]) for model in models if isinstance(model, dict) and model.get("id"))


def _client(base_url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        timeout=PROBE,
        verify=base_url.startswith("https:"),  # certificates are slow to load and useless without TLS
        trust_env=not is_loopback(base_url),
    )
