"""`ContextCompressor`: the built-in engine; `compact.py` does the compaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from plimsoll.caching import Clearing
from plimsoll.context.budget import Budget, FixedPart
from plimsoll.context.calibration import Calibration
from plimsoll.context.compressor.boundaries import PROTECT_FIRST_N, head_limit
from plimsoll.context.compressor.clear_results import cleared, clearing_of
from plimsoll.context.compressor.compact import compact
from plimsoll.context.compressor.plan import CompressorRules, fixed_part, planned
from plimsoll.context.compressor.reports import without_media
from plimsoll.context.engine import ContextEngine
from plimsoll.context.ledger import NOTHING_ADDED, CustomPrompt, LoggedSource, SummarySources
from plimsoll.context.media_budget import exceeds, within_limits
from plimsoll.context.rearm import RearmState
from plimsoll.context.report import CompactionReport
from plimsoll.context.summarizer import SummaryWriter
from plimsoll.errors import SettingError
from plimsoll.messages import Message
from plimsoll.models import DEFAULT_WINDOW, card_for, estimate_message_tokens, estimate_messages_tokens_rough
from plimsoll.models.media_limits import MediaLimits

# The threshold of session hygiene: a result above it would be compacted again before the next turn.
_CROWDED_SHARE = 0.85


class ContextCompressor(ContextEngine):
    """Prune, find the boundaries, summarise, assemble.

    Without a summarizer, or if it fails, code writes the summary from the conversation. Without `context_length`, the
    model's card decides. `target_tokens` is the size of the compacted messages; by default a third of the threshold
    without the fixed part, and with `lean` about 10 000. Without `evidence`, no quotes follow the summary. `log`
    returns the messages that another engine summarised in this conversation. Stubs name the handle of the
    original only if the model is `able_to_recall`; `last_report` always lists the handles. `media` limits the bytes,
    images and pages of a request; without it, the model's card does. `prompt` adds instructions and headings to the
    summary prompt.
    """

    def __init__(
        self,
        model: str = "",
        context_length: int | None = None,
        threshold: float = 0.50,
        target_ratio: float = 0.20,
        protect_last_n: int = 20,
        summarizer: SummaryWriter | None = None,
        target_tokens: int | None = None,
        lean: bool = False,
        log: Callable[[str], LoggedSource | None] | None = None,
        evidence: bool = True,
        able_to_recall: bool = False,
        media: MediaLimits | None = None,
        prompt: CustomPrompt | None = None,
    ) -> None:
        if protect_last_n < 1:
            raise SettingError(f"protect_last_n must be at least 1, not {protect_last_n!r}")
        self.model = model
        self.summarizer = summarizer
        self.protect_first_n = PROTECT_FIRST_N
        self.protect_last_n = protect_last_n
        self.last_report: CompactionReport | None = None
        self.evidence = evidence
        self.prompt = prompt or NOTHING_ADDED
        self.able_to_recall = able_to_recall
        # Set by hosts whose clients store the conversation and may edit and repeat requests.
        self.unanswered_may_change = False
        self.media = media if media is not None else card_for(model).media if model else MediaLimits()
        self._rearm: RearmState | None = None
        self.remembered = SummarySources(log)
        window = context_length if context_length is not None else self._window_of(model)
        self._set_budget(Budget(window, threshold, target_ratio, target_tokens, lean))

    @property
    def name(self) -> str:
        return "compressor"

    @property
    def tail_token_budget(self) -> int:
        """The token budget of the recent messages."""
        return self.budget.tail_tokens

    @property
    def max_summary_tokens(self) -> int:
        """The maximum tokens of a summary."""
        return self.budget.max_summary_tokens

    def update_from_response(self, usage: Mapping[str, Any]) -> None:
        self.last_prompt_tokens = _count(usage, "prompt_tokens")
        self.last_completion_tokens = _count(usage, "completion_tokens")
        total = self.last_prompt_tokens + self.last_completion_tokens
        self.last_total_tokens = _count(usage, "total_tokens") or total
        self._note_count(self.last_prompt_tokens)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether the threshold is reached; after a compaction, only once the prompt has grown enough again.

        The last report's `rearm_tokens` is that size.
        """
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        self._note_count(tokens)
        return tokens >= self.due_tokens

    def should_compress_preflight(self, messages: list[Message]) -> bool:
        return self.should_compress(estimate_messages_tokens_rough(messages)) or exceeds(messages, self.media)

    def has_content_to_compress(
        self,
        messages: list[Message],
        current_tokens: int | None = None,
        overhead_tokens: int | None = None,
    ) -> bool:
        rules = self._rules_for(messages, current_tokens)
        return (
            planned(messages, rules, current_tokens, overhead_tokens).can_shrink
            or within_limits(messages, self.media) is not None
        )

    def compress(
        self,
        messages: list[Message],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        overhead_tokens: int | None = None,
        **later: Any,
    ) -> list[Message]:
        """The compacted list; `last_report` describes what was done and why.

        `current_tokens` is the provider's count for the whole request, of which `overhead_tokens` are not in the
        messages: tool schemas and the provider's additions.
        """
        result, report = self.draft(messages, current_tokens, focus_topic, overhead_tokens)
        self.adopt(report)
        return result

    def draft(
        self,
        messages: list[Message],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        overhead_tokens: int | None = None,
        *,
        ask: bool = True,
        keep: bool = True,
    ) -> tuple[list[Message], CompactionReport]:
        """The compacted list and its report; the engine's counters change only when it is adopted.

        Without `ask`, no model is called. Without `keep`, nothing is stored or remembered, for previews.
        """
        rules = self._rules_for(messages, current_tokens, ask, keep)
        result, report = compact(messages, rules, current_tokens, focus_topic, overhead_tokens)
        reduced = within_limits(result, self.media, names_handles=self.able_to_recall)
        return (result, report) if reduced is None else (reduced, without_media(report, result, reduced))

    def adopt(self, report: CompactionReport) -> None:
        """Adopt a draft: the model sees the list of this report from now on."""
        self.last_report = report
        if report.outcome == "compacted":
            self.compression_count += 1
            self.last_prompt_tokens = report.tokens_after
        self._rearm = RearmState(report.tokens_after, report.rearm_tokens)

    def fixed_tokens(self, messages: Sequence[Message], overhead_tokens: int = 0) -> FixedPart:
        """The part of a request with these messages that no compaction reduces."""
        head = messages[: head_limit(messages)]
        tokens = list(map(estimate_message_tokens, head))
        return fixed_part(head, tokens, len(head), Calibration(overhead_tokens))

    @property
    def due_tokens(self) -> int:
        """The size at which the next compaction is due, according to the last one."""
        return self.threshold_tokens if self._rearm is None else self._rearm.due

    def resume(self, left: int, fixed: FixedPart) -> None:
        """Restore the state after a restart: the last compaction left this many tokens."""
        sizes = self.budget.sizes(fixed)
        due = sizes.rearm_tokens(left, gained=True, tail_is_protected=left > sizes.max_tokens_after)
        self._rearm = RearmState(left, due)

    def clearing(self, messages: Sequence[Message]) -> Clearing:
        """What `clear` would remove."""
        return clearing_of(messages, self._rules)

    def clear(self, messages: list[Message]) -> list[Message]:
        """The list with old tool results cleared and nothing summarised; `last_report` describes it."""
        result, self.last_report = cleared(messages, self._rules)
        return result

    def forget_summaries(self) -> None:
        """Called after a person edited the view: the sources of summaries are read from the log again."""
        self.remembered = self.remembered.emptied()

    def get_status(self) -> dict[str, Any]:
        report = self.last_report
        last = {"last_outcome": report.outcome, "last_reason": report.reason} if report else {}
        return {**super().get_status(), "tail_token_budget": self.tail_token_budget, **last}

    def on_session_reset(self) -> None:
        super().on_session_reset()
        self.last_report = None
        self._rearm = None
        self.remembered = self.remembered.emptied()

    def update_model(
        self,
        model: str,
        context_length: int,
        base_url: str = "",
        api_key: str = "",
        provider: str = "",
        api_mode: str = "",
    ) -> None:
        self.model = model
        self._rearm = None
        self._set_budget(replace(self.budget, window=context_length))

    def update_settings(self, threshold: float, target_ratio: float, target_tokens: int | None) -> None:
        """Compact at another threshold and to another size from now on; the window stays."""
        self._rearm = None
        self._set_budget(
            replace(self.budget, threshold=threshold, target_ratio=target_ratio, target=target_tokens)
        )

    @property
    def _rules(self) -> CompressorRules:
        return CompressorRules(
            self.budget,
            self.protect_last_n,
            self.summarizer,
            self.remembered,
            self.evidence,
            self.prompt,
            self.able_to_recall,
            self.unanswered_may_change,
        )

    def _rules_for(
        self, messages: Sequence[Message], current_tokens: int | None, ask: bool = True, keep: bool = True
    ) -> CompressorRules:
        """The rules; in a nearly full window, the recent messages are shortened even below the threshold."""
        rules = self._rules if ask else replace(self._rules, summarizer=None)
        rules = rules if keep else replace(rules, remembered=self.remembered.copied())
        tokens = current_tokens or estimate_messages_tokens_rough(messages)
        if tokens < self.context_length * _CROWDED_SHARE:
            return rules
        lowered = min(self.budget.threshold, _CROWDED_SHARE)
        budget = replace(self.budget, threshold=lowered, configured=self.budget.threshold)
        return replace(rules, budget=budget)

    def _note_count(self, tokens: int) -> None:
        """Discard the re-arm state if the prompt has shrunk since the last compaction."""
        if self._rearm and not self._rearm.applies_to(tokens, self.threshold_tokens):
            self._rearm = None

    def _set_budget(self, budget: Budget) -> None:
        self.budget = budget
        self.context_length = budget.window
        self.threshold_percent = budget.threshold
        self.threshold_tokens = budget.threshold_tokens

    @staticmethod
    def _window_of(model: str) -> int:
        return card_for(model).prompt_limit if model else DEFAULT_WINDOW


def _count(usage: Mapping[str, Any], key: str) -> int:
    value = usage.get(key)
    return value if isinstance(value, int) and value > 0 else 0
