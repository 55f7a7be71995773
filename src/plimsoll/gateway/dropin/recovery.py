"""Recovers from refusals that a rewritten request avoids, so that the client never sees them.

the answer may not be that long    lower the limit on the answer, for later requests too
prompt and answer do not fit       lower the limit for this request; the stated window applies from now on
the prompt does not fit            compact, once
too many bytes or images           remove the oldest images and documents, once
"""

from dataclasses import replace

from plimsoll.errors import ContextOverflow, OutputCapExceeded, PayloadTooLarge, ProviderError
from plimsoll.gateway.dropin.compaction import ConversationCompactor
from plimsoll.gateway.dropin.media import MediaRemover
from plimsoll.gateway.dropin.output_limits import UNCOUNTED_MARGIN, PromptSize
from plimsoll.gateway.dropin.recognition import Recognizer
from plimsoll.gateway.dropin.request_writer import RequestWriter
from plimsoll.gateway.dropin.upstream_request import UpstreamRequest
from plimsoll.gateway.dropin.windows import Windows
from plimsoll.providers.stated_limits import is_plausible, states_number

_SMALLEST, _LESS = 1_024, 0.8  # the window assumed after an overflow without a number


class Recovery:
    """Rewrites refused requests."""

    def __init__(
        self,
        recognizer: Recognizer,
        compactor: ConversationCompactor,
        writer: RequestWriter,
        windows: Windows,
        media: MediaRemover,
    ) -> None:
        self._recognizer, self._compactor, self._media = recognizer, compactor, media
        self._writer, self._windows = writer, windows

    async def recover(self, out: UpstreamRequest, error: ProviderError) -> bool:
        """Rewrite a refused request so that it fits. Returns whether that was possible.

        Lowers the limit on the answer first, but compacts first if the prompt has reached the threshold.
        """
        if out.client_request.is_switched_off:
            return False
        if isinstance(error, OutputCapExceeded):
            return self._shorten_to(out, error.limit)
        if isinstance(error, PayloadTooLarge):
            return await self._remove_media(out, error)
        if not isinstance(error, ContextOverflow):
            return False
        if error.limit and error.room:
            is_small = error.limit - error.room < error.limit * out.facts.threshold
        else:
            is_small = error.limit is None and self._writer.prompt_tokens(out) < out.facts.tracking_threshold
        return (
            (is_small and self._shorten_for(out, error))
            or await self._compact(out, error.limit)
            or self._shorten_for(out, error)
        )

    async def _compact(self, out: UpstreamRequest, limit: int | None) -> bool:
        """Compact the conversation and rewrite the request."""
        if out.has_compacted or not self._compactor.is_enabled:
            return False
        async with self._recognizer.recognised(out) as conversation:
            if conversation is None:
                return False
            await self._recognizer.update_from_archive(conversation, out.model)
            estimated = out.prompt_tokens(conversation)
            if limit and not is_plausible(limit, estimated + out.answer_limit):
                return False  # the refusal has another reason, or quotes the request
            credible = limit is not None and not states_number(out.client_request.text, limit)
            out.facts = self._windows.learn(out.endpoint, out.model, limit, credible)
            tokens = max(estimated, limit or 0)
            # Without a number from the upstream, all we know is that this was too much.
            smaller_card = replace(out.facts.card, window=max(_SMALLEST, int(tokens * _LESS)), input_cap=None)
            facts = (
                out.facts if limit or tokens >= out.facts.window else replace(out.facts, card=smaller_card)
            )
            if not await self._compactor.compact(conversation, tokens, facts, "overflow", out.model):
                return False
            out.set_view(conversation)
        out.has_compacted, out.counted = True, 0
        await self._writer.write(out)
        return True

    async def _remove_media(self, out: UpstreamRequest, error: PayloadTooLarge) -> bool:
        """Remove old images and documents, and rewrite the request."""
        if out.has_less_media or not self._compactor.is_enabled:
            return False
        async with self._recognizer.recognised(out) as conversation:
            if conversation is None:
                return False
            await self._recognizer.update_from_archive(conversation, out.model)
            self._windows.learn_media(out.endpoint, out.model)
            if not await self._media.recover(out, conversation, error):
                return False
            out.set_view(conversation)
        out.has_less_media, out.counted = True, 0
        await self._writer.write(out)
        return True

    def _shorten_to(self, out: UpstreamRequest, cap: int | None) -> bool:
        """Limit the answer to the cap that the upstream stated, or to half if it stated none."""
        lower = cap or out.answer_limit // 2
        if not 0 < lower < out.answer_limit:
            return False
        credible = cap is not None and not states_number(out.client_request.text, cap)
        learned = self._windows.learn_output_cap(out.endpoint, out.model, lower, credible)
        out.facts = replace(out.facts, output_cap=learned.output_cap)
        self._writer.write_now(out)
        return True

    def _shorten_for(self, out: UpstreamRequest, error: ContextOverflow) -> bool:
        """Limit the answer to what the window leaves. False if that is not shorter, or nothing is left."""
        prompt = self._writer.prompt_tokens(out)
        if error.limit and error.requested and error.output and error.room:
            # Use our own estimate: the upstream may quote numbers from the request.
            if not is_plausible(error.limit, prompt + out.answer_limit):
                return False
            credible = not states_number(out.client_request.text, error.limit)
            out.facts = self._windows.learn(out.endpoint, out.model, error.limit, credible)
            out.counted = error.requested - error.output
            left = error.room
        else:
            left = PromptSize(prompt, UNCOUNTED_MARGIN).left_in(out.facts.card.window)
        if not 0 < left < out.answer_limit:
            return False
        out.facts = replace(out.facts, output_cap=left)  # for this request only
        self._writer.write_now(out)
        return True
