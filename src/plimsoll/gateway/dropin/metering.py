"""The most that a request can use, and what it used, however it ends.

    before   max_usage ─► the most that it can use, reserved in the limits of its key
    after    Meter     ─► what the upstream reported, or an estimate of what was sent and received

A client that disconnects early is charged for the prompt and for the part of the reply that had arrived. A reply that
is not streamed arrives only at its end although the upstream generates it: its tokens are estimated by time.
"""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from plimsoll.agent.compaction_record import record_of
from plimsoll.archive import UsageRecord
from plimsoll.archive.keys import KeyUsage
from plimsoll.caching.pricing import max_money
from plimsoll.dialects import Dialect, Usage
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.output_limits import SMALL_BYTES, estimated_prompt
from plimsoll.gateway.dropin.upstream_request import UpstreamRequest
from plimsoll.gateway.dropin.usage_watch import UsageWatch
from plimsoll.gateway.dropin.windows import ModelFacts
from plimsoll.gateway.http import jsontext
from plimsoll.models import ModelCard, estimate_tokens

# Estimates miss the tokens of a text by 6.5 % on average (models/counting.py), and those of other scripts by more.
MARGIN = 1.25
BYTES_PER_TOKEN = 2  # the densest common text: digits, hashes, minified code
UNSEEN_PER_SECOND = 100  # tokens per second of fast models
MAX_CHOICES = 128  # OpenAI's limit for `n`
_FOLD_BYTES = 65_536


def max_usage(request: ClientRequest, facts: ModelFacts, ratio: float, has_summary: bool) -> KeyUsage:
    """The most that a request can use; `has_summary`: a model may summarise the conversation first."""
    prompt = max_prompt_tokens(request, facts, ratio)
    if has_summary and len(request.raw) >= facts.tracking_threshold:
        prompt *= 2
    return max_spending(facts.card, prompt, max_reply_tokens(request, facts.card))


def max_spending(card: ModelCard, prompt: int, output: int) -> KeyUsage:
    """Tokens and money of a request, at the highest price for its prompt."""
    return KeyUsage(0, prompt + output, max_money(card, prompt, output))


def max_prompt_tokens(request: ClientRequest, facts: ModelFacts, ratio: float) -> int:
    """An upper bound of the prompt's tokens, at most the upstream's window."""
    if len(request.raw) > SMALL_BYTES:
        return min(len(request.raw) // BYTES_PER_TOKEN, facts.window)
    return min(facts.window, round(MARGIN * max(1.0, ratio) * estimated_prompt(request)) + 16)


def max_reply_tokens(request: ClientRequest, card: ModelCard) -> int:
    """An upper bound of the reply's tokens: the client's limit, or the model's."""
    # Of two fields with the same meaning, upstreams read one or the other.
    limit = max(request.dialect.limits(request.body).values(), default=card.output_cap)
    if card.known:
        limit = min(limit, card.output_cap)
    return limit * min(request.dialect.choices(request.body), MAX_CHOICES)


class OutputEstimate:
    """Estimates the output tokens in the bytes of a reply, whole or streamed, in one of these dialects."""

    def __init__(self, *dialects: Dialect) -> None:
        self._dialects = dialects
        self._pieces: list[bytes] = []
        self._size = self._tokens = 0

    def feed(self, piece: bytes) -> None:
        """Add a piece of the reply. It is parsed when the estimate is needed, or when much has accumulated."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size >= _FOLD_BYTES:
            whole = b"".join(self._pieces)
            cut = whole.rfind(b"\n") + 1 or len(whole)
            self._count(whole[:cut])
            self._pieces, self._size = [whole[cut:]], len(whole) - cut

    def tokens(self) -> int:
        """The estimate so far."""
        self._count(b"".join(self._pieces))
        self._pieces, self._size = [], 0
        return self._tokens

    def _count(self, piece: bytes) -> None:
        if piece:
            texts = (_text(found) for found in _said_in(self._dialects).findall(piece))
            self._tokens += estimate_tokens("".join(texts))


@cache
def _said_in(dialects: tuple[Dialect, ...]) -> re.Pattern[bytes]:
    fields = dict.fromkeys(field for dialect in dialects for field in dialect.text_fields)
    names = b"|".join(re.escape(field).encode() for field in fields)
    return re.compile(rb'"(?:%b)"\s*:\s*("(?:[^"\\]|\\.)+")' % names)


def _text(quoted: bytes) -> str:
    try:
        return str(jsontext.read(quoted))
    except (ValueError, RecursionError):
        return quoted.decode("utf-8", "replace")


class Meter:
    """Measures the usage of one request. `is_counted`: the caller has limits, so estimates matter."""

    def __init__(
        self, out: UpstreamRequest, is_counted: bool, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.out, self.is_counted, self._clock = out, is_counted, clock
        self.reported: Usage | None = None
        self.is_final = False  # the reported usage covers the whole reply
        self._output = OutputEstimate(out.client_request.dialect, out.target.dialect)
        self._sent: float | None = None

    def sent(self) -> None:
        """Record that the request is being sent."""
        self._sent = self._clock()

    def refused(self) -> None:
        """Record that the upstream refused the request and bills nothing."""
        self._sent = None

    def received(self, piece: bytes) -> None:
        """Record a part of the reply."""
        if self.is_counted:
            self._output.feed(piece)

    def watched(self, watch: UsageWatch) -> None:
        """Use the usage that a stream reported."""
        self.reported, self.is_final = watch.usage(), watch.is_final

    def abandoned(self) -> None:
        """Record a disconnect or a timeout. The upstream may still generate a reply that is not streamed."""
        if self._sent is not None and not self.out.client_request.is_stream and self.reported is None:
            written = round(UNSEEN_PER_SECOND * (self._clock() - self._sent))
            self.reported = Usage(
                completion_tokens=min(max_reply_tokens(self.out.client_request, self.out.facts.card), written)
            )

    def record(self) -> UsageRecord | None:
        """The usage and cost of the request; None if the upstream refused it."""
        if self._sent is None:
            return None
        usage, out = self.reported or Usage(), self.out
        prompt = usage.prompt_tokens or (
            out.tokens_after if out.conversation else estimated_prompt(out.client_request)
        )
        output = usage.completion_tokens
        if not self.is_final:
            output = max(output, self._output.tokens())
        if prompt != usage.prompt_tokens or output != usage.completion_tokens:
            usage = replace(usage, prompt_tokens=prompt, completion_tokens=output)
        return record_of(out.facts.card, usage, model=out.model)
