"""The lossless engine keeps the public contract, with a model and without one."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lcm_host import Model

from plimsoll.context.lcm import LcmEngine
from plimsoll.testing import PROPERTIES, ContractCase, check_engine, run_case
from plimsoll.testing.strategies import conversations


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
    assert [str(verdict) for verdict in check_engine(factory, examples=10) if not verdict.kept] == []


# Short talks in small windows: they must be compacted as much as long ones, and more of them are tried in a second.
SHORT = st.builds(
    ContractCase,
    messages=conversations(min_turns=2, max_turns=6),
    window=st.sampled_from([1_000, 2_000, 4_000, 8_000]),
    protect_last_n=st.integers(1, 20),
)


@pytest.mark.slow
@settings(max_examples=50, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(SHORT, st.sampled_from(list(FACTORIES)))
def test_the_lossless_engine_keeps_the_contract_on_many_conversations(case, name):
    run = run_case(FACTORIES[name], case)
    for check in PROPERTIES:
        check(run)
