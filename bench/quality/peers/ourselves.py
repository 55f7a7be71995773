"""Plimsoll behind the same questions as a peer, for the table of faults.

    ContextCompressor ──► Auxiliary ──► HTTP ──► scripted server on loopback, which says what the script says

The whole way to the model is the real one: a cut-off answer or a tool call arrives as it does from a provider.
"""

import time
from pathlib import Path
from typing import Any

from script import TOOL_ARGUMENTS, TOOL_NAME, Script
from sizing import chars, text_of

from plimsoll import ContextCompressor, __version__
from plimsoll.dialects import ChatRequest
from plimsoll.models import card_for
from plimsoll.providers import Endpoint, Retries, Timeouts
from plimsoll.providers.auxiliary import Auxiliary, Candidate
from plimsoll.testing.scripted_server import Fault, ScriptedAnswer, ScriptedServer, call, fault, say

MODEL = "claude-haiku-4-5"
PATIENCE = 3.0


def compact(
    messages: list[dict[str, Any]], window: int, summary: str | None, summary_fault: str | None
) -> dict[str, Any]:
    """The answer that a worker would give."""
    script = Script(summary, summary_fault, chars(messages))
    started = time.perf_counter()
    if not script.has_model:
        result = ContextCompressor(context_length=window).compress(messages)
    else:
        with ScriptedServer(lambda request: _answer(script, request)) as server, _auxiliary(server) as writer:
            result = ContextCompressor(context_length=window, summarizer=writer).compress(messages)
    return {
        "id": None,
        "messages": result,
        "seconds": time.perf_counter() - started,
        "summary_calls": script.calls,
        "error": None,
        "version": __version__,
    }


def _auxiliary(server: ScriptedServer) -> Auxiliary:
    headers = (("anthropic-version", "2023-06-01"),)
    endpoint = Endpoint(
        "anthropic", server.anthropic_url, "anthropic", "any-key", MODEL, headers=headers, sent="x-api-key"
    )
    card = card_for(MODEL)
    return Auxiliary(
        (Candidate(endpoint, card, card.window, "configured"),),
        home=Path(),
        deadline=PATIENCE,
        retries=Retries(first_wait=0.001, longest_wait=0.002),
        timeouts=Timeouts(connect=PATIENCE),
    )


def _answer(script: Script, request: ChatRequest) -> ScriptedAnswer | Fault:
    prompt = text_of(request.messages[-1].get("content"))
    if script.fault in ("error", "timeout"):
        script.calls.append({"input_chars": len(prompt), "output_chars": 0})
        return fault("hang" if script.fault == "timeout" else "unavailable")
    reply = script.reply(prompt)
    if reply.is_tool_call:
        return call(TOOL_NAME, **TOOL_ARGUMENTS)
    if not reply.text:
        return fault("empty")
    return say(reply.text).ending("length") if reply.finish_reason == "length" else say(reply.text)
