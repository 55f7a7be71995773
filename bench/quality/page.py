"""The figures of docs/benchmarks.md and its pictures, made from the JSON files in bench/results.

python bench/quality/page.py       after a run

The page's own words stay; what stands between `<!-- name -->` and `<!-- end -->` is written anew. A test compares the
page with the files, so that no figure on it can be older than them.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tables import shown

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = ROOT / "bench" / "results"
_BLOCK = re.compile(r"(?P<open><!-- (?P<name>[a-z]+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL)
_LABELS = {"own": "own choice", "8000": "8K", "11000": "11K", "16000": "16K", "20000": "20K", "32000": "32K"}
Results = Mapping[str, Any]


def filled(page: str, quality: Results, faults: Results) -> str:
    """The page with every figure as the results have it."""

    def block(match: re.Match[str]) -> str:
        made = BLOCKS[match["name"]](faults if match["name"] == "faults" else quality)
        return f"{match['open']}{made}\n{match['close']}"

    return _BLOCK.sub(block, page)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, figures to the right."""
    lines = [f"| {' | '.join(headings)} |", f"|---|{'--:|' * (len(headings) - 1)}"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def named(row: str) -> str:
    """A row's name for a reader: `Plimsoll at 11K`."""
    name, _, size = row.partition(" ")
    if size not in _LABELS:
        return row.replace("plimsoll", "Plimsoll")
    said = "Plimsoll" if name == "plimsoll" else "newest messages"
    return f"{said}, {_LABELS[size]}"


def _heading(quality: Results) -> str:
    first = next(iter(quality["sets"]["code"].values()))
    kind = "A quick run on a sample" if quality["quick"] else "A full run"
    changed = " The engine's source changed while it ran." if quality.get("engine_changed") else ""
    return (
        f"{kind}, {quality['date']}, Plimsoll {quality['version']}, Python {quality['python']}: {first['cuts']} cuts "
        f"of programming sessions with {first['tokens_before']:,.0f} tokens on average and {first['far_facts']} far "
        f"facts, window {quality['window']:,}.{changed}"
    )


def _rows(rows: Results) -> str:
    headings = (
        "",
        "tokens",
        "far present",
        "grounded",
        "stated",
        "early / late",
        "valid",
        "invented",
        "seconds",
    )
    return table(headings, (_row(name, row) for name, row in rows.items()))


def _row(name: str, row: Results) -> list[str]:
    thirds = row["thirds_stated"]
    return [
        named(name),
        f"{row['tokens']:,.0f}",
        shown(row["far_present"]),
        f"**{shown(row['far_grounded'])}**" if name.startswith("plimsoll") else shown(row["far_grounded"]),
        shown(row["stated"]),
        f"{shown(thirds.get('early'))} / {shown(thirds.get('late'))}",
        f"{row['valid']:.0%}",
        f"{row['fabrications']:,}",
        f"{row['seconds_median']:.2f}" if row["seconds_median"] else "–",
    ]


def _others(quality: Results) -> str:
    rows = {
        f"{name}: {named(label)}": row
        for name in ("airline", "research")
        for label, row in quality["sets"].get(name, {}).items()
        if label in ("plimsoll own", "recency own")
    }
    headings = ("", "tokens before", "after", "near grounded", "stated", "valid", "invented")
    return table(
        headings,
        (
            [
                name,
                f"{row['tokens_before']:,.0f}",
                f"{row['tokens']:,.0f}",
                shown(row["near_grounded"]),
                shown(row["stated"]),
                f"{row['valid']:.0%}",
                f"{row['fabrications']:,}",
            ]
            for name, row in rows.items()
        ),
    )


def _kinds(quality: Results) -> str:
    rows = quality["sets"]["code"]
    wanted = [
        name
        for name in ("plimsoll 11000", "plimsoll own", "recency own", "first 3 + last 20")
        if name in rows
    ]
    kinds = sorted(rows[wanted[0]]["kinds"])
    body = [[named(name), *(shown(rows[name]["kinds"].get(kind)) for kind in kinds)] for name in wanted]
    counts = ["facts", *(f"{rows[wanted[0]]['counts'][kind]:,}" for kind in kinds)]
    return table(("", *kinds), [*body, counts])


def _peers(quality: Results) -> str:
    headings = ("peer", "", "cuts", "own result", "grounded", "8K", "11K", "16K", "valid", "invented", "USD")
    rows = []
    for kinds in quality.get("peers", {}).values():
        for kind, said in (("without", "no model"), ("given", "recorded summary")):
            found = kinds.get(kind, {})
            own = found.get("own")
            if not own:
                continue
            rows.append(
                [
                    kinds["version"].replace("==", " "),
                    said,
                    str(own["cuts"]),
                    f"{own['tokens']:,.0f}",
                    _against(own) if "plimsoll" in own else shown(own["far_grounded"]),
                    *(_against(found.get(budget), int(budget)) for budget in ("8000", "11000", "16000")),
                    f"{min(row['valid'] for row in found.values()):.0%}",
                    f"{sum(row['fabrications'] for row in found.values()):,}",
                    f"{own.get('money', 0.0):.3f}",
                ]
            )
    return table(headings, rows) if rows else "Not measured in this run."


def _against(row: Results | None, budget: int = 0) -> str:
    """A peer's share, and Plimsoll's at no more tokens on the same cuts; a dash where the peer has no such size."""
    if not row or "plimsoll" not in row:
        return "–"
    plimsoll = row["plimsoll"]
    larger = r" \*" if plimsoll["tokens"] > max(budget, row["tokens"]) * 1.02 else ""
    return f"{shown(row['far_grounded'])} / **{shown(plimsoll['far_grounded'])}**{larger}"


def _reach(quality: Results) -> str:
    found = quality.get("reach") or {}
    if not found:
        return "Not measured in this run."
    lost = (
        f"Of the {found['lost_facts']} that are not in the context, {shown(found['lost_found'])} are found, for "
        f"{found['lost_tokens_per_search']:,} tokens each."
        if found["lost_facts"]
        else "None is missing from the context."
    )
    return (
        f"{found['facts']} far facts: {shown(found['present'], 3)} present, **{shown(found['reachable'], 3)} "
        f"reachable**. Searched for whether present or not, {shown(found['found_by_search'], 3)} are found, and what "
        f"a search shows has {found['tokens_per_search']:,} tokens on average. {lost}"
    )


def _decay(quality: Results) -> str:
    rounds = quality.get("decay") or {}
    headings = ("compactions", "tokens", "far present", "grounded", "stated")
    rows = []
    for number, pair in rounds.items():
        again, once = pair["in a row"], pair["at once"]
        shares = [
            f"{shown(again[key])} / {shown(once[key])}" for key in ("far_present", "far_grounded", "stated")
        ]
        rows.append([number, f"{again['tokens']:,.0f} / {once['tokens']:,.0f}", *shares])
    return table(headings, rows) if rows else "Not measured in this run."


def _money(quality: Results) -> str:
    found = quality.get("money") or {}
    if not found:
        return "Not measured in this run."
    ways = [key for key, value in found.items() if isinstance(value, float)]
    before = f"Mean of {found['cuts']} cuts, {found['model']}, summaries by {found['summary model']}:\n\n"
    return before + table(("", "USD"), ([named(way), f"{found[way]:.3f}"] for way in ways))


def _recorded(quality: Results) -> str:
    rows = quality.get("recorded") or {}
    return _rows(rows) if rows else "Not measured in this run."


def _bars(quality: Results) -> str:
    rows = []
    for bar in quality["bars"]:
        value = bar["measured"]
        large = value is not None and value > 100
        rows.append(
            [bar["bar"], f"{value:,.0f}" if large else shown(value, 3), bar["wanted"], bar["verdict"]]
        )
    return table(("bar", "measured", "wanted", ""), rows)


def _faults(faults: Results) -> str:
    names = list(faults["results"])
    said = ["fault", *(f"{name} {faults['versions'][name]}" for name in names)]
    rows = zip(*faults["results"].values(), strict=True)
    body = [
        [row[0]["fault"].replace("_", " "), *map(_fault, row)] for row in rows if row[0]["fault"] != "none"
    ]
    return table(said, body)


def _fault(found: Results) -> str:
    if found["raised"]:
        return "raises"
    if found["unchanged"]:
        return "unchanged"
    share = f"{found['facts_kept']}/{found['facts_of_dropped']}"
    flags = {"larger": found["larger"], "all lost": found["history_lost"], "invalid": not found["valid"]}
    words = [word for word, is_so in flags.items() if is_so]
    return ", ".join([f"{'**taken**' if found['accepted'] else 'refused'} {share}", *words])


BLOCKS: Mapping[str, Callable[[Results], str]] = {
    "heading": _heading,
    "code": lambda quality: _rows(quality["sets"]["code"]),
    "others": _others,
    "kinds": _kinds,
    "recorded": _recorded,
    "peers": _peers,
    "reach": _reach,
    "decay": _decay,
    "money": _money,
    "bars": _bars,
    "faults": _faults,
}


def read(name: str) -> Any:
    """One of the files of results."""
    return json.loads((RESULTS / name).read_text("utf-8"))


def main() -> int:
    """Write the page and draw its pictures."""
    from pictures import draw

    quality = read("quality.json")
    PAGE.write_text(filled(PAGE.read_text("utf-8"), quality, read("faults.json")), "utf-8")
    drawn = draw(quality, PAGE.parent / "images")
    print(f"written: {PAGE.relative_to(ROOT)}, {', '.join(str(path.relative_to(ROOT)) for path in drawn)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
