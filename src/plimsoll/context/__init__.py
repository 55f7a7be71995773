"""What the model sees: the engine interface, budgets, ledger, gate, and the built-in engines."""

from plimsoll.context.budget import SUMMARY_RATIO, Budget
from plimsoll.context.compressor import ContextCompressor
from plimsoll.context.engine import ContextEngine
from plimsoll.context.report import ClearedResult, CompactionReport
from plimsoll.context.summarizer import ConversationSummarizer, Summarizer, SummaryService, SummaryWriter
from plimsoll.messages import handle_of

__all__ = [
    "SUMMARY_RATIO",
    "Budget",
    "ClearedResult",
    "CompactionReport",
    "ContextCompressor",
    "ContextEngine",
    "ConversationSummarizer",
    "Summarizer",
    "SummaryService",
    "SummaryWriter",
    "handle_of",
]
