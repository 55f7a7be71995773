"""The engines that come with Plimsoll, offered as a plugin would offer its own."""

from plimsoll.context import ContextCompressor
from plimsoll.plugins.offers import COMPRESSOR, EngineContext, EngineOffer

SOURCE = "built in"


def built_in_engines() -> tuple[EngineOffer, ...]:
    """Every built-in engine; the first one serves where another cannot."""
    return (
        EngineOffer(
            COMPRESSOR,
            "Clears old tool results and summarises the middle; works without a model too.",
            SOURCE,
            make_compressor,
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
    )
