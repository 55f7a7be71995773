"""Clients for the scripted server: the official SDKs, and plain httpx where the wire itself is looked at."""

import contextlib

import anthropic
import httpx
import openai

CLAUDE = "claude-sonnet-5"
BOUND = "claude-opus-5-5"  # a model with preserved thinking
GPT = "gpt-4o"
DIALECTS = ("openai", "anthropic")
OPENAI_TOOL = {
    "type": "function",
    "function": {
        "name": "terminal",
        "description": "Runs a command.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
    },
}
ANTHROPIC_TOOL = {
    "name": "terminal",
    "description": "Runs a command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}
HI = [{"role": "user", "content": "hi"}]


@contextlib.contextmanager
def sdks(server, retries=0):
    """Both SDKs, talking to the server."""
    with (
        openai.OpenAI(base_url=server.openai_url, api_key="sk-test", max_retries=retries) as o,
        anthropic.Anthropic(base_url=server.anthropic_url, api_key="sk-test", max_retries=retries) as a,
    ):
        yield o, a


def body_for(dialect, **more):
    """The body of a small request."""
    body = {"model": CLAUDE, "max_tokens": 500} if dialect == "anthropic" else {"model": GPT}
    return {**body, "messages": HI, **more}


def post(server, dialect, body=None, headers=None, timeout=60, **more):
    """One request over plain HTTP."""
    path = "/v1/messages" if dialect == "anthropic" else "/v1/chat/completions"
    own = {"anthropic-version": "2023-06-01", "x-api-key": "k"} if dialect == "anthropic" else {}
    wanted = body_for(dialect, **more) if body is None else body
    with plain_client(timeout) as client:
        return client.post(server.url + path, json=wanted, headers={**own, **(headers or {})})


def plain_client(timeout=60):
    """A client without certificates, which take longer to load than a test to run."""
    return httpx.Client(verify=False, trust_env=False, timeout=timeout)


def error_of(response):
    """The error object of a failed request, in either dialect."""
    return response.json()["error"]


def ask(client, **more):
    """The same small question through either SDK."""
    if isinstance(client, openai.OpenAI):
        return client.chat.completions.create(**{"model": GPT, "messages": HI, **more})
    return client.messages.create(**{"model": CLAUDE, "max_tokens": 500, "messages": HI, **more})
