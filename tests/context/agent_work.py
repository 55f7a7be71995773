"""The messages of an agent at work, and the summary that code writes of them."""

import json

from message_builders import calls, result
from plimsoll.context.ledger import SummaryRoom, read_facts, write_summary


class FixedSummaryModel:
    """A summary model that always returns the same text."""

    context_length = 200_000

    def __init__(self, text=""):
        self.text = text

    def summarize(self, prompt, max_tokens):
        return self.text


def step(number, name, arguments, output, text=None):
    """A tool call and its result."""
    call = calls(f"call_{number}", text=text, name=name, arguments=json.dumps(arguments))
    return [call, result(f"call_{number}", output)]


def run(number, command, output):
    return step(number, "terminal", {"command": command}, output)


def edit(number, path="src/importer.py", output="ok"):
    return step(number, "patch", {"path": path, "old_string": "a = 1", "new_string": f"a = {number}"}, output)


def sections_of(messages):
    """The sections of a summary without a model."""
    return write_summary(read_facts(messages), {}, SummaryRoom(2_000, 4_000)).sections
