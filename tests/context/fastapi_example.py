"""The worked example: 45 messages, about 95K tokens, of setting up a FastAPI project."""

import json

MODULES = ["main", "models", "routes", "db", "auth", "settings", "schemas", "deps", "errors"]


def _call(number, name, **arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
    }


def _result(number, text):
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": text}


def _code(module, lines):
    return "".join(
        f"def {module}_{n}(request): return respond(request, status={200 + n % 5})\n" for n in range(lines)
    )


def fastapi_conversation():
    """System prompt of about 25K tokens, ten rounds of files and pytest, then 22 recent messages."""
    messages = [
        {
            "role": "system",
            "content": "You are a careful coding agent. " + "Follow the project's conventions. " * 3_350,
        },
        {"role": "user", "content": "Help me set up a FastAPI project"},
    ]
    number = 0
    while len(messages) < 22:
        module = MODULES[number % len(MODULES)]
        if number % 3 == 2:
            messages.append(_call(number, "terminal", command=f"pytest -x tests/test_{module}.py"))
            messages.append(
                _result(number, "exit code: 1\n" + "E   assert 404 == 200\n" * 700 + "2 failed, 8 passed")
            )
        else:
            messages.append(_call(number, "write_file", path=f"app/{module}.py", content=_code(module, 200)))
            messages.append(_result(number, f"wrote app/{module}.py\n" + _code(module, 40)))
        number += 1
    messages.append(
        {"role": "assistant", "content": "All modules exist. " + "Each does one thing and no more. " * 700}
    )
    messages.append({"role": "user", "content": "Please never use global state. Run the whole suite."})
    while len(messages) < 40:
        messages.append(_call(number, "terminal", command=f"pytest tests -k part{number}"))
        messages.append(
            _result(number, "exit code: 1\n" + "E   assert 500 == 200\n" * 265 + "2 failed, 40 passed")
        )
        number += 1
    messages += [
        {"role": "user", "content": "Fix the failing tests"},
        _call(number, "read_file", path="tests/test_api.py"),
        _result(number, "import pytest\n" * 200),
        {"role": "assistant", "content": "The fixtures share a client; I made them independent."},
        {"role": "user", "content": "Great, also add error handling"},
    ]
    return messages
