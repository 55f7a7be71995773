"""Wires settings, environment and home directory into working objects. The only module that imports every package.

    settings ─┬─► summary model, and why ───────► Auxiliary ──┐
              ├─► thresholds, window, plugins ────────────────┴─► engine ────────────┐
              ├─► main model, and why ─► ModelConnection ────────────────────────────┼─► Conversation
              └─► tools, MCP servers ─► ToolBox ─────────────────────────────────────┘
                  └─────────── Shared by all conversations of a process ────────────┘

Nothing connects before it is used. Resolving a model reads the environment and, if needed,
probes Ollama for 200 ms. MCP servers connect in parallel when a conversation opens, because every
prompt starts with their tools.
"""

import asyncio
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from plimsoll.agent import CompactionRules, Hooks, ModelConnection, SummaryAccount, TurnLimits
from plimsoll.archive import Archive
from plimsoll.caching import CachingPolicy, caching_policy, request_extras
from plimsoll.config import Settings
from plimsoll.context import ContextCompressor, SummaryWriter
from plimsoll.installation import install_command
from plimsoll.models import ModelCard, limiting_betas, unknown_model_notice
from plimsoll.models.providers import window_at
from plimsoll.plugins import (
    COMPRESSOR,
    EngineContext,
    PluginLocations,
    ResolvedPlugins,
    make_compressor,
    resolve_plugins,
)
from plimsoll.providers import Client, Endpoint, Resolution, connect
from plimsoll.providers.auxiliary import Auxiliary, AuxiliaryResolution, resolve_auxiliary
from plimsoll.providers.local import embedded_model, model_path
from plimsoll.providers.local.model import DEFAULT_ANSWER, DEFAULT_CONTEXT
from plimsoll.providers.retry import Retries
from plimsoll.sessions import Conversation, ConversationParts, Hygiene
from plimsoll.sessions.turn_lock import LEASE_SECONDS
from plimsoll.settings.agent import AgentSettings
from plimsoll.tools import Tool, ToolBox, ToolContext, Workspace, require_bubblewrap, standard_tools
from plimsoll.tools.mcp import NEEDS_PACKAGE, McpServers

RECALL = "recall"  # the tool that every conversation adds itself
MCP, PLUGINS = "mcp", "plugins"  # sources of tools besides the standard ones


def resolve_summaries(settings: Settings, environ: Mapping[str, str], home: Path) -> AuxiliaryResolution:
    """The summary models under these settings, and why."""
    settings = settings.for_model(settings.model.name)
    return asyncio.run(resolve_auxiliary(settings.auxiliary.compression, settings.model, environ, home=home))


def open_auxiliary(
    settings: Settings, resolution: AuxiliaryResolution, home: Path, retries: Retries | None = None
) -> Auxiliary | None:
    """The resolved summary models; None if there are none."""
    if not resolution.candidates:
        return None
    idle = settings.auxiliary.compression.idle_timeout
    return Auxiliary(resolution.candidates, home=home, main=resolution.main, idle=idle, retries=retries)


def build_compressor(
    settings: Settings, summarizer: SummaryWriter | None = None, *, window: int | None = None, model: str = ""
) -> ContextCompressor:
    """The built-in engine as configured for a model; `window` overrides the settings."""
    name = model or settings.model.name or ""
    settings = settings.for_model(name)
    size = window or settings.model.prompt_limit()
    return make_compressor(EngineContext(settings, size, model=name, summarizer=summarizer))


def limits_of(settings: Settings, model: str = "") -> tuple[int, int]:
    """A model's window and compaction threshold, in tokens."""
    named = settings.model.model_copy(update={"name": model}) if model else settings.model
    budget = build_compressor(settings, window=named.prompt_limit(), model=model).budget
    return budget.window, budget.threshold_tokens


def rules_of(settings: Settings) -> CompactionRules:
    """When conversations are compacted."""
    compression = settings.compression
    return CompactionRules(compression.enabled, compression.background, policy=compression.policy)


def _limits(agent: AgentSettings) -> TurnLimits:
    return TurnLimits(agent.max_requests, agent.max_seconds, agent.max_money)


def plugin_locations(
    settings: Settings, environ: Mapping[str, str], home: Path, project: Path
) -> PluginLocations:
    """Where to look for plugins, and which ones the settings enable."""
    return PluginLocations(home, project, environ, tuple(settings.plugins.enabled))


def plugin_problems(
    settings: Settings, environ: Mapping[str, str], home: Path, project: Path
) -> tuple[str, ...]:
    """The problems of the engine and the plugins that the settings name; runs their code."""
    if settings.context.engine == COMPRESSOR and not settings.plugins.enabled:
        return ()
    return _tried(settings, environ, home, project).problems


def failed_plugins(
    settings: Settings, environ: Mapping[str, str], home: Path, project: Path
) -> Mapping[tuple[str, str], str]:
    """Why plugins that the settings name cannot be used, by setting and name; runs their code."""
    return _tried(settings, environ, home, project).failed


def _tried(settings: Settings, environ: Mapping[str, str], home: Path, project: Path) -> ResolvedPlugins:
    locations = plugin_locations(settings, environ, home, project)
    context = EngineContext(settings, settings.model.prompt_limit(), home)
    return resolve_plugins(settings.context.engine, locations, context)


@dataclass(frozen=True, slots=True)
class SharedResources:
    """What the conversations of one process share: the model and why it was chosen, its client, MCP servers.

    It has no archive, because conversations of different owners share it.
    """

    settings: Settings
    environ: Mapping[str, str]
    home: Path
    place: Path  # the directory where tools work
    resolution: Resolution
    summaries: AuxiliaryResolution
    client: Client
    servers: McpServers
    server_tools: tuple[Tool, ...] = ()
    tools: frozenset[str] | None = None  # names of offered tools and tool sources; None: all

    @property
    def has_no_tools(self) -> bool:
        """Whether the model has no tools, like the embedded one, whose prompt would only grow."""
        return is_embedded(self.resolution.endpoint, self.home)

    def offers(self, name: str) -> bool:
        """Whether conversations have this tool, or the tools of `mcp` or `plugins`."""
        return not self.has_no_tools and (self.tools is None or name in self.tools)

    async def close(self) -> None:
        """Close the servers and the model connection."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.client.aclose)
            await self.servers.close()


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options of a process for sessions that other processes may have open too."""

    patience: float = 30.0  # seconds to wait while another process answers
    lease: float = LEASE_SECONDS  # seconds for which a session stays locked after this process is killed
    hygiene: Hygiene | None = None


@dataclass(frozen=True, slots=True)
class OpenConversation:
    """An open conversation with its model, the reason for that choice, and notices for the user."""

    conversation: Conversation
    resolution: Resolution
    summaries: AuxiliaryResolution
    auxiliary: Auxiliary | None
    plugins: ResolvedPlugins
    notices: tuple[str, ...] = ()
    own: SharedResources | None = None  # closed with it, because no other conversation uses it

    @property
    def policy(self) -> CachingPolicy:
        """How requests are cached."""
        return self.conversation.agent.connection.policy

    async def close(self) -> None:
        """Close the conversation and everything that only it used."""
        async with AsyncExitStack() as stack:
            if self.own is not None:
                stack.push_async_callback(self.own.close)
            stack.push_async_callback(self.conversation.close)
            await self.conversation.agent.compactor.close()
            if self.auxiliary is not None:  # first, so that the usage of the last requests is stored
                await asyncio.to_thread(self.auxiliary.close)


async def open_shared(
    settings: Settings,
    environ: Mapping[str, str],
    home: Path,
    *,
    resolution: Resolution,
    place: Path,
    tools: frozenset[str] | None = None,
) -> SharedResources:
    """The shared resources of conversations with the resolved model; starts a local model.

    `tools` are the offered tools; `mcp` and `plugins` mean all of theirs; None: all.
    """
    if settings.tools.terminal.sandbox and (tools is None or "terminal" in tools):
        require_bubblewrap()
    settings = settings.for_model(resolution.endpoint.model)
    card = card_of(settings, resolution.endpoint, home)
    summaries = await resolve_auxiliary(settings.auxiliary.compression, settings.model, environ, home=home)
    client = await connect(resolution.endpoint, home=home, context_length=card.window)
    has_no_tools = is_embedded(resolution.endpoint, home)
    has_servers = not has_no_tools and (tools is None or MCP in tools)
    servers = McpServers(settings.mcp_servers if has_servers else {}, environ)
    parts = (settings, environ, home, place, resolution, summaries, client, servers)
    shared = SharedResources(*parts, tools=tools)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(shared.close)
        shared = replace(shared, server_tools=tuple(await servers.tools()))
        stack.pop_all()  # from here on, the caller closes it
    return shared


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
) -> OpenConversation:
    """Open the session with this id, or a new one, with the resolved model, sharing nothing.

    `place` is the directory where tools work; `holder` identifies this process and is never reused. An existing
    session keeps its system prompt. Engine, tools and plugins can only read what the archive's owner owns.
    """
    shared = await open_shared(settings, environ, home, resolution=resolution, place=place)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(shared.close)
        opened = await join_conversation(shared, archive, holder, system_prompt, session)
        stack.pop_all()
    opened.conversation.agent.connection.is_shared = False
    return replace(opened, own=shared)


async def join_conversation(
    shared: SharedResources,
    archive: Archive,
    holder: str,
    system_prompt: str,
    session: str | None = None,
    options: SessionOptions | None = None,
) -> OpenConversation:
    """Open the session with this id in its owner's archive, or a new one, with shared resources."""
    settings, home, options = shared.settings, shared.home, options or SessionOptions()
    card = card_of(settings, shared.resolution.endpoint, home)
    found = await archive.session(session) if session else await archive.create_session(model=card.name)
    auxiliary, account = open_auxiliary(settings, shared.summaries, home), SummaryAccount()
    writer = auxiliary.charging(account.add) if auxiliary else None
    connection = _model_connection(settings, shared.resolution, home, found.id, shared.client)
    connection.is_shared, connection.on_reply = True, auxiliary.sent if auxiliary else None
    resolved = resolve_plugins(
        settings.context.engine,
        plugin_locations(settings, shared.environ, home, shared.place),
        EngineContext(
            settings, card.prompt_limit, home, card.name, writer, archive, found.id, not shared.has_no_tools
        ),
    )
    await archive.update_session(found.id, model=card.name, engine=resolved.engine.name)
    box = ToolBox(tuple(tool for tool in _standard_tools(shared) if shared.offers(tool.name)))
    box = box.with_tools(shared.server_tools)
    added = resolved.tools if shared.offers(PLUGINS) else ()
    box = box.with_tools([tool for tool in added if box.get(tool.name) is None and tool.name != RECALL])
    candidates = shared.summaries.candidates
    parts = ConversationParts(
        connection=connection,
        engine=resolved.engine,
        rules=rules_of(settings),
        toolbox=box,
        tool_context=ToolContext(
            Workspace(shared.place, environment=dict(shared.environ)), settings.tools.output_limit
        ),
        clock=time.time,
        limits=_limits(settings.agent),
        summary_model=candidates[0].endpoint.model if candidates else "",
        offers_recall=not shared.has_no_tools,
        hooks=Hooks(resolved.hooks_named("pre_compact"), resolved.hooks_named("post_compact")),
        fallback=build_compressor(settings, writer, window=card.prompt_limit),
        patience=options.patience,
        lease=options.lease,
        hygiene=options.hygiene,
        account=account,
    )
    async with AsyncExitStack() as stack:
        if session is None:  # a cancelled caller leaves no empty session
            stack.push_async_callback(archive.delete, found.id)
        conversation = await Conversation.open(archive, found.id, holder, parts)
        await conversation.begin(system_prompt)
        stack.pop_all()  # from here on, everything is closed with the conversation
    notice = "The plugin tool {} was skipped, because another tool has that name."
    notices = [*resolved.problems, *(notice.format(tool.name) for tool in added if tool not in box)]
    notices += [*window_notices(settings, card), *_server_notices(shared.servers.problems)]
    return OpenConversation(
        conversation, shared.resolution, shared.summaries, auxiliary, resolved, tuple(notices)
    )


def _standard_tools(shared: SharedResources) -> ToolBox:
    # Approvals from a chat do not apply to network callers.
    approvals = shared.home / "approvals.json" if shared.tools is None else None
    tools = shared.settings.tools
    return standard_tools(tools.timeout, tools.terminal, approvals)


async def open_model_connection(
    settings: Settings, resolution: Resolution, home: Path, conversation: str
) -> ModelConnection:
    """The connection to the resolved model; starts a local one."""
    card = card_of(settings, resolution.endpoint, home)
    client = await connect(resolution.endpoint, home=home, context_length=card.window)
    return _model_connection(settings, resolution, home, conversation, client)


def _model_connection(
    settings: Settings, resolution: Resolution, home: Path, conversation: str, client: Client
) -> ModelConnection:
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
    is_small = is_embedded(endpoint, home)
    if is_small:
        policy = replace(policy, reason=policy.reason.replace(endpoint.model, card.name))
    extras = request_extras(policy, conversation)
    return ModelConnection(
        client=client,
        card=card,
        policy=policy,
        clock=time.time,
        max_tokens=settings.model.max_output_tokens or (DEFAULT_ANSWER if is_small else None),
        extra={"openai": extras} if extras else {},
        stops_repetition=is_small,
    )


def card_of(settings: Settings, endpoint: Endpoint, home: Path) -> ModelCard:
    """The card of the model at an endpoint, with its window there under these settings."""
    settings = settings.for_model(endpoint.model)
    stated = settings.model.context_length
    name = embedded_model().name if is_embedded(endpoint, home) else endpoint.model
    betas = limiting_betas(endpoint.header("anthropic-beta"))
    card = settings.model.model_copy(update={"name": name}).card(betas)
    if endpoint.embedded:
        window = DEFAULT_CONTEXT if is_embedded(endpoint, home) else stated or DEFAULT_CONTEXT
        return replace(card, name=name, window=min(stated or window, window), input_cap=None)
    if stated:
        return replace(
            card, window=stated if not card.known else min(stated, card.prompt_limit), input_cap=None
        )
    provider_window = window_at(endpoint.provider)
    return replace(card, window=min(card.window, provider_window)) if provider_window else card


def is_embedded(endpoint: Endpoint, home: Path) -> bool:
    """Whether an endpoint is the small model that ships with Plimsoll."""
    return endpoint.embedded and Path(endpoint.model) == model_path(home)


def window_notices(settings: Settings, card: ModelCard) -> tuple[str, ...]:
    stated = settings.model.context_length
    # Windows of local models come from the server, so no card is needed.
    assumed = "" if stated or card.window == DEFAULT_CONTEXT else unknown_model_notice(card)
    return (assumed,) if assumed else ()


def _server_notices(problems: Mapping[str, str]) -> Iterator[str]:
    """A notice for each missing server, or one if the package is missing."""
    if NEEDS_PACKAGE in problems.values():
        without = ", ".join(sorted(problems))
        yield f"{NEEDS_PACKAGE}: {install_command('mcp')}. The chat continues without the tools of {without}."
        return
    for name, reason in sorted(problems.items()):
        key = f"mcp_servers.{name}"
        off = f"plimsoll config set {shlex.quote(f'{key}.enabled')} false"
        advice = f"correct {key} in config.yaml, or disable it with `{off}`"
        yield f"{reason.rstrip('.')}. The chat continues without the tools of {name}; {advice}."
