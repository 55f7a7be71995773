"""The shell as a tool.

    command ─► read-only? else ask ─► bash, own session, no input ─► output, cut to its ends ─► exit code: N

The next command starts in the directory in which the last one ended. A command that times
out is terminated with all its children, and its output so far is kept.
"""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from plimsoll.settings.tools import TerminalSettings
from plimsoll.tools.definitions import definition_of
from plimsoll.tools.files.suggestions import missing
from plimsoll.tools.limits import BoundedBytes, shortened
from plimsoll.tools.process import run_process
from plimsoll.tools.terminal.approval import ApprovalDecision, approval_for
from plimsoll.tools.terminal.git_settings import with_reading_settings
from plimsoll.tools.terminal.grants import Grants
from plimsoll.tools.terminal.output import last_line, readable
from plimsoll.tools.terminal.sandbox import sandboxed
from plimsoll.tools.tool import Approval, Arguments, Interrupted, Tool, ToolContext, ToolResult, failed

# A pager, a password prompt or a progress animation would wait for a terminal that does not exist; CDPATH would
# redirect `cd`.
_QUIET = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "TERM": "dumb", "CDPATH": ""}


class Terminal(Tool):
    """Runs commands. Without `grants`, nothing can be allowed permanently."""

    permission_setting = "tools.terminal.allow"

    def __init__(
        self,
        seconds: float = 120.0,
        longest: float = 3600.0,
        settings: TerminalSettings | None = None,
        grants: Grants | None = None,
    ) -> None:
        super().__init__(definition_of("terminal"))
        self._seconds, self._longest = seconds, longest
        self._settings, self._grants = settings or TerminalSettings(), grants or Grants()
        # The last call that needed approval.
        self._last_decision: tuple[Arguments, ApprovalDecision] = {}, ApprovalDecision()

    async def needs_approval(self, arguments: Arguments, context: ToolContext) -> Approval | None:
        # In a thread: it reads files and git's settings.
        verdict = await asyncio.to_thread(self._verdict, arguments, context)
        self._last_decision = arguments, verdict
        if verdict.reason is None:
            return None
        can_store = self._grants.can_store(context.workplace)
        return Approval(verdict.reason, verdict.programs if can_store else ())

    async def changes_something(self, arguments: Arguments, context: ToolContext) -> bool:
        verdict = await asyncio.to_thread(self._verdict, arguments, context)
        # A program that the user allowed runs without approval, but is not known to be read-only.
        return bool(verdict.reasons or verdict.used)

    def grant(self, names: Sequence[str], context: ToolContext) -> None:
        self._grants.add(context.workplace, names)

    def _verdict(self, arguments: Arguments, context: ToolContext) -> ApprovalDecision:
        place = context.workplace
        directory = (
            place.resolve(arguments["workdir"]) if arguments.get("workdir") else place.existing_directory()
        )
        granted = self._grants.of(place)
        return approval_for(arguments["command"], directory, place, self._settings.allow, granted)

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        place = context.workplace
        if "\0" in arguments["command"]:
            return failed("the command contains a NUL character, which no shell accepts")
        once = arguments.get("workdir")
        directory = place.resolve(once) if once else place.existing_directory()
        if not directory.is_dir():
            return failed(f"workdir {missing(directory, place)}")
        seconds = min(float(arguments.get("timeout") or self._seconds), self._longest)
        kept = BoundedBytes()
        try:
            environment = await self._environment(arguments, context)
            code, ended_in = await self._run_shell(
                arguments["command"],
                directory,
                place.root,
                environment,
                seconds,
                kept.take
                if context.on_output is None
                else partial(_take_and_report, kept, context.on_output, place.environment),
            )
        except asyncio.CancelledError:
            raise Interrupted(_result("[cancelled by the user]", kept, context, is_error=True)) from None
        if code is None:
            note = f"[timed out after {seconds:g} s; the command and its child processes were terminated]"
            return _result(note, kept, context, is_error=True)
        moved = ended_in is not None and ended_in != directory
        if ended_in is not None and not once:
            place.directory = ended_in
        where = f"[working directory: {ended_in}]\n" if moved and not once else ""
        return _result(where + _exit_line(code), kept, context)

    async def _environment(self, arguments: Arguments, context: ToolContext) -> dict[str, str]:
        decided, verdict = self._last_decision
        if decided is not arguments:  # it needed no approval, or another call was checked since
            verdict = await asyncio.to_thread(self._verdict, arguments, context)
        environment = {**context.workplace.environment, **_QUIET}
        is_unasked = not verdict.reasons and not verdict.used
        return with_reading_settings(environment) if is_unasked else environment

    async def _run_shell(
        self,
        command: str,
        directory: Path,
        root: Path,
        environment: Mapping[str, str],
        seconds: float,
        take: Callable[[bytes], bool],
    ) -> tuple[int | None, Path | None]:
        """The exit code and the shell's last directory, if known."""
        shell = shutil.which("bash") or "/bin/sh"
        reading, writing = os.pipe()
        try:
            os.set_blocking(reading, False)
            argv = [shell, "-c", f"trap 'pwd -P >/dev/fd/{writing}' EXIT; {command}"]
            if self._settings.sandbox:
                argv = sandboxed(argv, root, directory, network=self._settings.network)
            try:
                code = await run_process(
                    argv,
                    directory=directory,
                    environment=environment,
                    seconds=seconds,
                    take=take,
                    keep_open=(writing,),
                )
            finally:
                os.close(writing)
            return code, _reported_directory(reading)
        finally:
            os.close(reading)


def _take_and_report(
    kept: BoundedBytes, report: Callable[[str], None], environment: Mapping[str, str], chunk: bytes
) -> bool:
    """Keep printed output, and report its last line."""
    is_enough = kept.take(chunk)
    report(last_line(kept, environment))
    return is_enough


def _reported_directory(reading: int) -> Path | None:
    try:
        text = os.read(reading, 65_536).decode("utf-8", "surrogateescape")
    except BlockingIOError:
        return None
    path = Path(text.removesuffix("\n"))
    return path if text and path.is_absolute() and path.is_dir() else None


def _exit_line(code: int) -> str:
    if code >= 0:
        return f"exit code: {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"exit code: {128 - code} (killed by {name})"


def _result(last: str, kept: BoundedBytes, context: ToolContext, is_error: bool = False) -> ToolResult:
    """Output and last line within the limit; the last line is always complete."""
    output = readable(kept, context.workplace.environment)
    room = max(0, context.output_limit - len(last) - 1)
    text, whole = shortened(output.rstrip("\n"), room)
    join = f"{text}\n{last}" if text else last
    return ToolResult(join, is_error, full=None if whole is None else f"{whole}\n{last}")
