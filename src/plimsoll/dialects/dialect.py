"""A wire format as one object: all that the gateway, the providers and the scripted server need to speak it.

    where it is spoken   path_prefixes · answer_paths · url() · models_url() · key_header
    a request's body     model_of() · is_stream() · lead() · messages() · canonical() · with_messages()
    caching and usage    mark() · keep_rolling() · usage_of_event() · usage()
    translation          decode_request() · encode_request() · decode_reply() · encode_reply() · decoder() · encoder()
    errors               error_body() · failure_event() · error_fields()

To add a dialect, derive a class, implement what is abstract, and pass an instance to `register_dialect`. What has a
body here fits wire formats like OpenAI's and Anthropic's: `messages`, `model` and `stream` are fields of the body.
An instance keeps no state, so a worker process may have its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from plimsoll.dialects.addresses import path_pattern
from plimsoll.dialects.answer_limits import fitted_budget, whole_number
from plimsoll.dialects.interfaces import (
    Body,
    CacheMarking,
    MarkedBody,
    Rendered,
    ReplyDecoder,
    ReplyEncoder,
    WireMessage,
)
from plimsoll.dialects.mapping import Findings
from plimsoll.dialects.reply import Reply
from plimsoll.dialects.request import ChatRequest, Tool
from plimsoll.dialects.sse import SseEvent
from plimsoll.dialects.usage import Usage
from plimsoll.messages import Message
from plimsoll.messages.validate import Wire
from plimsoll.models import ModelCard


class Dialect(ABC):
    """One wire format."""

    name: ClassVar[str]  # in settings, data files and records
    title: ClassVar[str]  # whose wire format it is, for sentences
    provider: ClassVar[str] = ""  # who serves its clients when nothing is configured
    api_mode: ClassVar[str]  # what plugins call it
    validation: ClassVar[Wire] = "openai"  # the rules of `plimsoll.validate` that its conversations follow

    path_prefixes: ClassVar[tuple[str, ...]]  # paths that no other dialect has
    answer_paths: ClassVar[tuple[str, ...]]  # routes that ask for an answer
    count_paths: ClassVar[tuple[str, ...]] = ()  # routes that count tokens
    models_paths: ClassVar[tuple[str, ...]] = ("/v1/models",)  # several dialects may share them
    own_headers: ClassVar[tuple[str, ...]] = ()  # headers that only clients of this dialect send
    beta_header: ClassVar[str] = ""  # the header that asks for betas
    key_header: ClassVar[str] = "authorization"
    key_prefix: ClassVar[str] = "Bearer "
    takes_bearer: ClassVar[bool] = True  # whether its servers take a key as `Authorization: Bearer` too
    key_parameter: ClassVar[str] = ""  # the query parameter that may carry the key instead of the header

    session_headers: ClassVar[tuple[str, ...]] = ()  # that identify a conversation of its clients, best first
    keeps_replies: ClassVar[bool] = False  # whether a request may continue an earlier reply by its id
    messages_field: ClassVar[str] = "messages"
    limit_fields: ClassVar[tuple[str, ...]] = ("max_tokens",)
    needs_limit: ClassVar[bool] = False  # whether every request must limit its answer
    takes_effort: ClassVar[bool] = False  # whether the effort of thinking is a word
    takes_markers: ClassVar[bool] = False  # whether requests carry cache markers
    native_markers: ClassVar[bool] = False  # whether tool messages and calls carry them too
    usage_field: ClassVar[str] = "usage"
    text_fields: ClassVar[tuple[str, ...]] = ("content", "text")  # that hold an answer's words in a reply
    # Whether a conversation in a file may have other fields beside the messages.
    open_documents: ClassVar[bool] = False
    is_canonical: ClassVar[bool] = False  # whether its messages are the canonical ones
    has_end_mark: ClassVar[bool] = False  # whether events may follow the one that completes a reply
    opening_events: ClassVar[frozenset[str]] = (
        frozenset()
    )  # after which a stream may still report an overflow
    takes_comments: ClassVar[bool] = True  # whether its clients skip comments in a stream

    def __repr__(self) -> str:
        return f"<dialect {self.name}>"

    # Where it is spoken

    def is_answer_path(self, path: str) -> bool:
        """Whether a path asks for an answer."""
        return any(path_pattern(written).fullmatch(path) for written in self.answer_paths)

    def is_count_path(self, path: str) -> bool:
        """Whether a path counts the tokens of a request."""
        return any(path_pattern(written).fullmatch(path) for written in self.count_paths)

    def path_values(self, path: str) -> dict[str, str] | None:
        """The values in a path of `answer_paths` or `count_paths`, by their names; None for any other path."""
        routes = (*self.answer_paths, *self.count_paths)
        found = (path_pattern(written).fullmatch(path) for written in routes)
        return next((match.groupdict() for match in found if match), None)

    @abstractmethod
    def url(self, base_url: str, model: str, is_stream: bool) -> str:
        """The address that answers requests for this model."""

    @abstractmethod
    def models_url(self, base_url: str) -> str:
        """The address that lists the models."""

    def count_url(self, base_url: str, model: str) -> str:
        """The address that counts the tokens of a request."""
        return f"{self.url(base_url, model, False)}/count_tokens"

    def serves_address(self, base_url: str) -> bool:
        """Whether the address alone shows that this dialect is spoken there."""
        return False

    def local_url(self, root: str) -> str:
        """The base URL on a server that offers every dialect under one root."""
        return root

    def auth(self, key: str) -> tuple[str, str]:
        """The header that carries a key."""
        return self.key_header, self.key_prefix + key

    # A request's body

    def model_of(self, body: Body, path: str) -> str:
        """The model that a client names; empty where it names none."""
        model = body.get("model")
        return model if isinstance(model, str) else ""

    def with_model(self, body: Body, model: str) -> Body:
        """The body of a client that names no model, for this one."""
        return {**body, "model": model}

    def is_stream(self, body: Body, path: str) -> bool:
        """Whether the client wants the reply as a stream."""
        return body.get("stream") is True

    def is_array_stream(self, path: str, query: bytes) -> bool:
        """Whether the client wants the events of a stream as the items of one JSON array."""
        return False

    def continues(self, body: Body) -> str:
        """The id of the reply that a request continues; empty where it holds the whole conversation."""
        return ""

    def expanded(self, body: Body, earlier: Sequence[WireMessage]) -> Body:
        """The body with the earlier messages in it, instead of the id."""
        return body

    def is_stored(self, body: Body) -> bool:
        """Whether a later request may continue the reply to this one; asked only where `keeps_replies`."""
        return True

    def outgoing(self, body: Body) -> Body:
        """The body as an upstream of this dialect gets it; the same object where nothing changes."""
        return body

    def asks_for_compaction(self, body: Body, path: str) -> bool:
        """Whether the client wants a summary of its conversation that it can send back later."""
        return False

    def compacted_body(
        self, asked: Body, path: str, text: str, reply_id: str, created: int, usage: Usage
    ) -> Body:
        """The reply to a request for a compaction, with this summary."""
        raise NotImplementedError

    def compacted_events(
        self, asked: Body, text: str, reply_id: str, created: int, usage: Usage
    ) -> list[SseEvent]:
        """The same as a stream."""
        raise NotImplementedError

    @abstractmethod
    def lead(self, body: Body) -> tuple[Message, ...]:
        """The system prompt in canonical form, without cache markers."""

    @abstractmethod
    def messages(self, body: Body) -> list[WireMessage]:
        """The messages after the system prompt. Raises `InvalidConversation` where they are none."""

    @abstractmethod
    def with_messages(self, body: Body, messages: Sequence[WireMessage], *, has_note: bool = False) -> Body:
        """The body with these messages after its system prompt.

        `has_note` adds the note of a compaction to the system prompt, once.
        """

    @abstractmethod
    def canonical(self, messages: Sequence[WireMessage], index: int) -> list[Message]:
        """The canonical messages in one wire message, without cache markers."""

    @abstractmethod
    def written(self, messages: Sequence[Message], model: str) -> list[WireMessage]:
        """Canonical messages on this wire, as a part of a conversation."""

    def settled(self, messages: Sequence[WireMessage], opening: int) -> list[WireMessage]:
        """The messages of a request whose first `opening` are a compacted view, where the provider accepts them."""
        return list(messages)

    def unmarked(self, message: WireMessage) -> WireMessage:
        """A wire message without its cache markers; the same object where it has none."""
        return message

    def rough_messages(self, body: Body) -> list[Message]:
        """What to weigh of a body that may be no conversation at all."""
        listed = body.get(self.messages_field)
        messages = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        return [{"role": "system", "content": body.get("system") or ""}, *messages]

    def tools(self, body: Body) -> list[Tool]:
        """The tools as they are on the wire."""
        tools = body.get("tools")
        return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []

    def canonical_tools(self, tools: Sequence[Tool]) -> list[Tool]:
        """Tools of the wire in canonical form."""
        return list(tools)

    def with_tool(self, body: Body, tool: Tool) -> Body | None:
        """The body with a canonical tool behind its own tools; None where it cannot carry one."""
        alone = ChatRequest("", ({"role": "user", "content": "."},), tools=(tool,))
        return {**body, "tools": [*(body.get("tools") or ()), *self.encode_request(alone)["tools"]]}

    def without_tool(self, reply: Body, name: str) -> Body:
        """A reply, or an event of one, that does not list this tool among those of the request."""
        return reply

    def limits(self, body: Body) -> dict[str, int]:
        """The limits on the answer's tokens that a body states, by their names."""
        return {name: count for name in self.limit_fields if (count := whole_number(body.get(name)))}

    def with_limits(self, body: Body, limits: Mapping[str, int]) -> Body:
        """The body with other limits; a thinking budget is a part of the answer and shrinks with it."""
        asked = self.limits(body)
        fitted = {**body, **limits}
        thinking = body.get("thinking")
        thinking = thinking if isinstance(thinking, dict) else {}
        budget = whole_number(thinking.get("budget_tokens"))
        if budget and "max_tokens" in asked:
            less = fitted_budget(budget, asked["max_tokens"], limits["max_tokens"])
            fitted["thinking"] = {**thinking, "budget_tokens": less} if less else {"type": "disabled"}
        return fitted

    def choices(self, body: Body) -> int:
        """How many answers a request asks for."""
        return whole_number(body.get("n")) or 1

    def edits_history(self, body: Body) -> bool:
        """Whether the client has asked its provider to shorten the history."""
        return False

    def without_history_edits(self, body: Body) -> Body:
        """The body without that."""
        return body

    # Cache markers and usage

    def has_markers(self, raw: bytes) -> bool:
        """Whether the client places cache markers itself."""
        return False

    def mark(self, body: Body, rendered: Callable[[], Rendered], marking: CacheMarking) -> MarkedBody:
        """The body with cache markers; `rendered` gives the request in blocks."""
        return MarkedBody(body, marking.memory)

    def keep_rolling(self, body: Body, ttl: str) -> Body:
        """A client's own markers after a compaction: the end has one, if it had one before."""
        return body

    @abstractmethod
    def usage(self, raw: Any) -> Usage | None:
        """The usage object of a reply in one vocabulary; None where there is none."""

    def usage_of_event(self, event: Body) -> tuple[Body, bool] | None:
        """The usage object in an event of a stream, and whether it covers the whole reply."""
        usage = event.get(self.usage_field)
        return (usage, True) if isinstance(usage, dict) and usage else None

    def can_ask_for_usage(self, body: Body) -> bool:
        """Whether a stream reports its usage only when asked, and the client did not ask."""
        return False

    def with_usage_asked(self, body: Body) -> Body:
        """The body that asks for it."""
        return body

    def refuses_usage(self, refusal: bytes) -> bool:
        """Whether an upstream refused a request because it asks for usage."""
        return False

    def without_usage(self, events: bytes) -> bytes:
        """Whole events for a client that did not ask for usage."""
        return events

    # Translation

    @abstractmethod
    def decode_request(self, body: Body, path: str = "") -> ChatRequest:
        """What a client asks for."""

    @abstractmethod
    def encode_request(self, request: ChatRequest, card: ModelCard | None = None) -> Body:
        """The body that asks for this, in what the model takes (by its card, or by its name)."""

    @abstractmethod
    def decode_reply(self, body: Any) -> Reply:
        """A provider's reply. Raises `MalformedReply`."""

    @abstractmethod
    def encode_reply(self, reply: Reply, asked: Body, created: int) -> Body:
        """The body of a reply to the request `asked`; `created` is the time in seconds."""

    @abstractmethod
    def decoder(self) -> ReplyDecoder:
        """A decoder for one streamed reply."""

    @abstractmethod
    def encoder(self, asked: Body, created: int, include_usage: bool = True) -> ReplyEncoder:
        """An encoder for one streamed reply to the request `asked`."""

    @abstractmethod
    def untranslatable(self, body: Body, upstream: str) -> Findings:
        """What of a body is dropped or refused when the upstream speaks the dialect of this name."""

    @abstractmethod
    def adapted(self, request: ChatRequest) -> ChatRequest:
        """A request of another dialect's client, in what this wire can say."""

    def unwritten(self, request: ChatRequest, body: Body) -> list[str]:
        """Fields of a canonical request that are not in the body written for it."""
        sampling = {"temperature": request.temperature, "top_p": request.top_p}
        return [name for name, value in sampling.items() if value is not None and name not in body]

    def field_name(self, field: str, request: ChatRequest) -> str:
        """What this wire calls a field of the canonical request."""
        return field

    # Conversations in files

    def document(self, messages: Sequence[Message], wrapper: Body, is_object: bool) -> Any:
        """A whole conversation in a file: the messages, or an object with the keys of `wrapper` around them."""
        return {**wrapper, "messages": list(messages)} if is_object else list(messages)

    # Models and token counts

    def model_names(self, listed: Any) -> list[str]:
        """The names in a provider's list of models, or in its description of one."""
        models = listed.get("data", [listed]) if isinstance(listed, dict) else ()
        models = models if isinstance(models, list) else ()
        return [str(model["id"]) for model in models if isinstance(model, dict) and model.get("id")]

    def counted(self, tokens: int) -> Body:
        """The answer to a request to count tokens."""
        return {"input_tokens": tokens}

    @abstractmethod
    def models_body(self, names: Sequence[str]) -> Body:
        """The list of these models."""

    @abstractmethod
    def model_body(self, name: str) -> Body:
        """The description of one model."""

    # Errors

    @abstractmethod
    def error_kind(self, status: int) -> str:
        """The provider's word for a failure of this status, where nothing says more."""

    @abstractmethod
    def error_body(self, status: int, message: str, kind: str | None = None, code: str | None = None) -> Body:
        """The body of a failed request."""

    @abstractmethod
    def failure_event(self, status: int, message: str) -> SseEvent:
        """The event that ends a stream with an error."""

    def overflow_event(self, message: str) -> SseEvent | None:
        """The stream that tells a client that its prompt is too long; None: clients read that from the status."""
        return None

    def error_in(self, event: Body) -> Body | None:
        """The error body for an event that ends a stream; None for any other event."""
        return None

    def is_error(self, body: Body) -> bool:
        """Whether a reply with a good status is an error."""
        return bool(body.get("error"))

    def error_fields(self, body: Any) -> Any:
        """A provider's error with the usual names: `error`, `type`, `code`, `message`."""
        return body
