"""What the model sees of a host's history, as the host's own messages.

history    h1  h2  h3  h4  h5  h6
view       h1  {summary}   h5' h6        h1 and h6 are the host's own objects; h5' was shortened
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Generic

from plimsoll.archive import CompactionEvent
from plimsoll.context import CompactionReport
from plimsoll.context.compressor.assemble import with_note
from plimsoll.context.markers import OwnSummary, has_note
from plimsoll.context.media_budget import without_media_handles
from plimsoll.dialects.rewriting import KeptMessage, runs_of
from plimsoll.integrations.codec import H, HostGroup, MessageCodec, WrittenMessage
from plimsoll.integrations.tracked import LogView, TrackedConversation
from plimsoll.integrations.wording import SUMMARY_LINE
from plimsoll.messages import Message, text_of, with_text, without_handle


@dataclass(frozen=True, slots=True)
class HostView(Generic[H]):
    """The messages to send instead of the history, and facts about them."""

    messages: list[H]
    system: tuple[Message, ...] = ()  # the separately passed system prompt, with the note
    canonical: list[Message] = field(default_factory=list)  # everything in canonical form
    changed: bool = False  # the view differs from the history
    tokens: int = 0  # the provider's expected count
    event: CompactionEvent | None = None  # of the compaction that this request triggered
    report: CompactionReport | None = None  # of that compaction, if the engine writes one
    conversation: TrackedConversation | None = None
    log_view: LogView | None = None
    estimated: int = 0

    @property
    def compacted(self) -> bool:
        """Whether this request triggered a compaction that made the view smaller."""
        return self.event is not None and self.event.outcome == "compacted"

    @property
    def has_note(self) -> bool:
        """Whether the system prompt has the compaction note."""
        return any(map(has_note, self.canonical[:1]))


@dataclass(frozen=True, slots=True)
class SentView:
    """A view without the host: the system prompt and the messages that the model sees."""

    lead: tuple[Message, ...]
    kept: tuple[KeptMessage, ...]


def sent_view(
    lead: Sequence[Message], kept: Sequence[KeptMessage], view: LogView | None, recall: bool
) -> SentView:
    """What is sent: the newest system prompt, with the note after a compaction; handles only with `recall`."""
    if view is None:
        return SentView(tuple(lead), tuple(kept))
    noted = tuple(with_note(item) if n == 0 and view.has_note else item for n, item in enumerate(lead))
    sent = (KeptMessage(_readable(item, recall), item.place, item.source) for item in kept)
    return SentView(noted, tuple(sent))


def host_messages(
    codec: MessageCodec[H], messages: Sequence[H], groups: Sequence[HostGroup], inside: int, sent: SentView
) -> list[H]:
    """The view as host messages; `inside` counts the system messages among them."""
    ends = list(accumulate(len(group.messages) for group in groups))
    starts = [0, *accumulate(group.count for group in groups)]
    kept = [
        *_lead(sent.lead[len(sent.lead) - inside :], groups),
        *(_moved(item, inside) for item in sent.kept),
    ]
    group_of = [(n, index) for n, group in enumerate(groups) for index in range(len(group.messages))]

    def written(kept: KeptMessage) -> WrittenMessage[H]:
        source = kept.source if kept.place is None else kept.place
        if source is None:
            return WrittenMessage(kept.message)
        group, index = group_of[source]
        return WrittenMessage(kept.message, tuple(messages[starts[group] : starts[group + 1]]), index)

    result: list[H] = []
    for run in runs_of(kept, ends):
        if isinstance(run, int):
            result += messages[starts[run] : starts[run + 1]]
        else:
            result += codec.encode([written(item) for item in run])
    return result


def _lead(lead: Sequence[Message], groups: Sequence[HostGroup]) -> list[KeptMessage]:
    """The system prompt among the host's messages; its first message may have the note."""
    originals = [message for group in groups for message in group.messages][: len(lead)]
    pairs = enumerate(zip(lead, originals, strict=True))
    return [KeptMessage(new, n if new is old or new == old else None, n) for n, (new, old) in pairs]


def _moved(kept: KeptMessage, by: int) -> KeptMessage:
    """A message with positions that include the system prompt."""
    place, source = (None if n is None else n + by for n in (kept.place, kept.source))
    return KeptMessage(kept.message, place, source)


def _readable(kept: KeptMessage, recall: bool) -> Message:
    """A message as its reader sees it: without handles if there is no recall tool."""
    if kept.place is not None:
        return kept.message
    if isinstance(kept.message, OwnSummary):
        if recall:
            return with_text(kept.message, f"{text_of(kept.message)}\n\n{SUMMARY_LINE}")
        return without_handle(kept.message, is_own=True)
    return kept.message if recall else without_media_handles(without_handle(kept.message))
