"""No test of a command finds a person's keys, configuration or models."""

import pytest

from plimsoll.providers import providers


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for facts in providers().values():
        for variable in (*(key.variable for key in facts.keys), *facts.addresses):
            monkeypatch.delenv(variable, raising=False)
