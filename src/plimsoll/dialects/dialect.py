"""A wire format as one object: everything that the gateway, the providers and the scripted server need.

    paths and keys       path_prefixes · answer_paths · url() · models_url() · key_header
    a request's body     model_of() · is_stream() · lead() · messages() · canonical() · with_messages()
    caching and usage    mark() · keep_rolling() · usage_of_event() · usage()
    translation          decode_request() · encode_request() · decode_reply() · encode_reply() · decoder() · encoder()
    errors               error_body() · failure_event() · error_fields()

To add a dialect, subclass `Dialect`, implement the abstract methods, and pass an instance to `register_dialect`. The
default implementations suit wire formats like OpenAI's and Anthropic's, with `messages`, `model` and `stream` in the
body. Instances are stateless, so every worker process may create its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from plimsoll.dialects.addresses import path_pattern
from plimsoll.dialects.answer_limits import fitted_budget, whole_number
from plimsoll.dialects.interfaces import (
    Body,
    CacheMarking,
    CompactionReply,
    MarkedBody,
    Rendered,
    ReplyDecoder,
    ReplyEncoder,
    WireMessage,
)
from plimsoll.dialects.mapping import Findings, examine
from plimsoll.dialects.reply import Reply
from plimsoll.dialects.request import ChatRequest, Tool
from plimsoll.dialects.sse import SseEvent
from plimsoll.dialects.usage import Usage
from plimsoll.messages import Message
from plimsoll.messages.untyped import list_of, object_of, objects_in, string_of
from plimsoll.messages.validate import Wire
from plimsoll.models import ModelCard


class Dialect(ABC):
    """One wire format."""

    name: ClassVar[str]  # in settings, data files and records
    title: ClassVar[str]  # the owner of the wire format, for sentences
    provider: ClassVar[str] = ""  # the default provider of its clients
    api_mode: ClassVar[str]  # its name for plugins
    validation: ClassVar[Wire] = "openai"  # the rules of `plimsoll.validate` that its conversations follow

    path_prefixes: ClassVar[tuple[str, ...]]  # paths that no other dialect has
    answer_paths: ClassVar[tuple[str, ...]]  # routes that generate a reply
    count_paths: ClassVar[tuple[str, ...]] = ()  # routes that count tokens
    models_paths: ClassVar[tuple[str, ...]] = ("/v1/models",)  # several dialects may share them
    own_headers: ClassVar[tuple[str, ...]] = ()  # headers that only clients of this dialect send
    beta_header: ClassVar[str] = ""  # the header that asks for betas
    key_header: ClassVar[str] = "authorization"
    key_prefix: ClassVar[str] = "Bearer "
    takes_bearer: ClassVar[bool] = True  # whether its servers also accept a key as `Authorization: Bearer`
    key_parameter: ClassVar[str] = ""  # the query parameter that may contain the key instead of the header

    session_headers: ClassVar[
        tuple[str, ...]
    ] = ()  # headers that identify a client's conversation, best first
    keeps_replies: ClassVar[bool] = False  # whether a request may continue an earlier reply by its id
    reply_events: ClassVar[
        tuple[str, ...]
    ] = ()  # the events of a stream that contain its whole reply; empty: all
    messages_field: ClassVar[str] = "messages"
    limit_fields: ClassVar[tuple[str, ...]] = ("max_tokens",)
    needs_limit: ClassVar[bool] = False  # whether every request must state an output limit
    takes_effort: ClassVar[bool] = False  # whether the reasoning effort is a word
    takes_markers: ClassVar[bool] = False  # whether requests may have cache markers
    native_markers: ClassVar[bool] = False  # whether tool messages and calls may have them too
    usage_field: ClassVar[str] = "usage"
    text_fields: ClassVar[tuple[str, ...]] = ("content", "text")  # fields with the text of a reply
    # Whether a conversation in a file may have fields besides the messages.
    open_documents: ClassVar[bool] = False
    is_canonical: ClassVar[bool] = False  # whether its messages are already canonical
    has_end_mark: ClassVar[bool] = False  # whether events may follow the one that completes a reply
    opening_events: ClassVar[frozenset[str]] = (
        frozenset()
    )  # after which a stream may still report an overflow
    takes_comments: ClassVar[bool] = True  # whether its clients skip comments in a stream

    def __repr__(self) -> str:
        return f"<dialect {self.name}>"

    # Paths and keys

    def is_answer_path(self, path: str) -> bool:
        """Whether requests to a path generate a reply."""
        return any(path_pattern(written).fullmatch(path) for written in self.answer_paths)

    def is_count_path(self, path: str) -> bool:
        """Whether a path counts the tokens of a request."""
        return any(path_pattern(written).fullmatch(path) for written in self.count_paths)

    def path_values(self, path: str) -> dict[str, str] | None:
        """The parameters in a path of `answer_paths` or `count_paths`, by name; None for any other path."""
        routes = (*self.answer_paths, *self.count_paths)
        found = (path_pattern(written).fullmatch(path) for written in routes)
        return next((match.groupdict() for match in found if match), None)

    @abstractmethod
    def url(self, base_url: str, model: str, is_stream: bool) -> str:
        """The URL for requests to this model."""

    @abstractmethod
    def models_url(self, base_url: str) -> str:
        """The URL that lists the models."""

    def count_url(self, base_url: str, model: str) -> str:
        """The URL that counts the tokens of a request."""
        return f"{self.url(base_url, model, False)}/count_tokens"

    def serves_address(self, base_url: str) -> bool:
        """Whether the base URL alone identifies this dialect."""
        return False

    def local_url(self, root: str) -> str:
        """The base URL on a server that offers every dialect under one root."""
        return root

    def auth(self, key: str) -> tuple[str, str]:
        """The header for a key, as name and value."""
        return self.key_header, self.key_prefix + key

    # A request's body

    def model_of(self, body: Body, path: str) -> str:
        """The model that a client names; empty if it names none."""
        return string_of(body.get("model"))

    def with_model(self, body: Body, model: str) -> Body:
        """The body with this model, for a client that names none."""
        return {**body, "model": model}

    def is_stream(self, body: Body, path: str) -> bool:
        """Whether the client wants the reply as a stream."""
        return body.get("stream") is True

    def is_array_stream(self, path: str, query: bytes) -> bool:
        """Whether the client wants the events of a stream as the items of one JSON array."""
        return False

    def continues(self, body: Body) -> str:
        """The id of the reply that a request continues; empty if it contains the whole conversation."""
        return ""

    def expanded(self, body: Body, earlier: Sequence[WireMessage]) -> Body:
        """The body with the earlier messages instead of the id."""
        return body

    def account_field(self, body: Body) -> str:
        """A field that uses what the upstream stores in the account of its key; empty if there is none."""
        return ""

    def is_stored(self, body: Body) -> bool:
        """Whether a later request may continue the reply to this one; called only if `keeps_replies`."""
        return True

    def outgoing(self, body: Body) -> Body:
        """The body for an upstream of this dialect; the same object if nothing changes."""
        return body

    def compaction_reply(self, body: Body, path: str) -> CompactionReply | None:
        """Writes the reply if the client requests a summary to send back later; None for other requests."""
        return None

    @abstractmethod
    def lead(self, body: Body) -> tuple[Message, ...]:
        """The system prompt in canonical form, without cache markers."""

    @abstractmethod
    def messages(self, body: Body) -> list[WireMessage]:
        """The messages after the system prompt. Raises `InvalidConversation` if they are malformed."""

    @abstractmethod
    def with_messages(self, body: Body, messages: Sequence[WireMessage], *, has_note: bool = False) -> Body:
        """The body with these messages after its system prompt.

        `has_note` adds the compaction note to the system prompt, once.
        """

    @abstractmethod
    def canonical(self, messages: Sequence[WireMessage], index: int) -> list[Message]:
        """The canonical messages in one wire message, without cache markers."""

    @abstractmethod
    def written(self, messages: Sequence[Message], model: str) -> list[WireMessage]:
        """Canonical messages in this wire format, as part of a conversation."""

    def settled(self, messages: Sequence[WireMessage], opening: int) -> list[WireMessage]:
        """The messages in an order that the provider accepts; the first `opening` are a compacted view."""
        return list(messages)

    def unmarked(self, message: WireMessage) -> WireMessage:
        """A wire message without its cache markers; the same object if it has none."""
        return message

    def rough_messages(self, body: Body) -> list[Message]:
        """The messages for a token estimate of a body that may not be a valid conversation."""
        messages = objects_in(body.get(self.messages_field))
        return [{"role": "system", "content": body.get("system") or ""}, *messages]

    def tools(self, body: Body) -> list[Tool]:
        """The tools in wire format."""
        return objects_in(body.get("tools"))

    def canonical_tools(self, tools: Sequence[Tool]) -> list[Tool]:
        """Wire tools in canonical form."""
        return list(tools)

    def with_tool(self, body: Body, tool: Tool) -> Body | None:
        """The body with a canonical tool added after its own; None if it cannot have one."""
        alone = ChatRequest("", ({"role": "user", "content": "."},), tools=(tool,))
        own = body.get("tools") or []
        if not isinstance(own, list):
            return None
        return {**body, "tools": [*own, *self.encode_request(alone)["tools"]]}

    def without_tool(self, reply: Body, name: str) -> Body:
        """A reply, or an event of one, without this tool in the list of the request's tools."""
        return reply

    def limits(self, body: Body) -> dict[str, int]:
        """The output limits that a body states, by field name."""
        return {name: count for name in self.limit_fields if (count := whole_number(body.get(name)))}

    def with_limits(self, body: Body, limits: Mapping[str, int]) -> Body:
        """The body with other limits; a thinking budget counts as output and shrinks with them."""
        requested = self.limits(body)
        fitted = {**body, **limits}
        thinking = object_of(body.get("thinking"))
        budget = whole_number(thinking.get("budget_tokens"))
        if budget and "max_tokens" in requested:
            less = fitted_budget(budget, requested["max_tokens"], limits["max_tokens"])
            fitted["thinking"] = {**thinking, "budget_tokens": less} if less else {"type": "disabled"}
        return fitted

    def choices(self, body: Body) -> int:
        """The number of replies that a request asks for."""
        return whole_number(body.get("n")) or 1

    def edits_history(self, body: Body) -> bool:
        """Whether the client asks its provider to shorten the history."""
        return False

    def without_history_edits(self, body: Body) -> Body:
        """The body without the request to shorten the history."""
        return body

    # Cache markers and usage

    def has_markers(self, raw: bytes) -> bool:
        """Whether the client sets cache markers itself."""
        return False

    def mark(self, body: Body, rendered: Callable[[], Rendered], marking: CacheMarking) -> MarkedBody:
        """The body with cache markers; `rendered` returns the request in blocks."""
        return MarkedBody(body, marking.memory)

    def keep_rolling(self, body: Body, ttl: str) -> Body:
        """Keep a client's own markers after a compaction: mark the last message if it had a marker before."""
        return body

    @abstractmethod
    def usage(self, raw: Any) -> Usage | None:
        """The usage object of a reply in common terms; None if there is none."""

    def usage_of_event(self, event: Body) -> tuple[Body, bool] | None:
        """The usage object in an event of a stream, and whether it covers the whole reply."""
        usage = event.get(self.usage_field)
        return (usage, True) if isinstance(usage, dict) and usage else None

    def can_ask_for_usage(self, body: Body) -> bool:
        """Whether the stream reports usage only on request, and the client did not request it."""
        return False

    def with_usage_asked(self, body: Body) -> Body:
        """The body with a request for usage."""
        return body

    def refuses_usage(self, refusal: bytes) -> bool:
        """Whether an upstream rejected a request because it asks for usage."""
        return False

    def without_usage(self, events: bytes) -> bytes:
        """Complete events without usage, for a client that did not request it."""
        return events

    # Translation

    @abstractmethod
    def decode_request(self, body: Body, path: str = "") -> ChatRequest:
        """Decode a client's request."""

    @abstractmethod
    def encode_request(self, request: ChatRequest, card: ModelCard | None = None) -> Body:
        """The body of a request, with only fields that the model accepts (by its card, or by its name)."""

    @abstractmethod
    def decode_reply(self, body: Any) -> Reply:
        """A provider's reply. Raises `MalformedReply`."""

    @abstractmethod
    def encode_reply(self, reply: Reply, request_body: Body, created: int) -> Body:
        """The body of a reply to this request; `created` is the time in seconds."""

    @abstractmethod
    def decoder(self) -> ReplyDecoder:
        """A decoder for one streamed reply."""

    @abstractmethod
    def encoder(self, request_body: Body, created: int, include_usage: bool = True) -> ReplyEncoder:
        """An encoder for one streamed reply to this request."""

    def untranslatable(self, body: Body, upstream: str) -> Findings:
        """The fields that are dropped or refused for an upstream with the dialect of this name."""
        return examine(self.name, body, upstream)

    @abstractmethod
    def adapted(self, request: ChatRequest) -> ChatRequest:
        """A request from another dialect's client, with only fields that this wire format has."""

    def unwritten(self, request: ChatRequest, body: Body) -> list[str]:
        """Fields of a canonical request that the encoded body lacks."""
        sampling = {"temperature": request.temperature, "top_p": request.top_p}
        return [name for name, value in sampling.items() if value is not None and name not in body]

    def field_name(self, field: str, request: ChatRequest) -> str:
        """The name of a canonical request field in this wire format."""
        return field

    # Conversations in files

    def document(self, messages: Sequence[Message], wrapper: Body, is_object: bool) -> Any:
        """A conversation for a file: the messages, or an object with them and the keys of `wrapper`."""
        return {**wrapper, "messages": list(messages)} if is_object else list(messages)

    # Models and token counts

    def model_names(self, listed: Any) -> list[str]:
        """The names in a provider's list of models, or in its description of one."""
        models = list_of(listed.get("data", [listed]) if isinstance(listed, dict) else ())
        return [str(model["id"]) for model in models if isinstance(model, dict) and model.get("id")]

    def counted(self, tokens: int) -> Body:
        """The response to a token count request."""
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
        """The provider's default error type for this status."""

    @abstractmethod
    def error_body(self, status: int, message: str, kind: str | None = None, code: str | None = None) -> Body:
        """The body of a failed request."""

    @abstractmethod
    def failure_event(self, status: int, message: str, begun: SseEvent | None = None) -> SseEvent:
        """The event that ends a stream with an error; `begun` is the first event of the stream."""

    def overflow_event(self, message: str) -> SseEvent | None:
        """The event that reports a prompt that is too long; None if clients rely on the status."""
        return None

    def error_in(self, event: Body) -> Body | None:
        """The error body for an event that ends a stream; None for any other event."""
        return None

    def is_error(self, body: Body) -> bool:
        """Whether a reply with a success status is an error."""
        return bool(body.get("error"))

    def error_fields(self, body: Any) -> Any:
        """A provider's error with the standard field names: `error`, `type`, `code`, `message`."""
        return body
