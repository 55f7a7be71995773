"""The built-in engines, registered in the same way as a plugin's."""

import time
from collections.abc import Callable

from plimsoll.archive.blocking import BlockingArchive
from plimsoll.context import ContextCompressor
from plimsoll.context.compressor.stored_log import StoredLog
from plimsoll.context.lcm import ArchiveNodeStore, InMemoryNodeStore, LcmEngine, NodeStore
from plimsoll.context.ledger import LoggedSource
from plimsoll.models.media_limits import MediaLimits
from plimsoll.plugins.offers import COMPRESSOR, EngineContext, EngineOffer
from plimsoll.plugins.prompt_file import read_prompt_file

SOURCE = "built in"
LCM = "lcm"


def built_in_engines() -> tuple[EngineOffer, ...]:
    """Every built-in engine; the first one replaces unusable ones."""
    return (
        EngineOffer(
            COMPRESSOR,
            "Clears old tool results and summarises the middle; works without a model too.",
            SOURCE,
            make_compressor,
        ),
        EngineOffer(
            LCM,
            "Keeps everything: a tree of summaries over the whole log, with tools to search and read it back.",
            SOURCE,
            make_lcm,
        ),
    )


def make_compressor(context: EngineContext) -> ContextCompressor:
    """The built-in engine as configured."""
    compression = context.settings.compression
    return ContextCompressor(
        model=context.model,
        context_length=context.window,
        threshold=compression.threshold,
        target_ratio=compression.target_ratio,
        protect_last_n=compression.protect_last_n,
        summarizer=context.summarizer,
        target_tokens=compression.target_tokens,
        lean=compression.policy == "cost",
        evidence=compression.evidence,
        prompt=read_prompt_file(compression.prompt_file),
        log=_log_of(context),
        # Stored views always name handles, by which the archive finds the original. `ModelConnection` and the gateway
        # remove them for a model that cannot use them.
        able_to_recall=True,
        media=MediaLimits(),  # the host removes images, according to the model's card
    )


def _log_of(context: EngineContext) -> Callable[[str], LoggedSource | None] | None:
    if context.archive is None or not context.session_id:
        return None
    return StoredLog(BlockingArchive.here(context.archive), context.session_id).replaced_messages


def make_lcm(context: EngineContext) -> LcmEngine:
    """The lossless engine as configured, on the conversation's archive if there is one."""
    compression = context.settings.compression
    store: NodeStore = InMemoryNodeStore(time.time)
    if context.archive is not None and context.session_id:
        store = ArchiveNodeStore(BlockingArchive.here(context.archive), context.session_id)
    return LcmEngine(
        model=context.model,
        context_length=context.window,
        threshold=compression.threshold,
        target_ratio=compression.target_ratio,
        protect_last_n=compression.protect_last_n,
        summarizer=context.summarizer,
        evidence=compression.evidence,
        prompt=read_prompt_file(compression.prompt_file),
        store=store,
        clock=time.monotonic,
        offers_tools=context.offers_tools,
    )
