"""The wiring: settings, environment and home in, working parts out. The only file that knows everything.

    settings ─┬─► who writes summaries, and why ─► Auxiliary ─┐
              ├─► thresholds, window ─────────────────────────┴─► ContextCompressor ─┐
              └─► who answers, and why ─► Line ──────────────────────────────────────┴─► Conversation

Nothing is connected before it is used: resolving looks at the environment and,
where it matters, asks for 200 ms whether Ollama is there.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from plimsoll.agent import CompactionRules, Line
from plimsoll.archive import Archive
from plimsoll.caching import CachingPolicy, caching_policy, request_extras
from plimsoll.config import BUILT_IN_ENGINES, Settings
from plimsoll.context import ContextCompressor, SummaryWriter
from plimsoll.errors import UserError
from plimsoll.models import ModelCard, unknown_model_notice
from plimsoll.providers import Endpoint, Resolution, connect, resolve
from plimsoll.providers.auxiliary import Auxiliary, AuxiliaryResolution, resolve_auxiliary
from plimsoll.providers.auxiliary.traits import window_at
from plimsoll.providers.local import embedded_model, model_path
from plimsoll.providers.local.model import DEFAULT_CONTEXT
from plimsoll.sessions import Conversation, Equipment
from plimsoll.tools import ToolBox, ToolContext, Workplace, standard_tools

_MAIN = ("model.name", "model.provider", "model.base_url")
_AUXILIARY = tuple(f"auxiliary.compression.{name}" for name in ("model", "provider", "base_url"))


def resolve_summaries(settings: Settings, environ: Mapping[str, str], home: Path) -> AuxiliaryResolution:
    """Who writes summaries under these settings, and why."""
    return asyncio.run(resolve_auxiliary(settings.auxiliary.compression, settings.model, environ, home=home))


def open_auxiliary(resolution: AuxiliaryResolution, home: Path) -> Auxiliary | None:
    """The models that were resolved, ready to write; None where there is none."""
    if not resolution.candidates:
        return None
    return Auxiliary(resolution.candidates, home=home, main=resolution.main)


def build_compressor(
    settings: Settings, summarizer: SummaryWriter | None = None, *, window: int | None = None
) -> ContextCompressor:
    """The built-in engine as configured; `window` outranks the settings."""
    compression = settings.compression
    return ContextCompressor(
        model=settings.model.name or "",
        context_length=window or settings.model.context_length or settings.model.card().window,
        threshold=compression.threshold,
        target_ratio=compression.target_ratio,
        protect_last_n=compression.protect_last_n,
        summarizer=summarizer,
    )


@dataclass(frozen=True, slots=True)
class Opened:
    """A conversation that is open, who answers in it and why, and what a person should know about it."""

    conversation: Conversation
    resolution: Resolution
    summaries: AuxiliaryResolution
    auxiliary: Auxiliary | None
    notices: tuple[str, ...] = ()

    @property
    def policy(self) -> CachingPolicy:
        """How requests are cached."""
        return self.conversation.agent.line.policy

    async def close(self) -> None:
        """Leave the conversation and let go of everything that it used."""
        await self.conversation.close()
        if self.auxiliary is not None:
            await asyncio.to_thread(self.auxiliary.close)


async def open_conversation(
    settings: Settings,
    environ: Mapping[str, str],
    home: Path,
    *,
    archive: Archive,
    resolution: Resolution,
    place: Path,
    holder: str,
    system_prompt: str,
    session: str | None = None,
) -> Opened:
    """The session of this id, or a new one, with the model that was resolved.

    `place` is the directory where tools work, `holder` names this process in turns and leases and is never used
    twice. A session that has begun keeps its system prompt.
    """
    card = card_of(settings, resolution.endpoint, home)
    found = await archive.session(session) if session else await archive.create_session(model=card.name)
    line = await open_line(settings, resolution, home, found.id)
    summaries = await resolve_auxiliary(settings.auxiliary.compression, settings.model, environ, home=home)
    auxiliary = open_auxiliary(summaries, home)
    line.on_reply = auxiliary.sent if auxiliary else None
    engine = build_compressor(settings, auxiliary, window=card.prompt_limit)
    await archive.update_session(found.id, model=card.name, engine=engine.name)
    # The model that comes along does not know tools; its prompt would only grow.
    talks_only = is_embedded(resolution.endpoint, home)
    equipment = Equipment(
        line=line,
        engine=engine,
        rules=CompactionRules(settings.compression.enabled, settings.compression.background),
        toolbox=ToolBox() if talks_only else standard_tools(),
        tool_context=ToolContext(Workplace(place, environment=dict(environ))),
        clock=time.time,
        limits=settings.agent.limits(),
        summary_model=summaries.candidates[0].endpoint.model if summaries.candidates else "",
        offers_recall=not talks_only,
    )
    conversation = await Conversation.open(archive, found.id, holder, equipment)
    await conversation.begin(system_prompt)
    return Opened(conversation, resolution, summaries, auxiliary, _notices(settings, card))


async def open_line(settings: Settings, resolution: Resolution, home: Path, conversation: str) -> Line:
    """The line to the model that was resolved; one that runs here is started."""
    endpoint = resolution.endpoint
    card = card_of(settings, endpoint, home)
    caching = settings.prompt_caching
    policy = caching_policy(
        endpoint.model,
        endpoint.provider,
        endpoint.base_url or None,
        cache_ttl=caching.cache_ttl,
        strategy=caching.strategy,
    )
    if is_embedded(endpoint, home):
        policy = replace(policy, reason=policy.reason.replace(endpoint.model, card.name))
    extras = request_extras(policy, conversation)
    return Line(
        client=await connect(endpoint, home=home, context_length=card.window),
        card=card,
        policy=policy,
        clock=time.time,
        max_tokens=settings.model.max_output_tokens,
        extra={"openai": extras} if extras else {},
    )


def card_of(settings: Settings, endpoint: Endpoint, home: Path) -> ModelCard:
    """The card of the model at an endpoint, with the window that it has there under these settings."""
    stated = settings.model.context_length
    name = embedded_model().name if is_embedded(endpoint, home) else endpoint.model
    card = settings.model.model_copy(update={"name": name}).card()
    if endpoint.embedded:
        most = DEFAULT_CONTEXT if is_embedded(endpoint, home) else stated or DEFAULT_CONTEXT
        return replace(card, name=name, window=min(stated or most, most), input_cap=None)
    if stated:
        return replace(
            card, window=stated if not card.known else min(stated, card.prompt_limit), input_cap=None
        )
    given = window_at(endpoint.provider)
    return replace(card, window=min(card.window, given)) if given else card


def is_embedded(endpoint: Endpoint, home: Path) -> bool:
    """Whether an endpoint is the small model that comes with Plimsoll."""
    return endpoint.embedded and Path(endpoint.model) == model_path(home)


def _notices(settings: Settings, card: ModelCard) -> tuple[str, ...]:
    engine, stated = settings.context.engine, settings.model.context_length
    unknown = (
        f"context.engine {engine!r} is unknown, so the built-in compressor serves. "
        "Name another with `plimsoll config set context.engine compressor`."
    )
    found = [unknown] if engine not in BUILT_IN_ENGINES else []
    # The windows of models on this machine are the server's, so no card has to know them.
    assumed = "" if stated or card.window == DEFAULT_CONTEXT else unknown_model_notice(card)
    return (*found, *([assumed] if assumed else []))


def explain(key: str, settings: Settings, environ: Mapping[str, str], home: Path) -> tuple[str, ...]:
    """What a setting that names a model comes to now, and why; empty for any other setting."""
    if key in _AUXILIARY:
        resolution = resolve_summaries(settings, environ, home)
        return (
            f"{resolution.headline}.",
            *(step.sentence for step in resolution.explanation if not step.taken),
        )
    if key not in _MAIN:
        return ()
    try:
        found = asyncio.run(resolve(settings.model, environ, home=home))
    except UserError as error:
        return (str(error),)
    sentences = found.sentences()
    return (sentences[-1], *sentences[:-1])
