"""The message of each failure: what happened, the value, what to change."""

from collections.abc import Callable
from dataclasses import dataclass

from plimsoll.errors import (
    AuthenticationFailed,
    BadRequest,
    BrokenReply,
    ContextOverflow,
    EmptyReply,
    NetworkFailed,
    OutputCapExceeded,
    Overloaded,
    PayloadTooLarge,
    ProviderError,
    ProviderTimeout,
    QuotaExhausted,
    RateLimited,
    ServerFailed,
)
from plimsoll.models.providers import providers
from plimsoll.providers.keys import CUSTOM, GENERIC_VARIABLE


@dataclass(frozen=True, slots=True)
class ErrorSource:
    """Which provider failed, and its message without keys."""

    provider: str = ""
    model: str = ""
    status: int | None = None
    words: str = ""
    retry_after: float | None = None

    @property
    def title(self) -> str:
        """The provider's common name."""
        facts = providers().get(self.provider)
        if facts is None and self.provider == CUSTOM:
            return "the configured server"
        return facts.title if facts else self.provider or "the provider"

    @property
    def who(self) -> str:
        """The provider at the start of a sentence."""
        return self.title[:1].upper() + self.title[1:]

    @property
    def quoted(self) -> str:
        """Status and message in brackets; empty if there is neither."""
        inner = ": ".join(part for part in (str(self.status or ""), self.words) if part)
        return f" ({inner})" if inner else ""

    @property
    def subject(self) -> str:
        """The model and its provider."""
        return f"{self.model} at {self.title}" if self.model else self.title


def _key(source: ErrorSource) -> str:
    facts = providers().get(source.provider)
    variables = [key.variable for key in facts.keys] if facts else []
    known = GENERIC_VARIABLE if source.provider == CUSTOM else "the provider's key variable"
    where = variables[0] if variables else known
    return f"{source.who} rejected the key{source.quoted}; check {where}."


def _wait(source: ErrorSource) -> str:
    wait = f"; it asks to wait {source.retry_after:,.0f} s" if source.retry_after is not None else ""
    return (
        f"{source.who} accepts no more requests for now{source.quoted}{wait}. "
        "Wait, or choose another model.provider."
    )


def _timeout(source: ErrorSource) -> str:
    return f"{source.who} did not answer in time{source.quoted}. Try again, or choose another model."


_KINDS: dict[str, tuple[type[ProviderError], Callable[[ErrorSource], str]]] = {
    "overflow": (ContextOverflow, lambda said: f"The request is too long for {said.subject}{said.quoted}."),
    "output_cap": (
        OutputCapExceeded,
        lambda said: (
            f"The requested output is longer than {said.subject} allows{said.quoted}; "
            "lower model.max_output_tokens."
        ),
    ),
    "payload": (
        PayloadTooLarge,
        lambda said: (
            f"The request has too many bytes or images for {said.subject}{said.quoted}; "
            "remove images or large results."
        ),
    ),
    "refused": (BadRequest, lambda said: f"{said.who} rejected the request{said.quoted}."),
    "unknown_address": (
        BadRequest,
        lambda said: (
            f"{said.who} does not know {said.model or 'this model'} or this address{said.quoted}; "
            "check model.name and model.base_url."
        ),
    ),
    "auth": (AuthenticationFailed, _key),
    "quota": (
        QuotaExhausted,
        lambda said: (
            f"{said.who} reports that the account has no credit left{said.quoted}; "
            "add credit, or choose another model.provider."
        ),
    ),
    "rate": (RateLimited, _wait),
    "overloaded": (
        Overloaded,
        lambda said: f"{said.who} is overloaded{said.quoted}. Try again later, or choose another model.",
    ),
    "conflict": (ServerFailed, lambda said: f"{said.who} reported a conflict{said.quoted}. Try again."),
    "server": (ServerFailed, lambda said: f"{said.who} failed{said.quoted}. Try again later."),
    "network": (
        NetworkFailed,
        lambda said: f"{said.who} cannot be reached{said.quoted}; check the network and model.base_url.",
    ),
    "timeout": (ProviderTimeout, _timeout),
    "broken": (
        BrokenReply,
        lambda said: f"The reply of {said.subject} is malformed{said.quoted}. Try again.",
    ),
    "empty": (EmptyReply, lambda said: f"{said.subject} returned an empty reply{said.quoted}. Try again."),
}


def error_for(
    kind: str,
    source: ErrorSource,
    *,
    limit: int | None = None,
    requested: int | None = None,
    output: int | None = None,
) -> ProviderError:
    """The error of a kind with its message; the numbers are for an overflow, an output cap and images."""
    error_type, sentence = _KINDS[kind]
    if kind == "overflow":
        text = _overflow(source, limit, requested, output)
    elif kind == "output_cap" and limit is not None:
        text = (
            f"{source.subject} writes at most {limit:,} tokens in one answer; "
            f"set model.max_output_tokens to {limit} or less."
        )
    else:
        text = sentence(source)
    error = error_type(
        text,
        provider=source.provider,
        model=source.model,
        status=source.status,
        retry_after=source.retry_after,
    )
    if isinstance(error, ContextOverflow):
        error.limit, error.requested, error.output = limit, requested, output
    elif isinstance(error, OutputCapExceeded):
        error.limit = limit
    elif isinstance(error, PayloadTooLarge):
        error.images = limit
    return error


def _overflow(source: ErrorSource, limit: int | None, requested: int | None, output: int | None) -> str:
    if limit is None:
        return (
            f"The request is too long for {source.subject}{source.quoted}. "
            "Compact the conversation, or choose a model with a larger window."
        )
    count = f"{requested:,} tokens" if requested is not None else "too many tokens"
    answer = f", {output:,} of them reserved for the reply" if output else ""
    return (
        f"The request has {count}{answer}; {source.subject} accepts {limit:,}. "
        "Compact the conversation, or choose a model with a larger window."
    )
