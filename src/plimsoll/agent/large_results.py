"""A tool result that is too large for the window: the log keeps all of it; the model sees an outline, both ends
and a handle.

    1,204,331 characters  ──► log    all of them, for search, export and users
                          ──► view   [json, 1,204,331 characters, 1 lines]     also of tables and code
                                     {"orders": [412 × {"id": 0, … }], "next": null}
                                     head … tail
                                     [1,204,331 characters in all; full text under handle h:3f2a9c1b7d]

One result takes at most a quarter of the window and never more than 16,000 tokens; the
results of one reply together take at most half of it. This applies to every tool.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from plimsoll.context.compressor.shorten import fit_text
from plimsoll.context.lcm import shape_of
from plimsoll.context.lcm.outline import MAX_CHARACTERS
from plimsoll.messages import Message, handle_of
from plimsoll.models import estimate_message_tokens, estimate_tokens
from plimsoll.tools import CallOutcome, ToolResult

RESULT_SHARE = 0.25  # of the window, for one result
REPLY_SHARE = 0.5  # of the window, for the results of one reply
MAX_TOKENS = 16_000  # for one result, however large the window is
_MIN_TOKENS = 64  # with less, a head and a tail are useless


@dataclass(frozen=True, slots=True)
class ToolResults:
    """Results as the log stores them and, by position, the shorter forms that the model sees."""

    whole: list[Message]
    shown: dict[int, Message] = field(default_factory=dict)

    @property
    def seen(self) -> list[Message]:
        """What the model sees."""
        return [self.shown.get(place, message) for place, message in enumerate(self.whole)]


def largest_result(window: int) -> int:
    """Tokens that one result may take in a window."""
    return max(_MIN_TOKENS, min(int(window * RESULT_SHARE), MAX_TOKENS))


def results_of(outcomes: Sequence[CallOutcome], window: int) -> ToolResults:
    """The results of one reply for the log and for the model."""
    limit = largest_result(window)
    sizes = [min(limit, estimate_message_tokens(outcome.message)) for outcome in outcomes]
    if sum(sizes) > window * REPLY_SHARE:
        limit = max(_MIN_TOKENS, min(limit, int(window * REPLY_SHARE) // len(outcomes)))
    whole = [_whole(outcome) for outcome in outcomes]
    shown = {}
    for place, outcome in enumerate(outcomes):
        if outcome.result.full is not None or estimate_tokens(outcome.result.text) > limit:
            shown[place] = _stub(outcome, whole[place], limit)
    return ToolResults(whole, shown)


def _whole(outcome: CallOutcome) -> Message:
    result = outcome.result
    return outcome.message if result.full is None else _message(outcome, replace(result, text=result.full))


def _stub(outcome: CallOutcome, whole: Message, limit: int) -> Message:
    """The outline, the start and end of the text within the limit, its size, and the handle of the full text."""
    result = outcome.result
    everything = result.text if result.full is None else result.full
    line = f"\n[{len(everything):,} characters in all; full text under handle {handle_of(whole)}]"
    room = max(_MIN_TOKENS, limit - estimate_tokens(line))
    # The tool shortens its own result best; ours applies only if the result is still too long.
    is_short = estimate_tokens(result.text) <= room
    outline = _outline(everything, room - estimate_tokens(result.text) if is_short else room // 3)
    text = result.text if is_short else fit_text(everything, room - estimate_tokens(outline))
    return _message(outcome, replace(result, text=outline + text + line))


def _outline(text: str, room: int) -> str:
    """The structure of JSON, a table or code, as lines; empty if there is none or too little room."""
    shape = shape_of(text, min(MAX_CHARACTERS, room * 2)) if room >= _MIN_TOKENS else ""
    kind, _, lines = shape.partition("\n")
    outline = f"[{kind}]\n{lines}\n\n" if lines else ""
    return outline if estimate_tokens(outline) <= room else ""


def _message(outcome: CallOutcome, result: ToolResult) -> Message:
    return replace(outcome, result=result).message
