"""Measures what survives a compaction, without a model: needed facts, stated facts, validity, fabrications. Pure."""

from plimsoll.quality.cuts import (
    CONTINUATION,
    MIN_TOKENS,
    first_and_last,
    recency_window,
    spread,
    turns_of,
)
from plimsoll.quality.fabricated import fabrications
from plimsoll.quality.figures import THIRDS, QualityFigures, figures, share, shares, third_of
from plimsoll.quality.measure import Measurement, MeasurementCase, measure, prepare
from plimsoll.quality.needed import FactGrade, NeededFact, grade, needed_facts
from plimsoll.quality.size_matching import SizeSettings, fit
from plimsoll.quality.stated import WEIGHTS, StatedFact, kept, stated_facts, weighted
from plimsoll.quality.terms import Reading, places_of, terms_in
from plimsoll.quality.texts import joined, read_text, tokens

__all__ = [
    "CONTINUATION",
    "MIN_TOKENS",
    "THIRDS",
    "WEIGHTS",
    "FactGrade",
    "Measurement",
    "MeasurementCase",
    "NeededFact",
    "QualityFigures",
    "Reading",
    "SizeSettings",
    "StatedFact",
    "fabrications",
    "figures",
    "first_and_last",
    "fit",
    "grade",
    "joined",
    "kept",
    "measure",
    "needed_facts",
    "places_of",
    "prepare",
    "read_text",
    "recency_window",
    "share",
    "shares",
    "spread",
    "stated_facts",
    "terms_in",
    "third_of",
    "tokens",
    "turns_of",
    "weighted",
]
