"""Runs the calls of one assistant message: validate, approve, run; every call gets a result.

    call ─► known? ─► JSON? ─► fits? ─► asked? ─► run ─► shortened ─► CallOutcome
              └─────────┴────────┴────────┴────────┴──────────────────┘  each "no" is an outcome too

A cancellation stops running tools, waits until they have ended, and answers the remaining calls.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from plimsoll.messages import Message, call_name
from plimsoll.tools.arguments import BadArguments, read_arguments
from plimsoll.tools.limits import shortened
from plimsoll.tools.tool import (
    ApprovalAnswer,
    ApprovalQuestion,
    Approve,
    Arguments,
    Interrupted,
    Tool,
    ToolContext,
    ToolResult,
    failed,
)

CANCELLED = "[cancelled by the user]"
PLAN_ONLY = (
    "was not run: the user wants a plan first, and nothing may be changed. Read what you need, then describe "
    "what you would do."
)
_GRACE = 10.0  # seconds for tools to stop; longer than ending a command and its children takes


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """A call and its result."""

    call: Mapping[str, Any]
    result: ToolResult
    seconds: float = 0.0
    crash: BaseException | None = field(
        default=None, repr=False
    )  # for the host's log; the model gets an error message

    @property
    def message(self) -> Message:
        """The tool message that answers the call."""
        return self.result.message(str(self.call.get("id", "")), call_name(dict(self.call)))


OnFinished: TypeAlias = Callable[[CallOutcome], None]


@dataclass(frozen=True, slots=True)
class FinishedCalls:
    """The outcomes of one assistant message, in the order of its calls."""

    outcomes: tuple[CallOutcome, ...]
    cancelled: bool = False

    @property
    def messages(self) -> list[Message]:
        """The tool messages that answer the calls."""
        return [outcome.message for outcome in self.outcomes]


@dataclass(slots=True)
class _PendingCall:
    """One call in progress."""

    call: Mapping[str, Any]
    tool: Tool | None = None
    arguments: Arguments = field(default_factory=dict)
    outcome: CallOutcome | None = None

    @property
    def waits(self) -> bool:
        return self.outcome is None


class ToolRun:
    """The state of one `run_all`."""

    def __init__(
        self,
        find: Callable[[str], Tool | None],
        unknown: Callable[[str], str],
        approve: Approve | None,
        context: ToolContext,
        on_finished: OnFinished | None,
    ) -> None:
        self._find, self._unknown = find, unknown
        self._approve, self._context, self._on_finished = approve, context, on_finished
        self._stopping = False

    async def all_of(self, calls: Sequence[Mapping[str, Any]]) -> FinishedCalls:
        jobs = [_PendingCall(call) for call in calls]
        work = asyncio.ensure_future(self._work(jobs))
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            self._stopping = True
            work.cancel()
            await _gone({work})
        if not self._stopping:
            work.result()
        for job in jobs:
            if job.waits:
                self._finish(job, ToolResult(CANCELLED, is_error=True))
        return FinishedCalls(tuple(job.outcome for job in jobs if job.outcome), cancelled=self._stopping)

    async def _work(self, jobs: Sequence[_PendingCall]) -> None:
        for job in jobs:
            self._prepare(job)
        for batch in _batches(jobs):
            for job in batch:
                await self._ask(job)
            running = {asyncio.ensure_future(self._run(job)) for job in batch if job.waits}
            if not running:
                continue
            try:
                await asyncio.wait(running)
            except asyncio.CancelledError:
                for task in running:
                    task.cancel()
                await _gone(running)
                raise

    def _prepare(self, job: _PendingCall) -> None:
        name = call_name(dict(job.call))
        job.tool = self._find(name)
        if job.tool is None:
            self._finish(job, failed(self._unknown(name)))
            return
        try:
            job.arguments = read_arguments(job.call, job.tool.definition.parameters)
        except BadArguments as error:
            self._finish(job, failed(f"{name} was not run: {error}"))

    async def _ask(self, job: _PendingCall) -> None:
        """Ask the user if the tool needs approval; a refusal is an outcome."""
        if not job.waits or job.tool is None:
            return
        try:
            is_plan = self._context.edits.mode == "plan"
            if is_plan and await job.tool.changes_something(job.arguments, self._context):
                self._finish(job, failed(f"{job.tool.name} {PLAN_ONLY}"))
                return
            needed = await job.tool.needs_approval(job.arguments, self._context)
            if needed is None:
                return
            reason, always = needed.reason, needed.always
            if self._approve is None:
                setting = job.tool.permission_setting
                hint = f"; {setting} in config.yaml can allow it" if setting else ""
                decision = ApprovalAnswer(False, f"no user is present to approve it{hint}")
            else:
                question = ApprovalQuestion(
                    str(job.call.get("id", "")), job.tool.name, job.arguments, reason, always, needed.preview
                )
                decision = await self._approve(question)
                if decision.allowed and decision.always and always:
                    job.tool.grant(always, self._context)
        except Exception as error:  # the host's or the tool's code may crash here; that is an outcome too
            self._finish(job, failed(f"{job.tool.name} was not run: {_said(error)}"), crash=error)
            return
        if not decision.allowed:
            remark = f": {decision.remark}" if decision.remark else ""
            text = f"{job.tool.name} was not run because it {reason}, and that was refused{remark}"
            self._finish(
                job, failed(f"{text}. Do not try to work around this; ask the user or continue without it.")
            )

    async def _run(self, job: _PendingCall) -> None:
        assert job.tool is not None
        began = time.monotonic()
        crash: BaseException | None = None
        try:
            result = await job.tool.run(job.arguments, self._context)
        except Interrupted as interrupted:
            result = interrupted.so_far
        except asyncio.CancelledError as error:
            crash = None if self._stopping else error
            text = CANCELLED if self._stopping else "Error: the tool cancelled itself"
            result = ToolResult(text, is_error=True)
        except (Exception, SystemExit) as error:  # a tool error never ends the conversation
            result, crash = failed(f"{job.tool.name} failed: {_said(error)}"), error
        self._finish(job, result, time.monotonic() - began, crash)

    def _finish(
        self, job: _PendingCall, result: ToolResult, seconds: float = 0.0, crash: BaseException | None = None
    ) -> None:
        job.outcome = CallOutcome(job.call, _presentable(result, self._context.output_limit), seconds, crash)
        if self._on_finished is not None:
            self._on_finished(job.outcome)


def _batches(jobs: Sequence[_PendingCall]) -> Iterator[list[_PendingCall]]:
    """Neighbouring calls that may run at the same time; every other call alone."""
    batch: list[_PendingCall] = []
    for job in jobs:
        is_safe = not job.waits or (job.tool is not None and job.tool.is_safe_in_parallel)
        if not is_safe:
            yield batch
            yield [job]
            batch = []
        else:
            batch.append(job)
    yield batch


def _presentable(result: ToolResult, limit: int) -> ToolResult:
    """The result as it can be sent: encodable, not empty, not too long."""
    clean = result.text.encode("utf-8", "replace").decode("utf-8") or "(no output)"
    text, whole = shortened(clean, limit)
    return replace(result, text=text, full=result.full if result.full is not None else whole)


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:500]}" if text else type(error).__name__


async def _gone(tasks: set[asyncio.Task[None]]) -> None:
    """Wait for cancelled tasks to end, even if this task is cancelled again; abandon those that ignore it."""
    end = time.monotonic() + _GRACE
    while any(not task.done() for task in tasks) and time.monotonic() < end:
        try:
            await asyncio.wait(tasks, timeout=end - time.monotonic())
        except asyncio.CancelledError:
            continue
    for task in tasks:
        if task.done() and not task.cancelled():
            task.exception()  # retrieved: a crash while stopping already has its outcome
