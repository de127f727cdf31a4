"""Tables that a notebook shows of surveys, models, plans, results and runs, with a picture where there is one.

The rows are text and are escaped; nothing is loaded from anywhere. No library is needed.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt.earth.grid import Grid

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.api import ForwardResult, MigrationResult
    from subsalt.earth.model import EarthModel
    from subsalt.least_squares import LeastSquaresResult
    from subsalt.methods.kirchhoff.migrate_arrays import TimeImage
    from subsalt.plan.plan import Plan
    from subsalt.run.result import RunResult

Rows = Iterable[tuple[str, str]]

#: points of a volume up to which a picture of it is drawn, in about a third of a second
DRAWN = 1 << 24


def table(title: str, rows: Rows, below: str = "") -> str:
    """Return a heading, rows of name and text, and markup below them."""
    cell = '<td style="text-align:left;vertical-align:top">'
    lines = "".join(f"<tr>{cell}<b>{escape(k)}</b></td>{cell}{escape(v)}</td></tr>" for k, v in rows)
    return f"<div><b>{escape(title)}</b><table>{lines}</table>{below}</div>"


def _grid_rows(grid: Grid) -> Rows:
    names = "xz" if grid.ndim == 2 else "xyz"
    yield "points", f"{' x '.join(map(str, grid.shape))} ({', '.join(names)})"
    yield "spacing", f"{' x '.join(f'{h:g}' for h in grid.spacing)} m"
    for name, first, last in zip(names, grid.origin, grid.last, strict=True):
        yield name, f"{first:g} to {last:g} m"


def _picture(thing: Any, points: int) -> str:
    """Return a small picture as markup; none of a volume that takes long to draw."""
    if points > DRAWN:
        return ""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from subsalt.plotting import plot

    figure = Figure(figsize=(6.0, 2.8), dpi=80, layout="constrained")
    FigureCanvasAgg(figure)
    plot(thing, ax=figure.subplots())
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return f'<img alt="picture" src="data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"/>'


def _time(survey: Survey) -> str:
    t = survey.time
    return f"{t.nt} samples of {1e3 * t.dt:g} ms, {t.t0:g} to {t.duration:g} s"


def _survey_rows(survey: Survey) -> Rows:
    counts = [len(s.rcv) for s in survey.shots]
    yield (
        "shots",
        f"{len(counts)}" + (f", ids {survey.shots[0].id} to {survey.shots[-1].id}" if counts else ""),
    )
    if counts:
        span = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        yield "receivers", f"{span} a shot, {sum(counts)} traces"
    yield "time", _time(survey)
    if counts:
        low, high = survey.bounds
        for i, name in enumerate("xyz"):
            if name != "y" or survey.ndim == 3:
                yield name, f"{low[i]:g} to {high[i]:g} m"
        offsets = [s.offset for s in survey.shots if len(s.rcv)]
        if offsets:
            yield "offsets", f"{min(o.min() for o in offsets):g} to {max(o.max() for o in offsets):g} m"
    there = sum(s.data is not None for s in survey.shots)
    in_file = "in files" if survey.reader is not None else "none"
    yield (
        "traces",
        "in memory" if there == len(counts) and there else in_file if not there else f"of {there} shots",
    )
    if survey.source_files:
        more = f" and {len(survey.source_files) - 3} more" if len(survey.source_files) > 3 else ""
        yield "files", ", ".join(survey.source_files[:3]) + more


def of_survey(survey: Survey) -> str:
    """Return a survey as HTML."""
    return table(f"{survey.ndim}-D survey", _survey_rows(survey))


def of_model(model: EarthModel) -> str:
    """Return a model as HTML, with a picture of vp."""
    units = {"vp": " m/s", "theta": " rad", "phi": " rad"}
    ranges = [
        (name, f"{low:g} to {high:g}{units.get(name, '')}")
        for name in model.volumes
        for low, high in [model.limits(name)]
    ]
    title = f"{model.grid.ndim}-D earth model, {model.medium}"
    return table(title, [*_grid_rows(model.grid), *ranges], _picture(model, model.grid.size))


def _cost(phases: dict[str, float]) -> Rows:
    if "wall" in phases:
        yield "took", f"{phases['wall']:.3g} s"


def of_image(result: MigrationResult) -> str:
    """Return an image in depth as HTML, with a picture."""
    rows = [*_grid_rows(result.grid), ("time step", f"{1e3 * result.dt:.4g} ms"), *_cost(result.phases)]
    drawn = _picture(result, result.grid.size) if np.any(result.image) else ""
    return table("reverse time migration", rows, drawn)


def drawn_shots(result: LeastSquaresResult) -> str:
    """Return whose misfit the last iteration has, in words; empty where it is that of all shots."""
    drawn, every = result.history[-1].shots, result.history[0].shots
    return f", of the {drawn} of {every} shots drawn last" if drawn and result.history[-1].iteration else ""


def of_least_squares(result: LeastSquaresResult) -> str:
    """Return the image of a least-squares migration of arrays as HTML, with a picture."""
    rows = [
        *_grid_rows(result.grid),
        ("iterations", f"{result.history[-1].iteration}"),
        ("misfit", f"{100 * result.misfit[-1]:.3g} % of the start{drawn_shots(result)}"),
        ("ended by", result.reason),
    ]
    drawn = _picture(result, result.grid.size) if np.any(result.image) else ""
    return table("least-squares migration", rows, drawn)


def of_modelled(result: ForwardResult) -> str:
    """Return modelled traces as HTML."""
    rows = [*_survey_rows(result.survey), ("time step", f"{1e3 * result.dt:.4g} ms"), *_cost(result.phases)]
    return table("modelled survey", rows)


def of_time_image(result: TimeImage) -> str:
    """Return a time image as HTML, with a picture."""
    grid = result.grid
    rows = [
        ("inlines", " to ".join(map(str, grid.inlines[:2])) + f", step {grid.inlines[2]}"),
        ("crosslines", " to ".join(map(str, grid.crosslines[:2])) + f", step {grid.crosslines[2]}"),
        ("time", f"{grid.time.nt} samples of {1e3 * grid.time.dt:g} ms from {grid.time.t0:g} s"),
        ("gathers", "none" if result.gathers is None else f"{result.gathers.shape[2]} classes"),
        *_cost(result.phases),
    ]
    drawn = _picture(result, result.image.size) if np.any(result.image) else ""
    return table("Kirchhoff time migration", rows, drawn)


def of_plan(plan: Plan[Any]) -> str:
    """Return a plan as HTML: its verdict, and the lines that `subsalt plan` prints."""
    lines = "\n".join(plan.lines())
    verdict = "may start" if plan.fits else "does not fit"
    return table("plan of a run", [("verdict", verdict)], f"<pre>{escape(lines)}</pre>")


def of_run(run: RunResult) -> str:
    """Return the result of a run as HTML, with links to its report and image."""
    rows = [
        ("directory", str(run.run_dir)),
        ("image", str(run.image)),
        ("sha256", run.sha256),
        (f"{run.unit}s done", str(len(run.shots_done))),
        *([(f"{run.unit}s failed", ", ".join(map(str, run.shots_failed)))] if run.shots_failed else []),
        *_cost(run.phases),
        ("peak memory", f"{run.peak_memory / 1e6:.4g} MB"),
        *((f.level, f"{f.code} {f.message}") for f in run.findings if f.level != "ok"),
    ]
    links = ""
    if run.report is not None:
        # a page of a notebook server shows files below its folder, by relative names
        where = os.path.relpath(run.report).replace(os.sep, "/")
        links = f'<a href="{escape(where, quote=True)}" target="_blank">report</a>'
    return table("finished run", rows, links)
