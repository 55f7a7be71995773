"""The real embedded model as the writer: a summary in pieces, and a real overflow that makes them smaller."""

import asyncio

import pytest
from auxiliary_conversations import ships

from embedded_model import alone
from plimsoll import ContextCompressor, validate
from plimsoll.models import card_for, estimate_tokens
from plimsoll.providers import LocalServer
from plimsoll.providers.auxiliary import Auxiliary, Candidate
from plimsoll.providers.local import model_path

pytestmark = pytest.mark.slow
WINDOW = 2_000
_PATIENCE = 3_600.0  # seconds: however busy the machine is, only the server's refusals count here


@pytest.fixture(scope="module")
def served(embedded_home):
    with alone("server.lock"):
        server = asyncio.run(LocalServer.start(model_path(embedded_home), context_length=WINDOW))
        try:
            yield server
        finally:
            server.stop()


class Watched:
    """An auxiliary of which every prompt is seen."""

    def __init__(self, inner):
        self.inner, self.prompts, self.answers = inner, [], []

    def begin(self):
        self.one = self.inner.begin()
        return self

    @property
    def context_length(self):
        return self.one.context_length

    def summarize(self, prompt, max_tokens):
        self.prompts.append((estimate_tokens(prompt), max_tokens))
        self.answers.append(self.one.summarize(prompt, max_tokens))
        return self.answers[-1]


def compacted(server, window, embedded_home, turns):
    one = Candidate(server.endpoint(), card_for("smollm2"), window, "configured")
    with Auxiliary([one], home=embedded_home, deadline=_PATIENCE, idle=_PATIENCE) as inner:
        watched = Watched(inner)
        engine = ContextCompressor(context_length=4_000, protect_last_n=2, summarizer=watched)
        result = engine.compress(ships(turns, 110))
        assert validate(result) == []
        return watched, engine.last_report


def test_a_real_overflow_is_read_with_its_number_and_pieces_shrink_to_it(served, embedded_home):
    watched, report = compacted(served, 8_192, embedded_home, 13)
    assert sum(watched.prompts[0]) > WINDOW, "as large as the stated window allows"
    assert watched.inner.models[0].window <= WINDOW, "what the server said was learned"
    assert watched.inner.models[0].window > WINDOW // 2
    assert len(watched.prompts) > 2, report.steps
    assert all(prompt + answer <= WINDOW for prompt, answer in watched.prompts[1:])
    assert len(watched.answers) == len(watched.prompts) - 1, "only the first was refused"
    assert report.outcome == "compacted"
    assert report.summary_source == "model"
    assert report.summary.startswith("## Goal")
