"""The auxiliary model: who writes the summaries and why, asked with a deadline and somebody to fall back on."""

from plimsoll.providers.auxiliary.resolve import AuxiliaryResolution, Candidate, resolve_auxiliary
from plimsoll.providers.auxiliary.summarizer import Auxiliary, ChargedWriter, OneSummary

__all__ = [
    "Auxiliary",
    "AuxiliaryResolution",
    "Candidate",
    "ChargedWriter",
    "OneSummary",
    "resolve_auxiliary",
]
