"""How many of the shell commands that real agents typed run without asking.

    python bench/approvals.py                 ../shared/data, or the folder that is given
    python bench/approvals.py --reasons 20    also the most frequent reasons to ask

Every conversation gets an empty git repository in the place of its project; paths of the recorded project are
rewritten to it. What the commands would print does not matter, only whether a person would be asked.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from plimsoll.tools import Workspace
from plimsoll.tools.terminal.approval import approval_for

FILES = {"Claude Code": "dev_claudecode_entire.jsonl", "Codex": "dev_codex.jsonl"}
SHELLS = frozenset({"Bash", "shell", "shell_command", "exec_command", "local_shell"})
WRAPPED = ("bash", "zsh", "sh", "/bin/bash", "/bin/zsh")


def commands(conversation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each command with the directory that the call names."""
    for message in conversation["messages"]:
        for call in message.get("tool_calls") or ():
            if call["function"]["name"] not in SHELLS:
                continue
            try:
                arguments = json.loads(call["function"]["arguments"])
            except ValueError:
                continue
            given = arguments.get("command") or arguments.get("cmd") or ""
            if isinstance(given, list):
                given = given[-1] if given[0] in WRAPPED else " ".join(given)
            if given:
                yield given, arguments.get("workdir") or ""


def project_of(conversation: Mapping[str, Any]) -> str:
    """The directory that the conversation worked in, by the files that it changed and the directories it named."""
    text = json.dumps(conversation["messages"])
    found: Counter[str] = Counter(directory for _, directory in commands(conversation) if directory)
    for touched in conversation.get("files_touched") or ():
        found.update(re.findall(rf"(/[\w./@+-]+?)/{re.escape(touched)}\b", text))
    return found.most_common(1)[0][0] if found else ""


def measured(path: Path, root: Path) -> tuple[int, int, Counter[str]]:
    asked = total = 0
    reasons: Counter[str] = Counter()
    place = Workspace(root, environment=dict(os.environ))
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            conversation = json.loads(line)
            project = project_of(conversation)
            for command, _ in commands(conversation):
                here = command.replace(project, str(root)) if project else command
                total += 1
                reason = approval_for(here, root, place).reason
                if reason:
                    asked += 1
                    reasons[re.sub(r"/\S+", "/…", reason)] += 1
    return total, asked, reasons


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--reasons", type=int, default=0, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "project"
        root.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        for agent, name in FILES.items():
            total, asked, reasons = measured(options.data / name, root)
            print(
                f"{agent}: {total - asked:,} of {total:,} commands run without asking ({1 - asked / total:.3f})"
            )
            for reason, count in reasons.most_common(options.reasons):
                print(f"{count:7,}  {reason}")


if __name__ == "__main__":
    main()
