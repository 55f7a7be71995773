"""Agents that keep sessions: how each one is asked a question, with a home directory of its own."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cases import PEERS
from processes import CLIENT_SECONDS, LOOPBACK_ONLY, PROGRAM, ClientFailed

from plimsoll.testing.scripted_server import ScriptedServer

CODEX_SETTINGS = """\
model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "Scripted"
base_url = "{url}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""
GEMINI_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True},
    "telemetry": {"enabled": False},
    # The scripted model repeats itself, which the CLI takes for a loop and breaks off.
    "model": {"disableLoopDetection": True},
    # On a terminal of its own, the CLI may miss the end of a command's output.
    "tools": {"shell": {"enableInteractiveShell": False}},
}


@dataclass(frozen=True, slots=True)
class Home:
    """The home directory and the project of one person."""

    folder: Path

    @property
    def project(self) -> Path:
        """The directory that the agents work in."""
        return self.folder / "project"

    def run(self, command: list[str], variables: dict[str, str] | None = None) -> str:
        """What a program prints that runs in the project."""
        self.project.mkdir(parents=True, exist_ok=True)
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PLIMSOLL_HOME": str(self.folder / "plimsoll"),
            "PLIMSOLL_COMPRESSION__PROTECT_LAST_N": "4",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            **LOOPBACK_ONLY,
            **(variables or {}),
        }
        done = subprocess.run(
            command,
            cwd=self.project,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CLIENT_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise ClientFailed(
                f"{command} ended with {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
            )
        return done.stdout

    def plimsoll(self, *arguments: str) -> str:
        """What the `plimsoll` command prints."""
        return self.run([PROGRAM, *arguments])


@dataclass(frozen=True, slots=True)
class ClaudeCode:
    """Claude Code without a screen."""

    latest, target, model = "claude", "claude-code", "claude-sonnet-4-5"

    def ask(self, home: Home, server: ScriptedServer, question: str, session: str | None = None) -> str:
        """The answer, in a new session or in this one."""
        command = [str(PEERS["claude-code"].program("claude")), "-p", question, "--output-format", "json"]
        command += ["--model", self.model, "--allowedTools", "Bash"]
        printed = home.run(
            [*command, "--resume", session] if session else command,
            {
                "ANTHROPIC_API_KEY": "any",
                "ANTHROPIC_BASE_URL": server.anthropic_url,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_ERROR_REPORTING": "1",
                "DISABLE_AUTO_COMPACT": "1",
                "IS_SANDBOX": "1",
            },
        )
        return str(json.loads(printed)["result"])

    def call(self, command: str) -> tuple[str, dict[str, str]]:
        """Its tool that runs a command."""
        return "Bash", {"command": command, "description": "Look"}


@dataclass(frozen=True, slots=True)
class Codex:
    """Codex without a screen."""

    latest, target, model = "codex", "codex", "gpt-5.5"

    def ask(self, home: Home, server: ScriptedServer, question: str, session: str | None = None) -> str:
        """The answer, in a new session or in this one."""
        settings = home.folder / ".codex" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(CODEX_SETTINGS.format(model=self.model, url=server.openai_url), "utf-8")
        command = [str(PEERS["codex"].program("codex")), "exec"]
        if session:
            command += ["resume", session]
        command += ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", question]
        events = [json.loads(line) for line in home.run(command, {"SCRIPTED_KEY": "any"}).splitlines()]
        said = [one["item"] for one in events if one["type"] == "item.completed"]
        return str([item["text"] for item in said if item["type"] == "agent_message"][-1])

    def call(self, command: str) -> tuple[str, dict[str, str]]:
        """Its tool that runs a command."""
        return "exec_command", {"cmd": command}


@dataclass(frozen=True, slots=True)
class GeminiCli:
    """Gemini CLI without a screen."""

    latest, target, model = "gemini", "gemini", "gemini-2.5-pro"

    def ask(self, home: Home, server: ScriptedServer, question: str, session: str | None = None) -> str:
        """The answer, in a new session or in this one."""
        settings = home.folder / ".gemini" / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps(GEMINI_SETTINGS), "utf-8")
        command = [str(PEERS["gemini-cli"].program("gemini")), "-p", question, "-m", self.model, "--yolo"]
        command += ["-o", "json"]
        printed = home.run(
            [*command, "--resume", session] if session else command,
            {
                "GOOGLE_GEMINI_BASE_URL": server.url,
                "GEMINI_API_KEY": "any",
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "NO_BROWSER": "true",
            },
        )
        return str(json.loads(printed[printed.index("{") :])["response"])

    def call(self, command: str) -> tuple[str, dict[str, str]]:
        """Its tool that runs a command."""
        return "run_shell_command", {"command": command}


Agent = ClaudeCode | Codex | GeminiCli
