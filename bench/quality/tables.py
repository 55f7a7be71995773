"""The results of a run as tables for a person."""

from collections.abc import Mapping
from typing import Any

from bars import bars
from rich.console import Console
from rich.table import Table

Row = Mapping[str, Any]


def shown(value: float | None, places: int = 2) -> str:
    """A share as people write it: .87."""
    if value is None:
        return "–"
    text = f"{value:.{places}f}"
    return text[1:] if text.startswith("0.") else text


def rows_table(title: str, rows: Mapping[str, Row]) -> Table:
    """One line for each way to compact."""
    table = Table(title=title, title_justify="left")
    table.add_column("", no_wrap=True)
    for heading in (
        "tokens",
        "far present",
        "grounded",
        "near",
        "stated",
        "early/mid/late",
        "valid",
        "invented",
        "s",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, row in rows.items():
        table.add_row(
            name,
            f"{row['tokens']:,.0f}",
            shown(row["far_present"]),
            shown(row["far_grounded"]),
            shown(row["near_grounded"]),
            shown(row["stated"]),
            "/".join(shown(row["thirds_stated"].get(third)) for third in ("early", "middle", "late")),
            f"{row['valid']:.0%}",
            f"{row['fabrications']:,}",
            f"{row.get('seconds_median', 0):.2f}",
        )
    return table


def kinds_table(rows: Mapping[str, Row]) -> Table:
    """Stated facts by kind."""
    kinds = sorted({kind for row in rows.values() for kind in row["kinds"]})
    table = Table("", *kinds, title="Stated facts by kind", title_justify="left")
    for name, row in rows.items():
        table.add_row(name, *(shown(row["kinds"].get(kind)) for kind in kinds))
    first = next(iter(rows.values()))
    table.add_row("facts", *(f"{first['counts'].get(kind, 0):,}" for kind in kinds), style="dim")
    return table


def bars_table(results: Mapping[str, Any]) -> Table:
    """Every bar with its verdict."""
    table = Table("bar", "measured", "wanted", "", title="Bars", title_justify="left")
    for bar in bars(results):
        large = bar.measured is not None and bar.measured > 100
        value = f"{bar.measured:,.0f}" if large else shown(bar.measured, 3)
        style = {"held": "green", "MISSED": "red"}.get(bar.verdict, "dim")
        table.add_row(bar.name, value, bar.wanted, f"[{style}]{bar.verdict}[/]")
    return table


def show(results: Mapping[str, Any], console: Console) -> None:
    """Everything that was measured."""
    for name, rows in results["sets"].items():
        first = next(iter(rows.values()))
        size = f"{first['cuts']} cuts of {first['tokens_before']:,.0f} tokens"
        title = f"{name}: {size}, {first['far_facts']} far facts"
        console.print(rows_table(title, rows))
        console.print(kinds_table({key: row for key, row in rows.items() if key.endswith(("own", "11000"))}))
    if results.get("recorded"):
        console.print(rows_table("Where the recorded agent compacted", results["recorded"]))
        console.print(kinds_table(results["recorded"]))
    for name in ("reach", "money"):
        if results.get(name):
            console.print(plain_table(name, results[name]))
    if results.get("decay"):
        console.print(decay_table(results["decay"]))
    if results.get("peers"):
        console.print(peers_table(results["peers"]))
    console.print(bars_table(results))


def plain_table(title: str, found: Mapping[str, Any]) -> Table:
    """Figures by name."""
    table = Table("", "", title=title, title_justify="left")
    for name, value in found.items():
        table.add_row(name, str(value))
    return table


def decay_table(rounds: Mapping[str, Any]) -> Table:
    """Compactions in a row, and one compaction of everything behind the stroke."""
    table = Table("compactions", title="In a row while it grows / at once", title_justify="left")
    for heading in ("tokens", "far present", "grounded", "stated"):
        table.add_column(heading, justify="right")
    for number, pair in rounds.items():
        again, once = pair["in a row"], pair["at once"]
        cells = [
            f"{shown(again[key])} / {shown(once[key])}" for key in ("far_present", "far_grounded", "stated")
        ]
        table.add_row(number, f"{again['tokens']:,.0f} / {once['tokens']:,.0f}", *cells)
    return table


def peers_table(peers: Mapping[str, Any]) -> Table:
    """Each peer at its defaults and at equal tokens, Plimsoll on the same cuts behind the stroke."""
    table = Table(
        "peer", "", title="Far facts grounded: peer / Plimsoll on the same cuts", title_justify="left"
    )
    for heading in ("cuts", "own: tokens", "grounded", "8K", "11K", "16K", "valid", "invented", "USD"):
        table.add_column(heading, justify="right")
    for name, kinds in peers.items():
        for kind, said in (("without", "no model"), ("given", "summaries")):
            found = kinds.get(kind, {})
            own = found.get("own")
            if not own:
                continue
            cells = [_pair(found.get(budget)) for budget in ("8000", "11000", "16000")]
            valid = min(row["valid"] for row in found.values())
            invented = sum(row["fabrications"] for row in found.values())
            table.add_row(
                name,
                said,
                str(own["cuts"]),
                f"{own['tokens']:,.0f}",
                _pair(own),
                *cells,
                f"{valid:.0%}",
                f"{invented:,}",
                f"{own.get('money', 0):.3f}",
            )
    return table


def _pair(row: Row | None) -> str:
    if not row:
        return "–"
    ours = shown(row.get("plimsoll", {}).get("far_grounded"))
    return f"{shown(row['far_grounded'])} / {ours}"
