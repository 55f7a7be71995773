"""The reference pages, generated from the code: commands, REST endpoints, Python API."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import click

import plimsoll
from plimsoll.dialects import dialects
from plimsoll.gateway.dropin.stateless_compaction import COMPACT_PATH
from plimsoll.gateway.sessions.openapi import description
from plimsoll.terminal.main import plimsoll as command_line

_MODULE = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")
_SUCCESS = "2"  # the first digit of a status; the errors are the same for all operations


def commands_page() -> str:
    """Every command with its arguments and options."""
    lines = [
        "# Commands",
        "",
        "Generated from the command line itself. `plimsoll COMMAND --help` shows the same in your terminal.",
        "",
    ]
    root = click.Context(command_line, info_name="plimsoll")
    lines += ["| command | what it does |", "|---|---|"]
    names = command_line.list_commands(root)
    lines += [
        f"| [`plimsoll {name}`](#plimsoll-{name}) | {_summary(command_line, root, name)} |" for name in names
    ]
    for name in names:
        command = command_line.get_command(root, name)
        if command is not None:
            lines += _command(command, click.Context(command, info_name=name, parent=root), 2)
    return "\n".join(lines) + "\n"


def _summary(group: click.Group, context: click.Context, name: str) -> str:
    command = group.get_command(context, name)
    return command.get_short_help_str(limit=200) if command else ""


def _command(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("", f"{'#' * level} plimsoll {context.command_path.removeprefix('plimsoll ')}", "")
    yield from ("```", f"{context.command_path} {usage}", "```", "")
    yield from _help(command.help or "")
    options = [
        record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context))
    ]
    if options:
        yield from ("", "| option | meaning |", "|---|---|")
        yield from (f"| `{_cell(names)}` | {_cell(meaning)} |" for names, meaning in options)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from _command(below, click.Context(below, info_name=name, parent=context), level + 1)


def _help(text: str) -> Iterator[str]:
    """The help text; paragraphs that click prints as they are become code."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        as_is = paragraph.removeprefix("\b\n")
        if as_is != paragraph:
            yield from ("```", as_is, "```", "")
        else:
            yield from (paragraph, "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def rest_page() -> str:
    """Every endpoint of the gateway."""
    lines = [
        "# REST endpoints",
        "",
        "Generated from the gateway's code. A running gateway describes its sessions at `/openapi.json`.",
        "",
        "## Drop-in endpoints",
        "",
        "These speak the API of a provider, in requests and in replies; see [the gateway](../gateway.md).",
        "",
        "| API | answers | token counts | models |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {one.title} | {_paths(one.answer_paths)} | {_paths(one.count_paths)} | {_paths(one.models_paths)} |"
        for one in dialects()
    ]
    lines += [
        "",
        "## Compaction and health",
        "",
        "| endpoint | what it does |",
        "|---|---|",
        f"| `POST {COMPACT_PATH}` | compacts one request and returns it; see [compact one request]"
        "(../gateway.md#compact-one-request) |",
        "| `GET /healthz`, `/readyz`, `/metrics` | [health](../deploy.md#health-and-shutdown) and "
        "[metrics](../deploy.md#metrics) |",
        "",
        "## Sessions and search",
        "",
        "See [sessions over HTTP](../gateway-sessions.md). Every operation can also return these errors, as "
        "[Problem](#problem):",
        "",
    ]
    spec = description()
    lines += _errors(spec)
    for path, operations in spec["paths"].items():
        for method, operation in operations.items():
            if method in ("get", "post", "put", "patch", "delete"):
                lines += _operation(method, path, operation, spec)
    lines += ["", "## Objects", ""]
    for name, schema in spec["components"]["schemas"].items():
        lines += _schema(name, schema)
    return "\n".join(lines) + "\n"


def _paths(paths: Any) -> str:
    return "<br>".join(f"`{path}`".replace(":path}", "}") for path in paths) or "–"


def _operation(method: str, path: str, operation: dict[str, Any], spec: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {method.upper()} {path}".replace("{", "\\{").replace("}", "\\}"), "")
    for key in ("summary", "description"):
        if operation.get(key):
            yield from (str(operation[key]), "")
    parameters = operation.get("parameters", [])
    if parameters:
        yield from ("| parameter | in | type | meaning |", "|---|---|---|---|")
        for one in parameters:
            one = _resolved(one, spec)
            meaning = one.get("description") or one.get("schema", {}).get("description", "")
            kind = _type(one.get("schema", {}))
            yield f"| `{one['name']}` | {one['in']} | {kind} | {_cell(str(meaning))} |"
        yield ""
    body = operation.get("requestBody", {}).get("content", {})
    for content in body.values():
        yield from ("Request body:", "", *_fields(content.get("schema", {})))
    for status, answer in operation.get("responses", {}).items():
        if not status.startswith(_SUCCESS):
            continue
        kinds = [
            _type(content.get("schema", {}))
            for content in _resolved(answer, spec).get("content", {}).values()
        ]
        yield from (f"Returns `{status}`{', ' if kinds else ''}{' or '.join(kinds)}.", "")


def _errors(spec: dict[str, Any]) -> Iterator[str]:
    """The errors of all operations, each once."""
    found = {
        status: _resolved(answer, spec).get("description", "")
        for operations in spec["paths"].values()
        for operation in operations.values()
        for status, answer in operation.get("responses", {}).items()
        if not status.startswith(_SUCCESS)
    }
    yield from ("| status | cause |", "|---|---|")
    yield from (f"| `{status}` | {_cell(str(cause))} |" for status, cause in sorted(found.items()))
    yield ""


def _resolved(value: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    found: Any = value
    if "$ref" in value:
        found = spec
        for part in str(value["$ref"]).removeprefix("#/").split("/"):
            found = found[part]
    return dict(found)


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if "enum" in schema:
        return " \\| ".join(f"`{one}`" for one in schema["enum"])
    return str(schema.get("type", "any"))


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {name}", "")
    if schema.get("description"):
        yield from (str(schema["description"]), "")
    yield from _fields(schema)


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    properties = schema.get("properties", {})
    if properties:
        yield from ("| field | type | meaning |", "|---|---|---|")
        for field, one in properties.items():
            yield f"| `{field}` | {_type(one)} | {_cell(str(one.get('description', '')))} |"
        yield ""


def python_page() -> str:
    """The public names of the package."""
    lines = [
        "# Python API",
        "",
        "Generated from the package. These names are the whole public surface of `plimsoll`; tests pin the list.",
        "",
    ]
    for name in sorted(plimsoll.__all__, key=str.lower):
        value = getattr(plimsoll, name)
        if name.startswith("__"):
            continue
        lines += _class(name, value) if inspect.isclass(value) else _function(name, value)
    return "\n".join(lines) + "\n"


def _function(name: str, value: Any) -> Iterator[str]:
    yield from (f"## {name}", "")
    if callable(value) and not isinstance(value, type):
        yield from ("```text", f"{name}{_signature(value)}", "```", "")
        yield from _doc(value)
    else:
        yield from ("```text", f"{name} = {value}".replace("typing.", ""), "```", "")


def _class(name: str, value: type) -> Iterator[str]:
    yield from (f"## {name}", "", "```text", f"class {name}{_signature(value)}", "```", "")
    yield from _doc(value)
    for method, member in inspect.getmembers(value):
        own = not method.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
        if own and method in {key for one in value.__mro__ for key in vars(one) if one is not object}:
            yield from _method(method, member)


def _method(name: str, member: Any) -> Iterator[str]:
    signature = "" if isinstance(member, property) else _signature(member, width=10_000)
    text = (inspect.getdoc(member) or "").split("\n\n")[0].replace("\n", " ")
    yield f"- `{name}{signature}`{': ' if text else ''}{text}"


def _signature(value: Any, *, width: int = 72) -> str:
    """The signature without the names of modules; a long one has a line for each parameter."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    text = _MODULE.sub("", str(signature))
    if len(text) <= width or not signature.parameters:
        return text
    own = [_MODULE.sub("", str(one)) for one in signature.parameters.values()]
    keyword_only = [one.kind is one.KEYWORD_ONLY for one in signature.parameters.values()]
    if any(keyword_only) and not any(one.kind is one.VAR_POSITIONAL for one in signature.parameters.values()):
        own.insert(keyword_only.index(True), "*")
    ending = text.rpartition(" -> ")[2] if " -> " in text else ""
    lines = "".join(f"    {one},\n" for one in own)
    return f"(\n{lines})" + (f" -> {ending}" if ending else "")


def _doc(value: Any) -> Iterator[str]:
    yield from (inspect.getdoc(value) or "", "")
