"""Model against measured: rescaled by the run's own kernel rate, the largest miss named, `unexplained` kept."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subsalt import report
from subsalt.cli import guard
from subsalt.cli.app_root import app
from subsalt.report.comparison import OUTSIDE, compare
from subsalt.report.time_spent import comparison_of

SAID = {"start": 1.0, "source": 4.0, "receivers": 6.0, "setup": 1.0, "output": 0.2, "check": 0.3}
SPENT = {"source": 2.0, "receivers": 3.3, "setup": 2.0, "ledger": 0.1, "unexplained": 0.1, "wall": 7.5}


def test_phases_that_compute_are_taken_at_the_rate_of_the_run():
    comparison = compare(SAID, SPENT)
    rows = {r.phase: r for r in comparison.rows}
    # the source took half as long as predicted: so would the receivers have
    assert (comparison.rate_ratio, comparison.rate_of) == (0.5, "source")
    assert rows["source"].ratio == 1.0
    assert rows["receivers"].rescaled == 3.0
    assert rows["receivers"].ratio == pytest.approx(3.0 / 3.3)
    # what does not compute keeps its seconds
    assert rows["setup"].ratio == 0.5
    assert comparison.largest_miss.phase == "setup"
    assert rows["ledger"].predicted is None
    assert rows["output"].measured is None
    # what lies outside of the run's clock is no part of it
    assert not set(rows) & set(OUTSIDE)
    assert comparison.rows[-1].phase == "unexplained"
    assert (comparison.wall.predicted, comparison.wall.rescaled) == (pytest.approx(11.2), pytest.approx(6.2))
    assert comparison.text().endswith("largest miss setup")


def test_without_time_steps_nothing_is_rescaled():
    comparison = compare({"output": 1.0}, {"output": 2.0, "wall": 2.0})
    assert comparison.rate_ratio is None
    assert comparison.wall.rescaled == 1.0
    assert compare({"sum": 4.0, "prepare": 2.0}, {"sum": 2.0, "prepare": 1.0, "wall": 3}).wall.ratio == 1.0


@given(st.dictionaries(st.sampled_from(["source", "receivers", "setup", "output"]), st.floats(0, 1e6)))
def test_measured_rows_sum_to_the_wall(spent):
    wall = sum(spent.values()) * 1.01 + 1.0
    table = spent | {"unexplained": wall - sum(spent.values()), "wall": wall}
    comparison = compare(SAID, table)
    assert sum(r.measured or 0.0 for r in comparison.rows) == pytest.approx(wall)
    assert all(r.share >= 0 for r in comparison.rows)


@pytest.fixture
def predicted(run):
    """A run directory whose run made a prediction."""
    path = run / "run.json"
    facts = json.loads(path.read_text())
    notes = ["model: 500 M point-steps/s <b>measured</b> on a day"]
    facts["predicted"] = {"phases": {"source": 10.0, "receivers": 12.0, "setup": 0.2}, "notes": notes}
    facts["predicted"]["halo_seconds"] = 0.5
    facts["over_ranks"] = {"halo": {"waited": {"mean": 0.75, "max": 1.0}}}
    path.write_text(json.dumps(facts))
    return run


def test_the_report_has_the_table(predicted):
    page = report.write(predicted).read_text()
    assert "Model against measured" in page
    assert "largest miss: pictures" in page
    assert "0.50 s predicted, 0.75 s measured" in page
    # a note is text, not markup
    assert "&lt;b&gt;measured&lt;/b&gt;" in page


def test_a_run_without_a_prediction_says_why(run):
    path = run / "run.json"
    facts = json.loads(path.read_text())
    assert comparison_of(facts) is None
    assert "Model against measured" not in report.write(run).read_text()
    facts["predicted"] = {"phases": {}, "notes": ["no time: this machine was not measured"]}
    path.write_text(json.dumps(facts))
    assert "no time: this machine was not measured" in report.write(run).read_text()


@pytest.mark.parametrize(
    "odd", [7, {"phases": "none"}, {"phases": {"source": "fast"}}, {"phases": {}, "notes": 3}]
)
def test_odd_predictions_are_tolerated(run, odd):
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"predicted": odd}))
    assert report.write(run).exists()


def test_the_command_prints_table_and_json(predicted, capsys):
    code = guard.run(app, ["report", str(predicted), "--json"])
    said = capsys.readouterr()
    assert code == 0
    result = json.loads(said.out.splitlines()[-1])["model"]
    assert result["largest_miss"] == "pictures"
    assert result["phases"][-1]["phase"] == "unexplained"
    assert "phase" in said.err
    assert "rescaled" in said.err
