"""What the model sees: the engine contract, budgets, the ledger, the gate, and the built-in compressor."""

from plimsoll.context.budget import SUMMARY_RATIO, Budget
from plimsoll.context.compressor import ContextCompressor
from plimsoll.context.engine import ContextEngine
from plimsoll.context.report import Cleared, Report
from plimsoll.context.summarizer import ConversationSummarizer, Summarizer, SummaryService, SummaryWriter
from plimsoll.messages import handle_of

__all__ = [
    "SUMMARY_RATIO",
    "Budget",
    "Cleared",
    "ContextCompressor",
    "ContextEngine",
    "ConversationSummarizer",
    "Report",
    "Summarizer",
    "SummaryService",
    "SummaryWriter",
    "handle_of",
]
