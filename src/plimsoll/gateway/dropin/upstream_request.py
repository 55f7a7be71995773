"""A client's request on its way upstream: what is known about it, and the bytes to send."""

from dataclasses import dataclass, field

from plimsoll.caching import CacheMemory
from plimsoll.dialects import ChatRequest
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.client_request import ClientRequest, Frame
from plimsoll.gateway.dropin.compacted_view import CompactedView
from plimsoll.gateway.dropin.windows import ModelFacts
from plimsoll.gateway.upstream.target import Target
from plimsoll.providers import Endpoint


@dataclass(slots=True)
class UpstreamRequest:
    """One request. Recognition, compaction and writing each fill in their part."""

    client_request: ClientRequest
    target: Target
    model: str
    facts: ModelFacts
    # Recognition
    conversation: ClientConversation | None = None
    frame: Frame = field(default_factory=lambda: Frame(b"", 0, 0))  # system prompt and tools
    # Compaction
    compacted_view: CompactedView | None = None  # None: the model sees what the client sent
    estimated: int = 0  # tokens of everything that is sent
    tokens_before: int = 0  # of the whole history, as the client sent it
    tokens_after: int = 0  # of what is sent
    has_compacted: bool = False  # compacted because of an overflow, which happens once
    has_less_media: bool = False  # images were removed because of a rejection, which happens once
    # Writing
    body: bytes = b""
    canonical: ChatRequest | None = None  # if it is translated: what the client asked for
    memory: CacheMemory | None = None
    written: float = 0.0  # time of writing
    asks_for_usage: bool = False  # if the client did not ask: it does not see the reported usage
    untranslatable: tuple[str, ...] = ()  # fields that the upstream's dialect does not have
    dropped: tuple[str, ...] = ()  # those, and fields that the model does not accept
    answer_limit: int = 0  # tokens of the answer, as sent; 0 if the request has none
    counted: int = 0  # prompt tokens that the upstream stated in a refusal

    @property
    def is_translated(self) -> bool:
        """Whether the upstream's dialect differs from the client's."""
        return self.client_request.dialect is not self.target.dialect

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint, with the betas that the client requests."""
        return self.target.endpoint_for(self.client_request.dialect, self.client_request.betas)

    def prompt_tokens(self, conversation: ClientConversation) -> int:
        """The tokens of the conversation as the model sees it now, with system prompt and tools."""
        return conversation.anchor.predict(self.frame.tokens + conversation.view_tokens())

    def set_view(self, conversation: ClientConversation) -> None:
        """Set the conversation's view and its token counts."""
        self.compacted_view = conversation.compacted_view
        self.estimated = self.frame.tokens + conversation.view_tokens()
        self.tokens_after = self.prompt_tokens(conversation)
        saved = sum(conversation.tokens) - conversation.view_tokens()
        self.tokens_before = self.tokens_after + max(0, round(conversation.anchor.ratio * saved))
