"""How many secrets are found, and how much ordinary text is mistaken for one."""

import pytest
from secret_samples import HELD_OUT, LISTED, look_alikes, secrets

from plimsoll.secrets import redact
from plimsoll.secrets.key_formats import GENERIC, patterns

HALVES = ("listed", "held out")


def missed(half):
    return [name for name, text, pieces in secrets(half) if any(piece in redact(text) for piece in pieces)]


@pytest.mark.parametrize("half", HALVES)
def test_19_of_20_secrets_are_found_in_either_half_of_the_providers(half):
    total = len(list(secrets(half)))
    lost = missed(half)
    assert total >= 75
    assert len(lost) <= total * 0.05, lost


def test_the_samples_are_enough_to_tell():
    assert len(LISTED) >= 30
    assert len(HELD_OUT) >= 60
    assert sum(1 for half in HALVES for _ in secrets(half)) >= 150
    assert len(set(look_alikes())) >= 150


def test_no_pattern_was_written_for_a_provider_that_is_held_out():
    known = patterns()[len(GENERIC) :]
    bare = [key for provider, (_, key) in HELD_OUT.items() if not key.startswith("ey")]
    assert [key[:8] for key in bare if any(pattern.match(key) for pattern in known)] == []


def test_at_most_1_look_alike_in_50_is_mistaken_for_a_secret():
    texts = list(look_alikes())
    taken = [text for text in texts if redact(text) != text]
    assert len(taken) <= len(texts) * 0.02, taken


@pytest.mark.parametrize("half", HALVES)
def test_no_sample_changes_when_it_is_redacted_twice(half):
    for _, text, _ in secrets(half):
        once = redact(text)
        assert redact(once) == once
