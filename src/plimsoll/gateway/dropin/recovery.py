"""What is done about a refusal that can be cured, so that the client never sees it.

the answer may not be that long    a lower limit on the answer, for every later request too
prompt and answer do not fit       a lower limit, for this request; the window that was stated holds from now on
the prompt does not fit            a compaction, once
"""

from dataclasses import replace

from plimsoll.errors import ContextOverflow, OutputCapExceeded, ProviderError
from plimsoll.gateway.dropin.output_limits import UNCOUNTED_MARGIN, PromptSize
from plimsoll.gateway.dropin.planning import Outgoing, Planner
from plimsoll.gateway.dropin.windows import Windows
from plimsoll.providers.stated_limits import is_plausible, states_number


class Recovery:
    """Writes requests anew that were refused."""

    def __init__(self, planner: Planner, windows: Windows) -> None:
        self._planner, self._windows = planner, windows

    async def cure(self, out: Outgoing, error: ProviderError) -> bool:
        """After a refusal: write the request anew so that it fits; whether that was possible.

        A limit on the answer is lowered first. A prompt that has reached the threshold is compacted first.
        """
        if out.inquiry.is_switched_off:
            return False
        if isinstance(error, OutputCapExceeded):
            return self._shorten_to(out, error.limit)
        if not isinstance(error, ContextOverflow):
            return False
        if error.limit and error.room:
            is_small = error.limit - error.room < error.limit * out.facts.threshold
        else:
            is_small = error.limit is None and self._planner.prompt_tokens(out) < out.facts.look_line
        return (
            (is_small and self._shorten_for(out, error))
            or await self._planner.relieve(out, error.limit)
            or self._shorten_for(out, error)
        )

    def _shorten_to(self, out: Outgoing, cap: int | None) -> bool:
        """Allow an answer of what the upstream says that it writes, or of half where it names no number."""
        lower = cap or out.answer_limit // 2
        if not 0 < lower < out.answer_limit:
            return False
        credible = cap is not None and not states_number(out.inquiry.text, cap)
        learned = self._windows.learn_output_cap(out.endpoint, out.model, lower, credible)
        out.facts = replace(out.facts, output_cap=learned.output_cap)
        self._planner.write(out)
        return True

    def _shorten_for(self, out: Outgoing, error: ContextOverflow) -> bool:
        """Allow an answer of what the window leaves; False where that is not shorter, or nothing is left."""
        if error.limit and error.requested and error.output and error.room:
            # By our own estimate: the upstream's numbers may be quoted from the request.
            if not is_plausible(error.limit, self._planner.prompt_tokens(out) + out.answer_limit):
                return False
            credible = not states_number(out.inquiry.text, error.limit)
            out.facts = self._windows.learn(out.endpoint, out.model, error.limit, credible)
            out.counted = error.requested - error.output
            left = error.room
        else:
            left = PromptSize(self._planner.prompt_tokens(out), UNCOUNTED_MARGIN).left_in(
                out.facts.card.window
            )
        if not 0 < left < out.answer_limit:
            return False
        out.facts = replace(out.facts, output_cap=left)  # for this request alone
        self._planner.write(out)
        return True
