"""The summary model: how it is chosen, and requests to it with a deadline and fallbacks."""

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
