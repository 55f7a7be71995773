"""The hand-off of a whole conversation: only the summary, for the next person or agent.

    [ system ][ -------- every message -------- ]
                          │
                          └─► the nine headings and their evidence, as phase 3 writes them

A compaction keeps the newest messages in addition to its summary. A hand-off keeps none, so it covers the whole
conversation.
"""

from collections.abc import Sequence

from plimsoll.context.compressor.summarise import Summary, SummaryJob, summarise
from plimsoll.context.ledger import NOTHING_ADDED, CustomPrompt
from plimsoll.context.markers import find_summary, summary_body
from plimsoll.context.summarizer import SummaryWriter
from plimsoll.errors import InvalidConversation
from plimsoll.messages import SYSTEM_ROLES, Message
from plimsoll.models import estimate_messages_tokens_rough

HANDOFF_TOKENS = 6_000  # of the whole document, headings and evidence
_HEADINGS_SHARE = 0.5  # of these tokens; the evidence gets the rest


def write_handoff(
    messages: Sequence[Message],
    tokens: int = HANDOFF_TOKENS,
    writer: SummaryWriter | None = None,
    focus: str | None = None,
    evidence: bool = True,
    prompt: CustomPrompt | None = None,
) -> Summary:
    """The hand-off in about `tokens` at most; by the model if there is one and its text is usable."""
    at = find_summary(messages)
    paragraphs = [
        message
        for place, message in enumerate(messages)
        if place != at and message.get("role") not in SYSTEM_ROLES
    ]
    if not paragraphs:
        raise InvalidConversation("The conversation has no messages besides its system prompt.")
    job = SummaryJob(
        middle=paragraphs,
        # The hand-off of a short conversation may be as long as the conversation.
        middle_tokens=max(estimate_messages_tokens_rough(paragraphs), 2 * tokens),
        budget=int(tokens * _HEADINGS_SHARE) if evidence else tokens,
        ledger=tokens,
        evidence=evidence,
        previous="" if at is None else summary_body(messages[at]),
        earlier="" if at is None else summary_body(messages[at]),
        focus=focus,
        custom=prompt or NOTHING_ADDED,
    )
    return summarise(job, writer)
