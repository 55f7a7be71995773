"""Finds and repairs what a provider would reject in a conversation."""

from plimsoll.transcripts.repair.findings import Finding
from plimsoll.transcripts.repair.repair import DIALECTS, RepairResult, repair_body

__all__ = ["DIALECTS", "Finding", "RepairResult", "repair_body"]
