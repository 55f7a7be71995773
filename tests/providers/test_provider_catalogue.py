"""A provider is one table in `models/providers.toml`, and nothing else."""

import json
from pathlib import Path

import pytest

from changed_package import run_with_additions
from plimsoll.models.providers import ProviderFacts, providers
from plimsoll.settings.context import AuxiliaryCompressionSettings
from plimsoll.settings.model import ModelSettings

TABLE = """
[harbour]
title = "Harbour"
dialect = "openai"
base_url = "https://api.harbour.example/v1"
hosts = ["harbour.example"]
model = "pilot-large"
summary_model = "pilot-small"
families = ["pilot"]
keys = [{ variable = "HARBOUR_API_KEY" }]
"""
ASK = """
import asyncio, json, pathlib
from plimsoll.config import load_settings
from plimsoll.providers import resolve
from plimsoll.providers.auxiliary import resolve_auxiliary

settings = load_settings().settings
environ, home = {"HARBOUR_API_KEY": "key-1"}, pathlib.Path(".")
found = asyncio.run(resolve(settings.model, environ, home=home)).endpoint
named = settings.model.model_copy(update={"provider": "auto", "name": "pilot-2"})
by_name = asyncio.run(resolve(named, environ, home=home)).endpoint
summaries = asyncio.run(resolve_auxiliary(settings.auxiliary.compression, settings.model, environ, home=home))
summary_model = summaries.candidates[0].endpoint.model
print(json.dumps([found.base_url, found.model, found.key, by_name.provider, summary_model]))
"""


def test_a_table_in_the_data_file_is_all_that_a_new_provider_needs(tmp_path: Path):
    printed = run_with_additions(
        tmp_path, {"models/providers.toml": TABLE}, ASK, PLIMSOLL_MODEL__PROVIDER="harbour"
    )
    assert json.loads(printed) == [
        "https://api.harbour.example/v1",
        "pilot-large",
        "key-1",
        "harbour",
        "pilot-small",
    ]


@pytest.mark.parametrize("facts", providers().values(), ids=lambda facts: facts.name)
def test_the_settings_accept_every_listed_provider_without_an_address(facts: ProviderFacts):
    assert ModelSettings(provider=facts.name).provider == facts.name
    assert AuxiliaryCompressionSettings(provider=facts.name).provider == facts.name
