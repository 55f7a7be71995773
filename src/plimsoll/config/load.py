"""Settings from all sources, checked, each value knowing who set it.

    defaults ◄─ config.yaml ◄─ environment ◄─ flags      later wins
                     └──────── every value checked, all problems told at once

A value that is overridden is checked too: a mistake in the file does not wait
for the day on which the variable is gone.
"""

import difflib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from plimsoll.config.document import Document, read_document
from plimsoll.config.layers import from_environment, from_file, from_flags, misspelled_variables, unknown_key
from plimsoll.config.legacy import renamed, settle
from plimsoll.config.scalars import shown
from plimsoll.config.schema import Setting, Settings, path_of, setting_at
from plimsoll.config.sources import DEFAULT, Given, KeyPath, Problem, Source, setting_error
from plimsoll.errors import SettingError

BUILT_IN_ENGINES = ("compressor",)

FILE_NAME = "config.yaml"
_SWITCHES = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


@dataclass(frozen=True, slots=True)
class Loaded:
    """Checked settings, what to tell the person about them, and where each came from."""

    settings: Settings
    path: Path
    notices: tuple[str, ...]
    given: Mapping[str, tuple[Given, ...]]  # by key, the one that holds first

    def source(self, key: str) -> Source:
        """Who set the value that holds."""
        find_setting(key)
        return self.given[key][0].source if key in self.given else DEFAULT

    def overridden(self, key: str) -> tuple[Given, ...]:
        """What lower sources gave for the key, highest first."""
        find_setting(key)
        return self.given.get(key, ())[1:]

    def value(self, key: str) -> Any:
        """The value that holds."""
        find_setting(key)
        found: Any = self.settings
        for name in path_of(key):
            found = found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)
        return found


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check; `loaded` is None where there is a problem."""

    path: Path
    problems: tuple[Problem, ...]
    notices: tuple[str, ...]
    loaded: Loaded | None


def plimsoll_home(environ: Mapping[str, str] | None = None) -> Path:
    """The directory that holds the configuration: $PLIMSOLL_HOME, or ~/.plimsoll."""
    variables = os.environ if environ is None else environ
    if variables.get("PLIMSOLL_HOME"):
        return Path(variables["PLIMSOLL_HOME"]).expanduser()
    return Path(variables.get("HOME") or Path.home()) / ".plimsoll"


def load_settings(
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Loaded:
    """The settings that hold; a `SettingError` that tells every problem where there is one."""
    variables = os.environ if environ is None else environ
    path = (home or plimsoll_home(variables)) / FILE_NAME
    report = examine(read_document(path), variables, flags or {})
    if report.loaded is None:
        raise setting_error(report.problems)
    return report.loaded


def check_settings(
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    known_engines: Collection[str] = BUILT_IN_ENGINES,
) -> Report:
    """Everything there is to say about the configuration, the name of the engine included."""
    variables = os.environ if environ is None else environ
    path = (home or plimsoll_home(variables)) / FILE_NAME
    report = examine(read_document(path), variables, flags or {})
    loaded = report.loaded
    if loaded is None or loaded.settings.context.engine in known_engines:
        return report
    engine = loaded.settings.context.engine
    near = difflib.get_close_matches(engine, known_engines, n=1)
    sentence = f"context.engine is {shown(engine)}; no such engine is installed. " + (
        f"Did you mean {near[0]}?" if near else f"Installed: {', '.join(sorted(known_engines))}."
    )
    problem = Problem(str(loaded.source("context.engine")), ("context", "engine"), sentence)
    return Report(report.path, (problem,), report.notices, None)


def find_setting(key: str) -> Setting:
    """The setting of a dotted key; a `SettingError` with the nearest one where there is none."""
    setting = setting_at(path_of(key))
    if setting is None:
        raise SettingError(unknown_key(path_of(key)))
    return setting


def examine(document: Document, environ: Mapping[str, str], flags: Mapping[str, Any]) -> Report:
    """Check all sources against the schema, and one key against another. Reads nothing."""
    found = [*from_file(document), *from_environment(environ), *from_flags(flags)]
    sound: list[Given] = []
    problems: list[Problem] = []
    for one in found:
        wrong = one if isinstance(one, Problem) else _complaint(one)
        if wrong is not None:
            problems.append(wrong)
        elif isinstance(one, Given):
            sound.append(one)
    kept, notices = settle(sound)
    by_key: dict[str, tuple[Given, ...]] = {}
    for one in kept:
        by_key[one.key] = (one, *by_key.get(one.key, ()))
    notices += [*_without_effect(by_key.values()), *misspelled_variables(environ)]
    settings, disagreements = _compose(by_key, problems)
    problems += disagreements
    if settings is None or problems:
        return Report(document.path, tuple(problems), tuple(notices), None)
    loaded = Loaded(settings, document.path, tuple(notices), by_key)
    return Report(document.path, (), tuple(notices), loaded)


def _complaint(one: Given) -> Problem | None:
    """What is wrong with one value by itself."""
    setting = setting_at(one.path)
    assert setting is not None  # the layers give known keys only
    try:
        Settings.model_validate(_tree([one]))
    except ValidationError as error:
        mine = [e for e in error.errors(include_url=False) if e["loc"][: len(one.path)] == one.path]
    else:
        return None
    if not mine:  # it disagrees with the default of another key, which another source may set
        return None
    reason = mine[0]["msg"] if mine[0]["type"] == "endpoint" else f"it must be {setting.allowed}"
    sentence = f"{one.spelled} is {shown(one.value)}; {reason}{_advice(setting, one.value)}."
    return Problem(str(one.source), one.path, sentence)


def _advice(setting: Setting, value: Any) -> str:
    if not isinstance(value, str):
        return ""
    near = difflib.get_close_matches(value, setting.choices, n=1)
    if near:
        return f" (did you mean {near[0]}?)"
    if setting.allowed == "true or false" and value.lower() in _SWITCHES:
        return f"; write {_SWITCHES[value.lower()]}"
    quoted_number = value.lower() in ("true", "false") or value.replace(".", "", 1).isdigit()
    return "; write it without quotes" if quoted_number and not setting.is_text else ""


def _compose(
    by_key: Mapping[str, tuple[Given, ...]], problems: Sequence[Problem]
) -> tuple[Settings | None, list[Problem]]:
    """The settings, or how keys that are sound by themselves disagree with each other."""
    winners = {given[0].path: given[0] for given in by_key.values()}
    try:
        return Settings.model_validate(_tree(winners.values())), []
    except ValidationError as error:
        disagreements = []
        for one in error.errors(include_url=False):
            section: KeyPath = tuple(str(name) for name in one["loc"])
            path = (*section, str(one.get("ctx", {}).get("key")))
            # A key of this section that is wrong by itself may be all there is to it.
            if path in winners and not any(p.path[: len(section)] == section for p in problems):
                given = winners[path]
                sentence = f"{given.spelled} is {shown(given.value)}; {one['msg']}."
                disagreements.append(Problem(str(given.source), path, sentence))
        return None, disagreements


def _tree(given: Iterable[Given]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for one in given:
        branch = tree
        for name in one.path[:-1]:
            branch = branch.setdefault(name, {})
        branch[one.path[-1]] = one.value
    return tree


def _without_effect(given: Iterable[tuple[Given, ...]]) -> Iterable[str]:
    for one, *_ in given:
        setting = setting_at(one.path)
        why = setting.without_effect(one.value) if setting else None
        if why:
            yield f"{one.source}: {one.key} = {shown(one.value)} has no effect in this release: {why}."


def current_key(key: str) -> str:
    """Today's spelling of a dotted key."""
    return ".".join(renamed(path_of(key)))
