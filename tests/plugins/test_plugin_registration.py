"""What `register(ctx)` offers: tools, hooks and commands beside engines."""

import asyncio
import json

from plugin_folders import ENGINE

from plimsoll.plugins import resolve_plugins
from plimsoll.tools import ToolBox, ToolContext, Workspace

NOTES = """
from plimsoll.tools import Definition, FunctionTool

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}

async def note(arguments, context):
    return "noted " + arguments["text"]

def before(messages, trigger, focus):
    return {"context": "keep the notes"}

def register(ctx):
    ctx.register_tool(FunctionTool(Definition("note", "Write a note.", SCHEMA), note))
    ctx.register_tool(name="shout", toolset="x", schema={"name": "shout", "description": "Shout.",
                      "parameters": SCHEMA}, handler=lambda args, **more: args["text"].upper(), emoji="!")
    ctx.register_hook("pre_compact", before)
    ctx.register_hook("post_compact", lambda event: None)
    ctx.register_hook("on_full_moon", before)
    ctx.register_command("notes", "show the notes", lambda text: "notes about " + text)
    ctx.register_command("/Old", lambda text: text, description="the other order", args_hint="[x]")
    ctx.register_memory_provider(object())
"""


def resolved(place, *enabled):
    return resolve_plugins("compressor", place.locations(*enabled), place.context())


def called(tmp_path, tools, name, **arguments):
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    done = asyncio.run(ToolBox(tools).run_all([call], None, ToolContext(Workspace(tmp_path))))
    return done.outcomes[0].message["content"]


def test_tools_of_both_forms_are_offered_and_run(place, tmp_path):
    place.general("notes", NOTES)
    found = resolved(place, "notes")
    assert [tool.name for tool in found.tools] == ["note", "shout"]
    assert called(tmp_path, found.tools, "note", text="this") == "noted this"
    assert called(tmp_path, found.tools, "shout", text="this") == "THIS"


def test_hooks_around_a_compaction_are_collected_and_others_left_alone(place):
    place.general("notes", NOTES)
    found = resolved(place, "notes")
    assert [hook([], "threshold", None) for hook in found.hooks_named("pre_compact")] == [
        {"context": "keep the notes"}
    ]
    assert len(found.hooks_named("post_compact")) == 1
    assert len(found.hooks) == 2
    assert found.problems == ()


def test_commands_are_taken_in_both_orders(place):
    place.general("notes", NOTES)
    notes, old = resolved(place, "notes").commands
    assert (notes.name, notes.description, notes.run("x")) == ("notes", "show the notes", "notes about x")
    assert (old.name, old.description, old.run("y")) == ("old", "the other order", "y")


def test_of_two_tools_with_one_name_the_first_stays_and_that_is_reported(place):
    place.general("notes", NOTES)
    place.general("more", NOTES)
    found = resolved(place, "notes", "more")
    assert [tool.name for tool in found.tools] == ["note", "shout"]
    assert "plugin 'more' registers another tool called 'note'; it was skipped." in found.problems


def test_a_tool_without_a_handler_is_a_broken_plugin(place):
    place.general("notes", "def register(ctx):\n    ctx.register_tool(name='x')\n")
    found = resolved(place, "notes")
    assert "register_tool needs a Tool, or name, schema and handler" in found.problems[0]


def test_what_an_engine_folder_registers_beside_its_engine_counts_too(place):
    place.engine(
        "mine", code=ENGINE.format(name="mine", word="") + "    ctx.register_command('mine', 'x', str)\n"
    )
    found = resolve_plugins("mine", place.locations(), place.context())
    assert [command.name for command in found.commands] == ["mine"]


def test_a_plugin_is_enabled_by_the_name_in_its_manifest_too(place):
    place.general("folder-name", NOTES, manifest="name: nice-name\nversion: 1.0\n")
    assert len(resolved(place, "nice-name").tools) == 2


def test_a_manifest_that_cannot_be_read_is_reported(place):
    place.general("notes", NOTES, manifest="name: [\n")
    assert "plugin.yaml cannot be read" in resolved(place, "notes").problems[0]
    place.general("other", NOTES, manifest="- a list\n")
    assert "contains no keys" in resolved(place, "other").problems[0]
