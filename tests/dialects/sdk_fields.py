"""Every field of a request, as the SDKs of OpenAI and Anthropic declare it, with a request that has it."""

import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin

from anthropic.types import message_create_params
from openai.types.chat import completion_create_params
from openai.types.chat.chat_completion_allowed_tools_param import ChatCompletionAllowedToolsParam
from openai.types.chat.chat_completion_content_part_param import FileFile
from openai.types.responses import response_create_params

REQUESTS = {
    "openai": completion_create_params.CompletionCreateParamsBase,
    "anthropic": message_create_params.MessageCreateParamsBase,
    "responses": response_create_params.ResponseCreateParamsBase,
}
SCALARS: dict[Any, tuple[Any, ...]] = {
    str: ("alpha", "beta"),
    int: (1_500, 30_000),
    float: (0.25, 0.75),
    bool: (True, False),
}
Wrap = Callable[[Any], Any]
_hints = cache(typing.get_type_hints)  # the same few classes are asked for thousands of times


@dataclass(frozen=True)
class Field:
    """One field: its place, values that it can have, and the request with such a value."""

    path: str
    values: tuple[Any, ...]
    body: Callable[[Any], dict[str, Any]]


def fields_of(dialect: str) -> list[Field]:
    """The fields of a request, nested ones included, each place once."""
    found: dict[str, Field] = {}
    for name, declared in _hints(REQUESTS[dialect]).items():
        for path, kind, wrap in _inside(name, declared, lambda value: value, frozenset()):
            values = values_of(kind)
            made = Field(path, values, lambda value, name=name, wrap=wrap: {name: wrap(value)})
            before = found.get(path)
            if before is None or len(before.values) < len(values):
                found[path] = made
    return list(found.values())


def _inside(path: str, kind: Any, wrap: Wrap, seen: frozenset[Any]) -> Iterator[tuple[str, Any, Wrap]]:
    """A field and those below it."""
    yield path, kind, wrap
    for member, inner in _members(kind, wrap):
        if member in seen or not _is_object(member):
            continue
        tag = _tag(member)
        place = f"{path}[{tag}]" if tag else path
        if tag:
            yield place, member, inner
        for key, declared in _hints(member).items():
            if tag and key in ("role", "type"):
                continue

            def with_key(value: Any, inner: Wrap = inner, member: Any = member, key: str = key) -> Any:
                return inner({**minimal(member), key: value})

            yield from _inside(f"{place}.{key}", declared, with_key, seen | {member})


def _members(kind: Any, wrap: Wrap) -> Iterator[tuple[Any, Wrap]]:
    """The kinds of object that a field holds, in a list or alone."""
    kind = _bare(kind)
    if get_origin(kind) in (Union, types.UnionType):
        for member in get_args(kind):
            yield from _members(member, wrap)
    elif _is_list(kind):
        for member, inner in _members(get_args(kind)[0], wrap):
            yield (
                member,
                lambda value, inner=inner: inner([value]) if not isinstance(value, list) else inner(value),
            )
    else:
        yield kind, wrap


def values_of(kind: Any) -> tuple[Any, ...]:
    """Up to two values; the first is one that asks for something."""
    kind = _bare(kind)
    if kind in SCALARS:
        return SCALARS[kind]
    origin = get_origin(kind)
    if origin is Literal:
        return tuple(reversed(get_args(kind)))[:2]
    if origin in (Union, types.UnionType):
        several = [values_of(member) for member in get_args(kind) if member is not type(None)]
        return max(several, key=len, default=())
    if _is_list(kind):
        return tuple([value] for value in values_of(get_args(kind)[0]))
    if origin is dict:
        return ({"alpha": minimal(get_args(kind)[1])},)
    if _is_object(kind) and not minimal(kind):
        key, declared = next(iter(_hints(kind).items()))
        return ({key: minimal(declared)},)  # an empty object asks for nothing
    return (minimal(kind),)


def minimal(kind: Any) -> Any:
    """The smallest value of a kind."""
    kind = _bare(kind)
    if kind is FileFile:
        return {
            "file_data": "data:application/pdf;base64,AAAA"
        }  # nothing is required, but one of three must be there
    if kind is ChatCompletionAllowedToolsParam:
        return {"mode": "auto", "tools": [{"type": "function", "function": {"name": "look"}}]}
    if _is_object(kind):
        hints = _hints(kind)
        return {key: minimal(hints[key]) for key in sorted(_required(kind))}
    origin = get_origin(kind)
    if origin is Literal:
        return get_args(kind)[0]
    if origin in (Union, types.UnionType):
        return minimal(next(member for member in get_args(kind) if member is not type(None)))
    if _is_list(kind):
        return [minimal(get_args(kind)[0])]
    return SCALARS.get(kind, ({},))[0]


def _bare(kind: Any) -> Any:
    while get_origin(kind) in (Required, NotRequired, typing.Annotated):
        kind = get_args(kind)[0]
    return kind


def _is_list(kind: Any) -> bool:
    origin = get_origin(kind)
    return (
        isinstance(origin, type)
        and origin not in (dict, Union)
        and len(get_args(kind)) == 1
        and origin is not Literal
    )


def _is_object(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def _required(kind: Any) -> set[str]:
    """The keys that must be there; the class itself does not know them, as its annotations are texts."""
    hints = _hints(kind, include_extras=True)
    return {key for key, declared in hints.items() if get_origin(declared) is Required}


def _tag(kind: Any) -> str:
    hints = _hints(kind)
    for key in ("role", "type"):
        declared = _bare(hints.get(key))
        if key in _required(kind) and get_origin(declared) is Literal:
            return str(get_args(declared)[0])
    return ""
