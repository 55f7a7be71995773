"""Runs of the benches: saved as files, compared with each other."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"
SOURCE = {"commit": "abc", "machine": "one", "python": "3.11"}


@pytest.fixture
def figures(monkeypatch):
    """`bench/figures.py`, which is no part of the package."""
    monkeypatch.syspath_prepend(str(BENCH))
    import figures

    yield figures
    sys.modules.pop("figures", None)


@pytest.fixture
def runner(figures, tmp_path, monkeypatch):
    """`bench/run.py` with one bench of our own, and a folder of results."""
    import run

    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    monkeypatch.setattr(run, "BENCHES", {"example": "one figure"})

    def measure(value, *options):
        code = f"import sys; sys.path.insert(0, {str(BENCH)!r})\nprint(sys.argv[1:])\n"
        code += f"from figures import report; report('example', 'time', {value}, 'ms')\n"
        (tmp_path / "example.py").write_text(code, "utf-8")
        return run.main(list(options))

    yield measure
    sys.modules.pop("run", None)


@pytest.mark.parametrize(
    ("better", "now", "verdict"),
    [
        ("lower", 115.0, "ok"),
        ("lower", 116.0, "worse"),
        ("lower", 84.0, "better"),
        ("higher", 85.0, "ok"),
        ("higher", 84.0, "worse"),
        ("higher", 116.0, "better"),
    ],
)
def test_a_figure_may_be_up_to_fifteen_percent_worse(figures, better, now, verdict):
    before = figures.Figure("speed", "a pass", 100.0, "ms", better)
    assert figures.Compared(before, replace(before, value=now)).verdict == verdict


def test_a_difference_within_the_resolution_is_not_worse(figures):
    before = figures.Figure("background", "waited", 0.01, "s", "lower", resolution=0.1)
    assert figures.Compared(before, replace(before, value=0.1)).verdict == "ok"
    assert figures.Compared(before, replace(before, value=0.12)).verdict == "worse"


def test_any_growth_from_zero_is_worse(figures):
    before = figures.Figure("lcm", "tokens", 0.0, "tokens", "lower")
    assert figures.Compared(before, replace(before, value=1.0)).verdict == "worse"
    assert figures.Compared(before, before).verdict == "ok"


def test_a_figure_that_is_no_longer_measured_is_missing_and_a_first_one_is_new(figures):
    old, new = (figures.Figure("speed", name, 1.0, "ms", "lower") for name in ("old", "new"))
    assert [one.verdict for one in figures.compared([old], [new])] == ["missing", "new"]


def test_a_saved_run_reads_back_with_its_source(figures):
    run = [
        figures.Figure("speed", "a pass", 1.25, "ms", "lower"),
        figures.Figure("background", "waited", 0.5, "s", "lower", 0.1),
    ]
    assert figures.from_json(figures.as_json(run, SOURCE)) == (SOURCE, run)


def test_a_run_passes_against_itself_and_fails_when_a_figure_became_worse(runner, capfd):
    assert runner(100, "--save", "before") == 0
    assert runner(110, "--against", "before") == 0
    assert "1 of 1 figures" in capfd.readouterr().out
    assert runner(120, "--against", "before") == 1
    assert "+20%" in capfd.readouterr().out


def test_the_figures_of_benches_that_were_not_asked_for_are_not_missing(runner, figures, tmp_path):
    other = figures.Figure("other", "time", 1.0, "ms", "lower")
    ours = figures.Figure("example", "time", 100.0, "ms", "lower")
    (tmp_path / "before.json").write_text(figures.as_json([other, ours], SOURCE), "utf-8")
    assert runner(100, "--against", "before", "example") == 0


def test_what_follows_two_dashes_is_for_the_bench_itself(runner, capfd):
    assert runner(100, "example", "--", "--quick", "--alone") == 0
    assert "['--quick', '--alone']" in capfd.readouterr().out


def test_a_long_bench_runs_only_by_its_name(runner, monkeypatch, capfd):
    import run

    monkeypatch.setattr(run, "LONG_BENCHES", {"gateway": "takes minutes"})
    assert runner(100) == 0
    assert "gateway" not in capfd.readouterr().out
    (run.HERE / "gateway.py").write_text("print('under load')", "utf-8")
    assert runner(100, "gateway") == 0
    assert "under load" in capfd.readouterr().out


def test_a_comparison_with_a_run_that_was_not_saved_says_how_to_save_it(runner, capsys):
    with pytest.raises(SystemExit) as refused:
        runner(100, "--against", "yesterday")
    assert refused.value.code == 2
    assert "--save yesterday writes it" in capsys.readouterr().err


def test_a_bench_is_added_to_a_saved_run_of_the_same_code_only(runner, figures, tmp_path):
    import run

    run.BENCHES["other"] = "measured before"
    saved, other = tmp_path / "before.json", figures.Figure("other", "time", 1.0, "ms", "lower")
    for source, kept in ((run.source(), {"other", "example"}), (SOURCE, {"example"})):
        saved.write_text(figures.as_json([other], source), "utf-8")
        assert runner(100, "--save", "before", "example") == 0
        assert {figure.bench for figure in figures.from_json(saved.read_text("utf-8"))[1]} == kept


def test_the_committed_run_has_figures_of_every_bench(figures, monkeypatch):
    import run

    source, saved = figures.from_json((run.RESULTS / "before.json").read_text("utf-8"))
    assert {figure.bench for figure in saved} == run.BENCHES.keys()
    assert all(source.values())
    sys.modules.pop("run", None)
