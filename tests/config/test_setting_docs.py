"""The documentation page is made from the settings and is up to date."""

import runpy
from pathlib import Path

from plimsoll.config import Settings, all_keys, load_settings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "configuration.md"
GENERATOR = runpy.run_path(str(ROOT / "site" / "configuration.py"))
configuration_page, example_file = GENERATOR["configuration_page"], GENERATOR["example_file"]


def test_the_page_on_disk_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == configuration_page(), (
        "run: python site/configuration.py > docs/configuration.md"
    )


def test_every_key_is_on_the_page_with_its_variable_default_and_description() -> None:
    page = configuration_page()
    for setting in all_keys():
        assert f"| `{setting.key}` |" in page
        assert setting.variable is None or f"`{setting.variable}`" in page
        assert setting.description
        assert setting.description in page


def test_the_complete_example_is_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(example_file(), encoding="utf-8")
    loaded = load_settings(tmp_path, {})
    assert loaded.settings == Settings()
    assert loaded.notices == ()


def test_the_commented_part_of_the_example_is_valid_too(tmp_path: Path) -> None:
    lines = example_file().splitlines()
    start = lines.index("  # cards:")
    end = lines.index("", start)
    shown = [*lines[:start], *(line.replace("# ", "", 1) for line in lines[start:end]), *lines[end:]]
    (tmp_path / "config.yaml").write_text("\n".join(shown), encoding="utf-8")
    assert "claude-sonnet-4.5" in load_settings(tmp_path, {}).settings.model.cards


def test_the_commented_servers_of_the_example_are_valid_too(tmp_path: Path) -> None:
    before, mark, servers = example_file().partition("# mcp_servers:\n")
    lines = [line.replace("# ", "", 1) for line in (mark + servers).splitlines()]
    (tmp_path / "config.yaml").write_text(before + "\n".join(lines), encoding="utf-8")
    assert load_settings(tmp_path, {}).settings.mcp_servers["docs"].command == "docs-server"


def test_a_name_that_a_person_chooses_is_called_what_it_is() -> None:
    page = configuration_page()
    assert "`model.cards.<model>.window`" in page
    assert "`mcp_servers.<server>.command`" in page
    assert "<model>" not in page.partition("## `mcp_servers")[2].partition("## Older")[0]
