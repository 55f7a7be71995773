"""`LcmEngine`: the lossless context engine.

    below the soft threshold   only the log grows
    above it                   the host runs `compress` in the background: leaves, condensed nodes
    at the hard threshold      one publication; between two of them, every request extends the previous one

The engine's whole state is in its store (the host's archive, or lists in memory), so it can be
recreated at any time. It never tells the model how full the window is.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from plimsoll.context.compressor import ContextCompressor
from plimsoll.context.lcm.archive_node_store import ArchiveNodeStore
from plimsoll.context.lcm.compact import compact_into_tree
from plimsoll.context.lcm.node_store import OWN_SESSION, InMemoryNodeStore, NodeStore
from plimsoll.context.lcm.node_writer import LateTexts, NodeWriter
from plimsoll.context.lcm.tools import LcmToolContext, answer, schemas
from plimsoll.context.lcm.tree import current_tree
from plimsoll.context.ledger import CustomPrompt
from plimsoll.context.markers import newest_own_request
from plimsoll.context.report import CompactionReport
from plimsoll.context.summarizer import SummaryWriter
from plimsoll.messages import Message
from plimsoll.models.media_limits import MediaLimits


class LcmEngine(ContextCompressor):
    """Head, nodes, tail. Thresholds, counting and re-arming are the compressor's."""

    def __init__(
        self,
        model: str = "",
        context_length: int | None = None,
        threshold: float = 0.50,
        target_ratio: float = 0.20,
        protect_last_n: int = 20,
        summarizer: SummaryWriter | None = None,
        evidence: bool = True,
        store: NodeStore | None = None,
        clock: Callable[[], float] = lambda: 0.0,
        offers_tools: bool = True,
        prompt: CustomPrompt | None = None,
    ) -> None:
        """`clock` returns seconds; with it, no summary starts that the host would not wait for.

        `offers_tools`: the model can call tools. Summaries mention the engine's tools only then.
        """
        super().__init__(
            model,
            context_length,
            threshold,
            target_ratio,
            protect_last_n,
            summarizer,
            evidence=evidence,
            able_to_recall=True,
            prompt=prompt,
            media=MediaLimits(),  # the host removes images; the tree keeps them
        )
        self.store: NodeStore = store or InMemoryNodeStore()
        self.clock, self.offers_tools = clock, offers_tools
        self.late_texts: LateTexts = {}

    @property
    def name(self) -> str:
        return "lcm"

    def update_settings(self, threshold: float, target_ratio: float, target_tokens: int | None) -> None:
        # A tree has the size of its nodes, so `target_tokens` does not apply.
        super().update_settings(threshold, target_ratio, None)

    def draft(
        self,
        messages: list[Message],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        overhead_tokens: int | None = None,
        *,
        ask: bool = True,
        keep: bool = True,
    ) -> tuple[list[Message], CompactionReport]:
        rules = self._rules_for(messages, current_tokens, ask, keep)
        rules = replace(rules, able_to_recall=self.offers_tools)
        late_texts = self.late_texts if keep else {}
        writer = NodeWriter(
            rules.summarizer, focus_topic, self.clock, late_texts=late_texts, custom=self.prompt
        )
        store = self.store if keep else self.store.scratch()
        return compact_into_tree(messages, store, writer, rules, current_tokens, overhead_tokens)

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return copy.deepcopy(list(schemas())) if self.offers_tools else []

    def handle_tool_call(self, name: str, args: dict[str, Any], **kwargs: Any) -> str:
        context = LcmToolContext(
            self.store, NodeWriter(self.summarizer, None, self.clock), self._asked_at(kwargs.get("messages"))
        )
        return answer(name, args, context)

    def on_session_start(self, session_id: str, **kwargs: Any) -> None:
        if isinstance(self.store, ArchiveNodeStore) and session_id and session_id != self.store.session:
            self.store = self.store.of(session_id)

    def forget_summaries(self) -> None:
        super().forget_summaries()
        self.late_texts = {}

    def on_session_reset(self) -> None:
        """Start a new conversation; an archive keeps the old one."""
        super().on_session_reset()
        self.late_texts = {}
        if self.store.session == OWN_SESSION:
            self.store = InMemoryNodeStore()

    def get_status(self) -> dict[str, Any]:
        tree = current_tree(self.store)
        waiting = sum(node.degraded for node in tree.known.values() if node.id not in tree.replaced)
        return {
            **super().get_status(),
            "nodes": len(tree.known),
            "leaves": len(tree.leaves),
            "to_redo": waiting,
        }

    def _asked_at(self, view: Any) -> int:
        """The number of the newest request in the log; 0 if the view is unknown."""
        if not isinstance(view, list) or not view:
            return 0
        place = newest_own_request(view)
        return 0 if place is None else self.store.positions(view)[place]
