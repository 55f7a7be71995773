"""A home and a project for each test, and nothing registered by another one."""

import pytest
from plugin_folders import Place

from plimsoll.plugins import registry


@pytest.fixture
def place(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return Place(tmp_path / "home", tmp_path / "project")


@pytest.fixture(autouse=True)
def _nothing_registered(monkeypatch):
    monkeypatch.setattr(registry, "_ENGINES", {})
