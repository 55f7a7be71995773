"""A home and a project for each test, and nothing registered by another one; the agent's test tools are at hand."""

import sys
from pathlib import Path

import pytest
from plugin_folders import Place

from plimsoll.plugins import registry

sys.path.append(str(Path(__file__).parents[1] / "agent"))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return Place(tmp_path / "home", tmp_path / "project")


@pytest.fixture(autouse=True)
def _nothing_registered(monkeypatch):
    monkeypatch.setattr(registry, "_ENGINES", {})
