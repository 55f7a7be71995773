"""The options of an adapter."""

from collections.abc import Callable
from dataclasses import dataclass

from plimsoll.archive import OPERATOR, CompactionEvent, Owner
from plimsoll.context import ContextCompressor, ContextEngine, SummaryWriter
from plimsoll.errors import SettingError
from plimsoll.models import DEFAULT_WINDOW, card_for

MakeEngine = Callable[[str, int], ContextEngine]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterOptions:
    """When and how conversations are compacted. The numbers have the same meaning as in config.yaml."""

    model: str = ""  # if the host does not name it
    window: int | None = None  # tokens; by default the model's window
    threshold: float = 0.50
    target_ratio: float = 0.20
    target_tokens: int | None = None
    protect_last_n: int = 20
    summarizer: SummaryWriter | None = None  # None: summaries are extracted without a model
    engine: MakeEngine | None = (
        None  # creates a conversation's engine from model and window; overrides the above
    )
    recall: bool = False  # the agent has the recall tool, so shortened content names its handle
    archive: str | None = None  # URL or file of an archive for the messages of compacted conversations
    owner: Owner = OPERATOR  # owner of the sessions; recall reads no others
    on_compaction: Callable[[CompactionEvent], None] | None = (
        None  # on the adapter's thread; errors are logged
    )
    deadline: float = 180.0  # seconds for one compaction
    max_conversations: int = 256  # kept in memory; the least recently used is forgotten first

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise SettingError(f"window must be at least 1 token, not {self.window}.")
        if self.max_conversations < 1:
            raise SettingError(f"max_conversations must be at least 1, not {self.max_conversations}.")
        self.make_engine(self.model, self.window or DEFAULT_WINDOW)  # reports an invalid number at once

    def window_for(self, model: str) -> int:
        """Maximum tokens of a prompt for this model."""
        name = model or self.model
        return self.window or (card_for(name).prompt_limit if name else DEFAULT_WINDOW)

    def make_engine(self, model: str, window: int) -> ContextEngine:
        """The engine of a new conversation."""
        if self.engine is not None:
            return self.engine(model, window)
        engine = ContextCompressor(
            model,
            window,
            self.threshold,
            self.target_ratio,
            self.protect_last_n,
            self.summarizer,
            self.target_tokens,
            able_to_recall=True,  # handles are removed later if the model has no recall tool
        )
        engine.unanswered_may_change = True  # hosts repeat and edit their last request
        return engine
