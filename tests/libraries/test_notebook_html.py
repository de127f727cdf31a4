"""What notebooks show: tables whose texts are escaped; a progress bar; the player as a widget."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import subsalt as ss
from subsalt import notebook
from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.api import ForwardResult, MigrationResult
from subsalt.errors import Finding
from subsalt.inversion.cgls import Scalars
from subsalt.least_squares import LeastSquaresResult
from subsalt.plan.plan import Plan
from subsalt.plan.prediction import Prediction
from subsalt.run.result import RunResult

GRID = ss.Grid((21, 11), (10.0, 10.0))
SURVEY = ss.Survey.from_arrays([(50.0, 20.0)], [(0.0, 20.0), (150.0, 20.0)], nt=51, dt=0.004)


class Balanced(HTMLParser):
    """Collects texts, and checks that tags are closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.texts, self.tags = [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag == "img" or self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def rows(html):
    """Return the rows of a table, by name."""
    texts = [t for t in Balanced(html).texts if t.strip()]
    return dict(zip(texts[1::2], texts[2::2], strict=False))


def test_a_survey_says_what_it_holds():
    shown = rows(SURVEY._repr_html_())
    assert shown["shots"] == "1, ids 1 to 1"
    assert shown["receivers"] == "2 a shot, 2 traces"
    assert shown["time"] == "51 samples of 4 ms, 0 to 0.2 s"
    assert shown["x"] == "0 to 150 m"
    assert shown["offsets"] == "50 to 100 m"
    assert shown["traces"] == "none"
    assert "y" not in shown
    empty = ss.Survey([], TimeAxis(5, 0.004))
    assert rows(empty._repr_html_())["shots"] == "0"


def test_texts_are_escaped():
    shots = [Shot(1, np.zeros(3), np.zeros((1, 3)))]
    survey = ss.Survey(shots, TimeAxis(5, 0.004), source_files=["<script>alert(1)</script>.sgy"])
    tags = [tag for tag, _ in Balanced(survey._repr_html_()).tags]
    assert "script" not in tags
    assert rows(survey._repr_html_())["files"] == "<script>alert(1)</script>.sgy"


def test_a_model_and_an_image_have_a_picture():
    vp = np.full(GRID.shape, 2000.0)
    vp[:, 6:] = 2500.0
    shown = ss.EarthModel(GRID, vp, 0.1, 0.05)._repr_html_()
    assert rows(shown)["points"] == "21 x 11 (x, z)"
    assert rows(shown)["vp"] == "2000 to 2500 m/s"
    result = MigrationResult(vp.astype(np.float32), None, GRID, 0.001, 2, 0, {"wall": 1.5}, 100)
    for html in (shown, result._repr_html_()):
        (picture,) = [attrs for tag, attrs in Balanced(html).tags if tag == "img"]
        assert picture["src"].startswith("data:image/png;base64,iVBOR")
    assert rows(result._repr_html_())["took"] == "1.5 s"
    modelled = ForwardResult(SURVEY, 0.001, {"wall": 2.0}, 5)
    assert rows(modelled._repr_html_())["time step"] == "1 ms"


def least_squares():
    """Return an image after one iteration whose misfit fell to a quarter."""
    image = np.zeros(GRID.shape, np.float32)
    image[:, 5] = 1e-9
    history = [Scalars(0, 1.0, 8.0, 8.0, 8.0), Scalars(1, 0.5, 2.0, 8.0, 8.0)]
    return LeastSquaresResult(image, GRID, history, "the number of iterations", image.astype(float), None)


def test_an_image_of_least_squares_says_how_it_ended():
    html = least_squares()._repr_html_()
    shown = rows(html)
    assert (shown["iterations"], shown["misfit"]) == ("1", "25 % of the start")
    assert shown["ended by"] == "the number of iterations"
    drawn = [Scalars(0, 1.0, 8.0, 8.0, 8.0, shots=5), Scalars(1, 0.5, 2.0, 4.0, 4.0, shots=2)]
    of_drawn = rows(replace(least_squares(), history=drawn)._repr_html_())
    assert of_drawn["misfit"] == "50 % of the start, of the 2 of 5 shots drawn last"
    assert [tag for tag, _ in Balanced(html).tags].count("img") == 1


def test_a_plan_shows_what_the_command_prints():
    plan = Plan([["memory  <3 MB"], ["time  5 s"]], "fits", {}, 1, [], Prediction({}), "shots", None)
    html = plan._repr_html_()
    assert rows(html)["verdict"] == "may start"
    assert "\n".join(plan.lines()) in Balanced(html).texts


def test_a_run_links_to_its_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    findings = [Finding("W1", "warning", "too <coarse>", ""), Finding("", "ok", "grids agree", "")]
    report = tmp_path / "a.run" / "report & more.html"
    run = RunResult(
        tmp_path,
        tmp_path / "image.sgy",
        "ab" * 32,
        {"wall": 3.0},
        10**6,
        [1, 2],
        [3],
        0,
        report,
        [],
        findings,
    )
    html = run._repr_html_()
    assert rows(html)["shots done"] == "2"
    assert rows(html)["shots failed"] == "3"
    assert rows(html)["warning"] == "W1 too <coarse>"
    assert "ok" not in rows(html)
    (link,) = [attrs for tag, attrs in Balanced(html).tags if tag == "a"]
    assert Path(link["href"]) == Path(os.path.relpath(report))


def test_the_bar_understands_every_way_to_report_progress():
    assert notebook._understood((2, 5, 0.25)) == (2.25, 5.0, "shot 3 of 5")
    assert notebook._understood((2.5, 5, "reading")) == (2.5, 5.0, "reading")
    assert notebook._understood((0.5,)) == (0.5, 1.0, "")
    assert '<progress max="1" value="0.5000">' in notebook._bar("a < b", 1, 2, 3.0, "")
    assert "a &lt; b" in notebook._bar("a < b", 1, 2, 3.0, "")


@pytest.mark.library
def test_the_bar_updates_one_display(monkeypatch):
    display = pytest.importorskip("IPython.display", reason="IPython is not installed (make test-libraries)")
    shown = []

    class Handle:
        update = staticmethod(lambda html: shown.append(html.data))

    monkeypatch.setattr(display, "display", lambda html, display_id: shown.append(html.data) or Handle)
    with notebook.progress("model") as bar:
        ss.forward(ss.EarthModel(GRID, 2000.0), SURVEY, ss.ricker(15.0, 0.001), progress=bar)
    assert len(shown) >= 2
    assert "100 %" in shown[-1]


@pytest.mark.library
def test_the_player_is_the_page_in_a_frame_that_runs_scripts_alone(tmp_path, monkeypatch):
    pytest.importorskip("anywidget", reason="anywidget is not installed (make test-libraries)")
    from subsalt.libraries import player_widget
    from subsalt.view.movie import Movie

    seen = {}

    def page(movie, path):
        seen["movie"] = movie
        Path(path).write_bytes("<p>\u0080 é</p>\r".encode())
        return 1

    monkeypatch.setattr(player_widget, "movie_of", lambda run, shot, **how: (run, shot, how))
    monkeypatch.setattr(player_widget, "write_page", page)
    widget = notebook.player(tmp_path, 7, height=300)
    assert seen["movie"][:2] == (tmp_path, 7)
    assert (widget.page, widget.height) == ("<p>\u0080 é</p>\r", 300)  # no byte of the page changes
    assert Movie
    esm = str(widget._esm)
    assert re.search(r'setAttribute\("sandbox", "allow-scripts"\)', esm)
    assert "http" not in esm
