"""`ContextCompressor`: the built-in engine, four phases behind the engine contract."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from plimsoll.caching import Clearing
from plimsoll.context.budget import Budget
from plimsoll.context.compressor.boundaries import PROTECT_FIRST_N
from plimsoll.context.compressor.clear import cleared, clearing_of
from plimsoll.context.compressor.compact import Rules, compact, has_content
from plimsoll.context.engine import ContextEngine
from plimsoll.context.ledger import Left, Remembered
from plimsoll.context.report import Report
from plimsoll.context.summarizer import SummaryWriter
from plimsoll.errors import SettingError
from plimsoll.messages import Message
from plimsoll.models import DEFAULT_WINDOW, card_for, estimate_messages_tokens_rough

# A compaction that ends above this share of the threshold has not got far below it.
_FAR_BELOW = 0.85
# After such a one, nothing happens until the line was left and is crossed again, or the prompt has grown this much.
_GROWTH = 1.10
# The line of session hygiene: a result above it would be compacted again before the next turn.
_CROWDED = 0.85


class ContextCompressor(ContextEngine):
    """Prune, find the boundaries, summarise, assemble.

    Without a summarizer, or when it fails in any way, the summary is written from the conversation itself.
    Where `context_length` is not given, the model's card decides. `target_tokens` is what a compacted conversation
    should weigh; by default a good third of the threshold, and with `lean` at most 10 000. `log` says what a summary
    stands for that another engine wrote in this conversation.
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
        log: Callable[[str], Left | None] | None = None,
    ) -> None:
        if protect_last_n < 1:
            raise SettingError(f"protect_last_n must be at least 1, not {protect_last_n!r}")
        self.model = model
        self.summarizer = summarizer
        self.protect_first_n = PROTECT_FIRST_N
        self.protect_last_n = protect_last_n
        self.last_report: Report | None = None
        self._waits_for: int | None = None
        self.remembered = Remembered(log)
        window = context_length if context_length is not None else self._window_of(model)
        self._set_budget(Budget(window, threshold, target_ratio, target_tokens, lean))

    @property
    def name(self) -> str:
        return "compressor"

    @property
    def tail_token_budget(self) -> int:
        """Tokens that the recent messages may take."""
        return self.budget.tail_tokens

    @property
    def max_summary_tokens(self) -> int:
        """The most that any summary may take."""
        return self.budget.max_summary_tokens

    def update_from_response(self, usage: Mapping[str, Any]) -> None:
        self.last_prompt_tokens = _count(usage, "prompt_tokens")
        self.last_completion_tokens = _count(usage, "completion_tokens")
        total = self.last_prompt_tokens + self.last_completion_tokens
        self.last_total_tokens = _count(usage, "total_tokens") or total
        self._note_count(self.last_prompt_tokens)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether the hard line is reached; after a compaction that stayed near it, only when crossed anew."""
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        self._note_count(tokens)
        return tokens >= max(self.threshold_tokens, self._waits_for or 0)

    def should_compress_preflight(self, messages: list[Message]) -> bool:
        return self.should_compress(estimate_messages_tokens_rough(messages))

    def has_content_to_compress(self, messages: list[Message], current_tokens: int | None = None) -> bool:
        return has_content(messages, self._rules_for(messages, current_tokens), current_tokens)

    def compress(
        self,
        messages: list[Message],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        **later: Any,
    ) -> list[Message]:
        """The lighter list; `last_report` says what was done and why."""
        result, report = self.draft(messages, current_tokens, focus_topic)
        self.adopt(report)
        return result

    def draft(
        self,
        messages: list[Message],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        ask: bool = True,
        keep: bool = True,
    ) -> tuple[list[Message], Report]:
        """The lighter list and its report; the engine's counters change only when it is adopted.

        Without `ask` no model is asked. Without `keep` nothing is stored or remembered, as a preview needs it.
        """
        rules = self._rules_for(messages, current_tokens)
        rules = rules if ask else replace(rules, summarizer=None)
        rules = rules if keep else replace(rules, remembered=self.remembered.copied())
        return compact(messages, rules, current_tokens, focus_topic)

    def adopt(self, report: Report) -> None:
        """The list of this report is what the model sees from now on."""
        self.last_report = report
        if report.outcome == "compacted":
            self.compression_count += 1
            self.last_prompt_tokens = report.tokens_after
        near = report.tokens_after > self.threshold_tokens * _FAR_BELOW
        self._waits_for = int(max(report.tokens_after, self.threshold_tokens) * _GROWTH) if near else None

    def clearing(self, messages: Sequence[Message]) -> Clearing:
        """What `clear` would remove."""
        return clearing_of(messages, self._rules)

    def clear(self, messages: list[Message]) -> list[Message]:
        """The list with old tool results cleared and nothing summarised; `last_report` says what was done."""
        result, self.last_report = cleared(messages, self._rules)
        return result

    def get_status(self) -> dict[str, Any]:
        report = self.last_report
        last = {"last_outcome": report.outcome, "last_reason": report.reason} if report else {}
        return {**super().get_status(), "tail_token_budget": self.tail_token_budget, **last}

    def on_session_reset(self) -> None:
        super().on_session_reset()
        self.last_report = None
        self._waits_for = None
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
        self._waits_for = None
        self._set_budget(replace(self.budget, window=context_length))

    @property
    def _rules(self) -> Rules:
        return Rules(self.budget, self.protect_last_n, self.summarizer, self.remembered)

    def _rules_for(self, messages: Sequence[Message], current_tokens: int | None) -> Rules:
        return replace(self._rules, budget=self._budget_for(messages, current_tokens))

    def _budget_for(self, messages: Sequence[Message], current_tokens: int | None) -> Budget:
        """The budget; in a crowded window the recent messages give way, however high the threshold is."""
        tokens = current_tokens or estimate_messages_tokens_rough(messages)
        if tokens < self.context_length * _CROWDED:
            return self.budget
        return replace(self.budget, threshold=min(self.budget.threshold, _CROWDED))

    def _note_count(self, tokens: int) -> None:
        """Below the line everything is as before the last compaction."""
        if 0 < tokens < self.threshold_tokens:
            self._waits_for = None

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
