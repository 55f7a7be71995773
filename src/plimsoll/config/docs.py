"""Generates `docs/configuration.md` from the settings.

    python -m plimsoll.config.docs > docs/configuration.md

Every key of `all_keys()` is in it; a test compares the page with this output.
"""

from collections.abc import Iterator, Mapping

from plimsoll.config.scalars import scalar_text
from plimsoll.config.schema import Setting, all_keys, is_any_name, sections
from plimsoll.config.values import KeyPath

_OPENING = """\
# Configuration

<!-- Written by `python -m plimsoll.config.docs`; change the settings, not this page. -->

Settings are read from `config.yaml` in the directory that `PLIMSOLL_HOME` names (`~/.plimsoll` unless set).
The file may be missing, empty, or hold only the keys that you want to change.

| source | example | |
|---|---|---|
| default | see the tables below | lowest |
| file | `compression: {threshold: 0.4}` in `config.yaml` | |
| environment | `PLIMSOLL_COMPRESSION__THRESHOLD=0.4` (two underscores between levels) | |
| command line | a command's own flags | highest |

An unknown key, a wrong type or a value out of range is an error that names the line, the value and the
range, also where a higher source overrides it. The file is YAML 1.2: `true` and `false` are switches, `yes` is
text, and `"0.5"` in quotes is text too. A variable is read the same way; an empty one counts as not set.

```
plimsoll config path                              where the file is
plimsoll config check                             every mistake in it, and what is out of date
plimsoll config show                              the settings that hold, and who set them
plimsoll config explain compression.threshold     one setting: range, default, source
plimsoll config set compression.threshold 0.4     change one key; comments stay
```

**Secrets are not settings.** API keys come from the provider's environment variable (for example
`ANTHROPIC_API_KEY`) and are refused in the file. `env` and `headers` of an MCP server take them from the
environment too, as `${NAME}`; of both, `plimsoll config` and errors tell the names and never a value.
"""

_EXAMPLE_NAMES = {"<model>": "claude-sonnet-4.5", "<server>": "docs"}

_OLDER = """\
## Older spellings

| older | today |
|---|---|
| `compression.summary_model` | `auxiliary.compression.model` |
| `model.cache_ttl` | `prompt_caching.cache_ttl` |

They still work, in the file and as variables, and are reported. Where both are set, today's spelling wins.
"""

_COMPLETE = """\
## A complete file

Every key at its default. Model cards and MCP servers, of which there are none by default, are commented out.
"""


def configuration_page() -> str:
    """The whole page."""
    parts = [_OPENING]
    for path, section in sections().items():
        keys = [setting for setting in all_keys() if setting.path[:-1] == path]
        if keys:
            parts.append("\n".join(_table(path, section.__doc__ or "", keys)) + "\n")
    parts.append(_OLDER)
    parts.append(f"{_COMPLETE}\n```yaml\n{example_file()}```\n")
    return "\n".join(parts)


def example_file() -> str:
    """A `config.yaml` that sets every key to its default and says what it does."""
    tree: dict[str, object] = {}
    for setting in all_keys():
        branch = tree
        for name in setting.path[:-1]:
            branch = branch.setdefault(name, {})  # type: ignore[assignment]
        branch[setting.path[-1]] = setting
    return "\n".join(_example(tree, 0)) + "\n"


def _table(path: KeyPath, about: str, keys: list[Setting]) -> Iterator[str]:
    yield f"## `{'.'.join(path)}`"
    yield ""
    yield from (line.strip() for line in about.strip().splitlines())
    yield ""
    yield "| key | allowed | default | what it does | variable |"
    yield "|---|---|---|---|---|"
    for setting in keys:
        variable = f"`{setting.variable}`" if setting.variable else "(in the file only)"
        yield (
            f"| `{setting.key}` | {setting.allowed} | `{scalar_text(setting.default)}` "
            f"| {setting.description} | {variable} |"
        )


def _example(tree: Mapping[str, object], depth: int, mark: str = "") -> Iterator[str]:
    margin = "  " * depth + mark
    for position, (name, below) in enumerate(tree.items()):
        if isinstance(below, Setting):
            if not mark:
                yield f"{margin}# {below.description}"
            value = below.example if mark else below.default
            yield f"{margin}{name}: {scalar_text(value)}  # {below.allowed}"
        elif isinstance(below, Mapping):
            if depth == 0 and position:
                yield ""
            opens = "# " if any(map(is_any_name, below)) else ""
            yield f"{margin}{opens}{_EXAMPLE_NAMES.get(name, name)}:"
            yield from _example(below, depth + 1, mark or opens)


if __name__ == "__main__":
    print(configuration_page(), end="")
