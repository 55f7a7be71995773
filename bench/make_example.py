"""Write the example conversation that ships with Plimsoll: src/plimsoll/examples/fastapi.json.

    python bench/make_example.py

A made-up coding session: an agent builds a booking service for a harbour, one
resource after another, with tests that fail first and pass later. It is written
from templates, without randomness, so that the same file comes out every time.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from example_sources import failing_run, model_source, passing_run, router_source, tests_source
from example_story import FIRST_REQUEST, INSTALL_LOG, LAST_STEPS, RESOURCES, SYSTEM, TREE, Resource

TARGET = Path(__file__).parent.parent / "src" / "plimsoll" / "examples" / "fastapi.json"
Message = dict[str, Any]


@dataclass
class Session:
    """The conversation while it is being written."""

    messages: list[Message]
    calls: int = 0

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def say(self, text: str) -> None:
        self.messages.append({"role": "assistant", "content": text})

    def call(self, text: str, tool: str, arguments: dict[str, Any], result: str) -> None:
        """One step of the agent: a sentence, a tool call, its result."""
        self.calls += 1
        identity = f"call_{self.calls:03d}"
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"id": identity, "type": "function", "function": function}
        self.messages.append({"role": "assistant", "content": text, "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": identity, "name": tool, "content": result})


def build() -> list[Message]:
    """The whole conversation."""
    session = Session([{"role": "system", "content": SYSTEM}])
    session.user(FIRST_REQUEST)
    session.say(
        "I will set up the project skeleton first, then add the resources one by one, with tests before "
        "each commit. The service will listen on port 8417 as you asked."
    )
    session.call("Let me see what is there.", "list_dir", {"path": "."}, TREE)
    session.call(
        "Only a README and a licence. I install what you allowed, nothing else.",
        "bash",
        {"command": "python -m venv .venv && .venv/bin/pip install -e '.[dev]'"},
        INSTALL_LOG,
    )
    passed = 0
    for number, resource in enumerate(RESOURCES, start=1):
        if number > 1:
            session.user(resource.request)
        passed = _add(session, resource, number, passed)
    for who, *what in LAST_STEPS:
        {"user": session.user, "say": session.say, "call": session.call}[who](*what)
    return session.messages


def _add(session: Session, resource: Resource, number: int, passed: int) -> int:
    """One resource: written, tested, repaired, committed. Returns the tests that pass so far."""
    name = resource.name
    model, router = f"app/models/{name}.py", f"app/routers/{name}.py"
    tests = f"tests/test_{name}.py"
    good = router_source(resource, fixed=True)
    bad = router_source(resource, fixed=False)
    for path, source in ((model, model_source(resource)), (router, bad), (tests, tests_source(resource))):
        session.call(
            f"I write `{path}`.",
            "write_file",
            {"path": path, "content": source},
            f"Wrote {len(source.splitlines())} lines to {path}",
        )
    total = passed + resource.tests
    session.call(
        "Now the tests.",
        "bash",
        {"command": "python -m pytest -v --tb=long"},
        failing_run(resource, passed, total),
    )
    session.call(
        f"`{resource.failing_test}` fails: {resource.diagnosis} I look at the router again.",
        "read_file",
        {"path": router},
        "\n".join(f"{n:4d}\t{line}" for n, line in enumerate(bad.splitlines(), start=1)),
    )
    old, new = resource.bad_line, resource.good_line
    session.call(
        resource.explanation,
        "edit_file",
        {"path": router, "old": old, "new": new},
        f"Replaced 1 occurrence in {router}\n- {old.strip()}\n+ {new.strip()}",
    )
    session.call(
        "Once more.",
        "bash",
        {"command": "python -m pytest -v"},
        passing_run(number, total),
    )
    sha = hashlib.sha1(good.encode()).hexdigest()[:7]
    session.call(
        f"All {total} tests pass, so I commit.",
        "bash",
        {"command": f"git add -A && git commit -m 'Add {name}'"},
        f"[main {sha}] Add {name}\n 3 files changed, {len(good.splitlines()) + 90} insertions(+)\n"
        f" create mode 100644 {model}\n create mode 100644 {router}\n create mode 100644 {tests}",
    )
    session.say(f"{name.capitalize()} are in, commit {sha}, {total} tests pass. {resource.note}")
    return total


def main() -> None:
    """Write the file and say how large it is."""
    messages = build()
    text = json.dumps({"id": "fastapi", "messages": messages}, ensure_ascii=False, indent=1) + "\n"
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, encoding="utf-8")
    said = sum(len(json.dumps(message)) for message in messages)
    print(
        f"{TARGET.name}: {len(messages)} messages, about {said // 4:,} tokens, {len(text.encode()):,} bytes"
    )


if __name__ == "__main__":
    main()
