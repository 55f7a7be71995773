"""Compacts one conversation and reports the result.

    BatchJob(plan, transcript) ──► ContextCompressor ──► BatchOutcome

An outcome is plain data, so that it can be sent between processes.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from plimsoll.config import Settings
from plimsoll.context import ClearedResult, CompactionReport, ContextCompressor, SummaryWriter
from plimsoll.context.ledger import NOTHING_ADDED, CustomPrompt, SummaryLine, as_json
from plimsoll.context.report import ShortenedMessage
from plimsoll.messages import STUB_RESULT, Message, is_whole, repair, text_of, validate
from plimsoll.models import estimate_messages_tokens_rough
from plimsoll.models.media_limits import MediaLimits
from plimsoll.transcripts import Transcript, counted

LONGEST_SMALL_WORD = 3  # characters; such words do not show that a focus was found
BELOW_THRESHOLD = "{:,} tokens are below the threshold of {:,}"
NOTHING_TO_SUMMARISE = "everything fits the first exchange and the protected tail"


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How to compact every conversation of this run."""

    model: str
    window: int
    threshold: float
    target_ratio: float
    protect_last_n: int
    target_tokens: int | None = None
    evidence: bool = True
    prompt: CustomPrompt = NOTHING_ADDED
    focus: str | None = None
    summarizer: SummaryWriter | None = None
    at_once: int = 1  # summaries that the summarizer writes at the same time
    media: MediaLimits | None = None  # of the model
    only_if_due: bool = False  # leave conversations below the threshold unchanged
    # If no model is set, a conversation gets the plan of the model that it names, from these settings.
    settings: Settings | None = None

    def for_transcript(self, transcript: Transcript) -> "BatchPlan":
        """The plan for the model that the conversation names, unless another is set."""
        if self.settings is None or not transcript.model:
            return self
        own = self.settings.for_model(transcript.model)
        model = own.model.model_copy(update={"name": transcript.model})
        return replace(
            self,
            window=model.prompt_limit(),
            threshold=own.compression.threshold,
            target_ratio=own.compression.target_ratio,
            target_tokens=own.compression.target_tokens,
            media=model.card().media,
        )

    def engine(self, transcript: Transcript) -> ContextCompressor:
        """The compressor for this conversation; the plan must be the one `for_transcript` returned."""
        return ContextCompressor(
            model=self.model or transcript.model or "",
            context_length=self.window,
            threshold=self.threshold,
            target_ratio=self.target_ratio,
            protect_last_n=self.protect_last_n,
            summarizer=self.summarizer,
            target_tokens=self.target_tokens,
            evidence=self.evidence,
            prompt=self.prompt,
            media=self.media,
        )


@dataclass(frozen=True, slots=True)
class BatchJob:
    """One conversation and what to do with it."""

    plan: BatchPlan
    transcript: Transcript


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The result for one conversation."""

    transcript: Transcript  # with the resulting messages
    outcome: str
    reason: str
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    cleared: int  # tool results that left the context
    pruned: tuple[ClearedResult, ...]  # their descriptions
    summary: str
    evidence: str
    summary_source: str
    shortened: tuple[ShortenedMessage, ...]
    steps: tuple[str, ...]
    violations: tuple[str, ...]
    seconds: float
    window: int
    due_at: int  # tokens where compaction is due
    lines: tuple[SummaryLine, ...] = ()  # of the summary, each with the messages that it comes from
    model_failures: tuple[str, ...] = ()
    focus_found: bool = True  # a word of the focus topic occurs in the conversation

    @property
    def whole_summary(self) -> str:
        """The summary with the evidence after it."""
        return "\n".join(part for part in (self.summary, self.evidence) if part)

    @property
    def valid(self) -> bool:
        """Whether the provider accepts the result."""
        return not self.violations

    @property
    def messages(self) -> list[Message]:
        """The resulting conversation."""
        return self.transcript.messages


def compact_one(job: BatchJob, describe: bool = True) -> BatchOutcome:
    """Compact one conversation; an engine's error gets a note that names it.

    Without `describe`, cleared results are only counted, which takes much less time.
    """
    transcript = job.transcript
    plan, original = job.plan.for_transcript(transcript), transcript.messages
    engine = plan.engine(transcript)
    started = time.perf_counter()
    try:
        result, report = _compacted(engine, plan, original)
    except Exception as error:
        error.add_note(f"while compacting {transcript.place}")
        raise
    seconds = time.perf_counter() - started
    outcome, reason = str(report.outcome), report.reason
    if outcome == "unchanged" and result != original:
        outcome, reason = "repaired", _repairs(original, result)
    elif outcome == "unchanged" and not plan.only_if_due and not engine.has_content_to_compress(original):
        reason = NOTHING_TO_SUMMARISE
    wire = transcript.dialect.validation
    return BatchOutcome(
        transcript=replace(transcript, messages=result),
        outcome=outcome,
        reason=reason,
        messages_before=len(original),
        messages_after=len(result),
        # The input is counted unchanged; the engine counts from the repaired list on.
        tokens_before=report.tokens_before
        if is_whole(original)
        else estimate_messages_tokens_rough(original),
        tokens_after=report.tokens_after,
        cleared=report.cleared,
        pruned=report.pruned if describe else (),
        summary=report.summary,
        evidence=report.evidence,
        shortened=report.shortened,
        summary_source=report.summary_source,
        steps=report.steps,
        lines=report.lines,
        model_failures=report.model_failures,
        violations=tuple(str(violation) for violation in validate(result, wire)),
        seconds=seconds,
        window=plan.window,
        due_at=engine.threshold_tokens,
        focus_found=plan.focus is None or _speaks_of(original, plan.focus),
    )


def _compacted(
    engine: ContextCompressor, plan: BatchPlan, original: list[Message]
) -> tuple[list[Message], CompactionReport]:
    """The compacted list; with `only_if_due` and below the threshold, the repaired list."""
    if plan.only_if_due and not engine.should_compress_preflight(original):
        tokens, count = estimate_messages_tokens_rough(original), len(original)
        result = original if is_whole(original) else repair(original)
        reason = BELOW_THRESHOLD.format(tokens, engine.threshold_tokens)
        after = tokens if result is original else estimate_messages_tokens_rough(result)
        return result, CompactionReport("unchanged", reason, count, len(result), tokens, after)
    result = engine.compress(original, focus_topic=plan.focus)
    assert engine.last_report is not None  # every call sets one
    return result, engine.last_report


def facts_of(outcome: BatchOutcome) -> dict[str, Any]:
    """One line of --json."""
    transcript = outcome.transcript
    return {
        "source": transcript.source,
        "line": transcript.line,
        "id": transcript.id,
        "outcome": outcome.outcome,
        "reason": outcome.reason,
        "messages_before": outcome.messages_before,
        "messages_after": outcome.messages_after,
        "tokens_before": outcome.tokens_before,
        "tokens_after": outcome.tokens_after,
        "valid": outcome.valid,
        "summary_source": outcome.summary_source,
        "seconds": round(outcome.seconds, 4),
        "sources": as_json(outcome.lines),
        "cleared": [
            {
                "handle": result.handle,
                "tool": result.tool,
                "status": result.status,
                "characters": result.characters,
            }
            for result in outcome.pruned
        ],
        "shortened": [
            {
                "handle": message.handle,
                "tool": message.tool,
                "characters_before": message.characters_before,
                "characters_after": message.characters_after,
            }
            for message in outcome.shortened
        ],
    }


def _repairs(before: Sequence[Message], after: Sequence[Message]) -> str:
    """What was removed, added and changed to repair a conversation, as text."""
    stubs = sum(m.get("content") == STUB_RESULT for m in after) - sum(
        m.get("content") == STUB_RESULT for m in before
    )
    results = [sum(m.get("role") == "tool" for m in messages) for messages in (before, after)]
    removed = results[0] - (results[1] - stubs)
    places = {id(message): place for place, message in enumerate(before)}
    kept = [places[id(message)] for message in after if id(message) in places]
    repaired = len(after) - len(kept) - stubs
    sentences = []
    if removed:
        sentences.append(f"{counted(removed, 'tool result', 'tool results')} without a call removed")
    if stubs:
        sentences.append(f"{counted(stubs, 'missing tool result', 'missing tool results')} marked as such")
    if kept != sorted(kept):
        sentences.append("tool results moved to their calls")
    if repaired:
        sentences.append(f"{counted(repaired, 'message', 'messages')} given content that providers accept")
    return ", ".join(sentences)


def _speaks_of(messages: Sequence[Message], topic: str) -> bool:
    """Whether any word of the topic occurs; stop words like `the` are ignored if there are others."""
    words = set(re.findall(r"\w+", topic.casefold()))
    words = {word for word in words if len(word) > LONGEST_SMALL_WORD or not word.isascii()} or words
    texts = (f"{text_of(message)} {message.get('tool_calls', '')}".casefold() for message in messages)
    return any(word in text for text in texts for word in words)
