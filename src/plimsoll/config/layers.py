"""Reads each source into a flat list of values, and reports unknown keys.

    config.yaml    {compression: {threshold: 0.4}}        ─┐
    environment    PLIMSOLL_COMPRESSION__THRESHOLD=0.4    ─┼─►  GivenValue(path, 0.4, source)
    flags          {"compression.threshold": 0.4}         ─┘

An unknown key gets a suggestion. Its value is never repeated, because it may be a secret.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from plimsoll.config.document import Document
from plimsoll.config.legacy import renamed
from plimsoll.config.scalars import display_value, read_text
from plimsoll.config.schema import (
    PREFIX,
    Setting,
    all_keys,
    fits,
    is_any_name,
    is_section,
    path_of,
    sections,
    setting_at,
)
from plimsoll.config.values import COMMAND_LINE, ConfigProblem, GivenValue, KeyPath, ValueSource
from plimsoll.secrets import is_secret_name

Found = Iterator[GivenValue | ConfigProblem]


def from_file(document: Document) -> Found:
    """All values of the file, in order."""
    yield from document.problems
    yield from _from_mapping(document, document.data, ())


def from_environment(environ: Mapping[str, str]) -> Found:
    """All values of variables of the form PLIMSOLL_SECTION__KEY. An empty variable counts as unset."""
    by_variable = {setting.variable: setting for setting in all_keys() if setting.variable}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or "__" not in name or not environ[name]:
            continue
        path = tuple(name.removeprefix(PREFIX).lower().split("__"))
        setting = by_variable.get(name) or setting_at(renamed(path))
        if setting is None or (name not in by_variable and renamed(path) == path):
            yield ConfigProblem(name, path, _unknown_variable(name, path, sorted(by_variable)))
        else:
            value = read_text(setting, environ[name])
            yield GivenValue(setting.path, value, ValueSource("variable", name), ".".join(path))


def from_flags(flags: Mapping[str, Any]) -> Found:
    """All values of a command's flags. None means that the flag was not given."""
    for key, value in flags.items():
        path = path_of(key)
        if value is None:
            continue
        if setting_at(renamed(path)):
            yield GivenValue(renamed(path), value, COMMAND_LINE, key)
        else:
            yield ConfigProblem(str(COMMAND_LINE), path, unknown_key(path))


def misspelled_variables(environ: Mapping[str, str]) -> Iterator[str]:
    """Notices for variables with a single underscore, which are not settings."""
    variables = [setting.variable for setting in all_keys() if setting.variable]
    meant = {variable.replace("__", "_"): variable for variable in variables}
    for name in sorted(environ):
        if environ[name] and name in meant and meant[name] != name:
            yield f"{name} is not a setting and was ignored; write {meant[name]} (two underscores)."


def unknown_key(path: KeyPath) -> str:
    """The error for a key that is not a setting: why, or which one was probably meant."""
    key = ".".join(path)
    if path[-1] == "protect_first_n":
        return (
            f"{key} is not a setting: it is 3 and hard-coded (system prompt and first exchange). "
            "Remove it, or set compression.protect_last_n."
        )
    enclosing = _enclosing_setting(path)
    if enclosing is not None:
        return f"{key} is not a setting by itself: {'.'.join(enclosing)} is one setting. Set it as a whole."
    private = [s.path[-1] for s in all_keys() if s.is_private and _is_sibling(path, s)]
    if is_secret_name(path[-1]) and private:
        return (
            f"{key} is not a setting (its value is not shown). "
            f"Write it below {' or '.join(private)} as ${{NAME}}, and set that environment variable."
        )
    if is_secret_name(path[-1]):
        return (
            f"{key} is not a setting: secrets do not belong in configuration (its value is not shown). "
            "Remove it and set the provider's environment variable, for example ANTHROPIC_API_KEY."
        )
    if is_section(path):
        return f"{key} is a section, not a setting; its keys are {_keys_below(path)}."
    near = nearest(path)
    if near:
        return f"{key} is not a setting. Did you mean {near}?"
    if path[:-1] and is_section(path[:-1]):
        return f"{key} is not a setting. The keys of {'.'.join(path[:-1])} are {_keys_below(path[:-1])}."
    names = ", ".join(dict.fromkeys(setting.path[0] for setting in all_keys()))
    return f"{key} is not a setting. The sections are {names}; `plimsoll config show` prints them all."


def nearest(path: KeyPath) -> str | None:
    """What was probably meant: a sibling, a section with a similar name, or the same name elsewhere."""
    siblings = {s.path[-1]: ".".join((*path[:-1], s.path[-1])) for s in all_keys() if _is_sibling(path, s)}
    anywhere = {s.path[-1]: s.key for s in reversed(all_keys())}
    groups = {group[0]: group[0] for group in sections()} if len(path) == 1 else {}
    for choices, cutoff in ((siblings, 0.6), (anywhere, 0.9), (groups, 0.6), (anywhere, 0.8)):
        close = difflib.get_close_matches(path[-1], choices, n=1, cutoff=cutoff)
        if close:
            return choices[close[0]]
    return None


def _from_mapping(document: Document, mapping: Mapping[Any, Any], above: KeyPath) -> Found:
    for name, value in mapping.items():
        path = (*above, str(name))
        source = ValueSource("file", str(document.path), document.line_of(path))
        if setting_at(renamed(path)) and isinstance(name, str):
            yield GivenValue(renamed(path), value, source, ".".join(path))
        elif not is_section(path):
            yield ConfigProblem(str(source), path, unknown_key(path))
        elif not value and _incomplete(path):
            yield ConfigProblem(str(source), path, f"{'.'.join(path)} is empty; {_incomplete(path)}.")
        elif isinstance(value, Mapping):
            yield from _from_mapping(document, value, path)
        elif value is not None:  # `compression:` with all its keys commented out is an empty section
            sentence = f"{'.'.join(path)} is {display_value(value)}, but it is a section; its keys are "
            yield ConfigProblem(str(source), path, f"{sentence}{_keys_below(path)}.")


def _incomplete(path: KeyPath) -> str:
    """Why a section cannot be empty; empty if it can."""
    section = next((found for group, found in sections().items() if fits(path, group)), None)
    try:
        if section is not None:
            section.model_validate({})
    except ValidationError as error:
        return str(error.errors(include_url=False)[0]["msg"])
    return ""


def _enclosing_setting(path: KeyPath) -> KeyPath | None:
    """The path of the list or map that a path points into."""
    tops = (path[:length] for length in range(1, len(path)))
    return next((top for top in tops if (found := setting_at(top)) is not None and found.is_many), None)


def _keys_below(path: KeyPath) -> str:
    below = [
        s.path[len(path) :] for s in all_keys() if len(s.path) > len(path) and fits(path, s.path[: len(path)])
    ]
    return ", ".join(".".join(rest) for rest in below)


def _is_sibling(path: KeyPath, setting: Setting) -> bool:
    return fits(path[:-1], setting.path[:-1])


def _unknown_variable(name: str, path: KeyPath, variables: list[str]) -> str:
    for group in sections():
        place = len(group) - 1
        if is_any_name(group[-1]) and path[:place] == group[:place]:
            above, last = ".".join(group[:place]), group[-1].strip("<>")
            return f"{above} is set in config.yaml; a variable name cannot contain the name of a {last}."
    if path[-1] == "protect_first_n" or is_secret_name(path[-1]):
        return unknown_key(path)
    near = difflib.get_close_matches(name, variables, n=1, cutoff=0.6)
    return f"no setting has this variable.{f' Did you mean {near[0]}?' if near else ''}"
