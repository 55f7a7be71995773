"""The lossless engine keeps the public contract, with a model and without one."""

import pytest
from hypothesis import HealthCheck, given, settings
from lcm_host import Model

from plimsoll.context.lcm import LcmEngine
from plimsoll.testing import PROPERTIES, cases, check_engine, run_case


class Silent(Model):
    """A model that never answers."""

    def summarize(self, prompt, max_tokens):
        raise ConnectionError("the model is away")


def engine(case, summarizer=None):
    return LcmEngine(context_length=case.window, protect_last_n=case.protect_last_n, summarizer=summarizer)


FACTORIES = {
    "without a model": engine,
    "with a model": lambda case: engine(case, Model()),
    "with a model that is away": lambda case: engine(case, Silent()),
    "with a model that says too much": lambda case: engine(case, Model("word " * 9_000)),
}


@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES.keys())
def test_the_lossless_engine_keeps_the_contract(factory):
    assert [str(verdict) for verdict in check_engine(factory, examples=25) if not verdict.kept] == []


@pytest.mark.slow
@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES.keys())
def test_the_lossless_engine_keeps_the_contract_on_many_conversations(factory):
    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
    @given(cases())
    def holds(case):
        run = run_case(factory, case)
        for check in PROPERTIES:
            check(run)

    holds()
