"""One function that draws a result on Matplotlib axes: `plot`, for notebooks and scripts.

`subsalt.view` writes the same pictures as files, with a heading and facts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.acquisition.wavelet import Wavelet
from subsalt.api import BornResult, ForwardResult, MigrationResult
from subsalt.earth.grid import Frame, Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError, MissingInputError
from subsalt.least_squares import LeastSquaresResult
from subsalt.methods.kirchhoff.migrate_arrays import TimeImage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from subsalt.view.records import Draw

Plane = Literal["inline", "crossline", "depth", "slice", "gather"]


def plot(
    thing: Any,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    grid: Grid | None = None,
    time: TimeAxis | None = None,
    survey: Survey | None = None,
    shot: int | None = None,
    name: str = "vp",
    plane: Plane = "inline",
    at: Sequence[float] | None = None,
    clip: float = 99.0,
    gain: float = 0.0,
    draw: Draw = "auto",
    whole: bool = False,
) -> Axes:
    """Draw a result: an image, a model, a shot, a wavelet or a file.

    Parameters
    ----------
    thing : a result, EarthModel, Survey, Shot, Wavelet, ndarray or path
        An image in depth or in time, a model (one parameter), a survey (the traces of one shot), or the samples of a
        wavelet. An array is an image with `grid`, and traces (receivers, samples) with `time`. A path is a run
        directory, a volume, or a SEG-Y file of shots.
    ax : Axes, optional
        Axes of Matplotlib to draw on; those of a new figure when left out.
    title : str, optional
        Title of the axes; what is drawn says its own when left out.
    grid : Grid
        Where the values of an array stand.
    time : TimeAxis
        Samples of an array of traces, or of a `Shot`: ``survey.time``.
    survey : Survey, optional
        Sources and receivers are marked on an image or a model.
    shot : int, optional
        Id of the shot of a survey; the first when left out.
    name : {"vp", "epsilon", "delta", "theta", "phi"}
        Parameter of a model; angles are drawn in degrees.
    plane : {"inline", "crossline", "depth", "slice", "gather"}
        Which plane of a 3-D image or model; ``"slice"`` is a time slice, and ``"gather"`` the image gather of a
        location of a `TimeImage`.
    at : sequence of float, optional
        Place through which it is cut: x, y, z in m; of a time image inline, crossline and time in s. The middle
        when left out.
    clip : float, default 99
        Percentile of ``|amplitude|`` at which the grey scale ends.
    gain : float, default 0
        Traces and time images are multiplied by time to this power.
    draw : {"auto", "wiggle", "grey", "residual"}
        How traces are drawn.
    whole : bool, default False
        Show all of a depth image, also the parts that its survey does not light.

    Returns
    -------
    Axes
        The axes; ``ax.figure.savefig("image.png")`` writes a file.

    Raises
    ------
    ConfigError
        When there is no way to draw `thing`, or an array comes without `grid` or `time`.
    MissingInputError
        When Matplotlib is not installed, or a file does not exist.

    Examples
    --------
    >>> result = subsalt.migrate(model, survey, wavelet)     # doctest: +SKIP
    >>> subsalt.plot(result, survey=survey)                  # doctest: +SKIP
    >>> subsalt.plot(survey, shot=3, draw="wiggle")          # doctest: +SKIP
    """
    how = PlotStyle(grid, time, survey, shot, name, plane, at, clip, gain, draw, whole)
    drawn = _Plot(_axes(ax), how)
    words = drawn.draw(thing)
    drawn.ax.set_title(words if title is None else title)
    return drawn.ax


@dataclass(frozen=True)
class PlotStyle:
    """How and what of a thing is drawn; see `plot`."""

    grid: Grid | None = None
    time: TimeAxis | None = None
    survey: Survey | None = None
    shot: int | None = None
    name: str = "vp"
    plane: Plane = "inline"
    at: Sequence[float] | None = None
    clip: float = 99.0
    gain: float = 0.0
    draw: Draw = "auto"
    whole: bool = False


def _axes(ax: Axes | None) -> Axes:
    """Return axes to draw on: the given ones, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as e:
        raise MissingInputError(
            "plot draws with Matplotlib, which is not installed", "pip install matplotlib"
        ) from e
    return plt.subplots(figsize=(8.0, 4.5), layout="constrained")[1]


@dataclass(frozen=True)
class _Plot:
    """One thing on one pair of axes; every method draws and returns a title."""

    ax: Axes
    how: PlotStyle

    def draw(self, thing: Any) -> str:
        """Draw a thing by its kind."""
        match thing:
            case MigrationResult():
                return self.image(thing.image, thing.grid, "image", thing.illumination)
            case LeastSquaresResult():
                return self.image(thing.image, thing.grid, "perturbation of 1 / v²")
            case TimeImage():
                return (
                    self.image_gather(thing)
                    if self.how.plane == "gather"
                    else self.time_image(thing.image, thing.grid)
                )
            case EarthModel():
                return self.model(thing)
            case ForwardResult():
                return self.shot_of(thing.survey)
            case Survey():
                return self.shot_of(thing)
            case Shot():
                if thing.data is None:
                    raise ConfigError(
                        f"shot {thing.id} holds no traces: they are in a file",
                        "plot(survey, shot=ID) reads them",
                    )
                return self.traces(thing.data, self._time_of_traces(), thing)
            case BornResult():
                return self.array(thing.values, thing.operator.model.grid, thing.operator.record)
            case Wavelet():
                return self.wavelet(thing)
            case str() | os.PathLike():
                return self.file(Path(thing))
            case _ if hasattr(thing, "__array__"):
                return self.array(np.asarray(thing), self.how.grid, self.how.time)
        raise ConfigError(
            f"plot() cannot draw a {type(thing).__name__}",
            "give an image, a model, a survey, a shot, a wavelet, an array or a path",
        )

    def array(self, values: NDArray, grid: Grid | None, time: TimeAxis | None) -> str:
        """Draw an array: an image when it has the shape of the grid, else traces, of several shots those of one."""
        if grid is not None and values.shape in (grid.shape, grid.shape3):
            return self.image(values, grid, "")
        if time is None:
            had = "neither grid nor time" if grid is None else f"a grid of {grid.shape}"
            raise ConfigError(
                f"an array of shape {values.shape} with {had}",
                "plot(image, grid=model.grid) draws an image, plot(traces, time=survey.time) draws traces",
            )
        return self.traces(values[(self.how.shot or 1) - 1] if values.ndim == 3 else values, time)

    def image(
        self,
        values: NDArray,
        grid: Grid,
        words: str,
        illumination: NDArray | Planes | None = None,
        frame: Frame | None = None,
    ) -> str:
        """Draw an image in depth in grey."""
        from subsalt.view import style
        from subsalt.view.cuts import Look, as_volume, cuts_at
        from subsalt.view.lit import lit_box
        from subsalt.view.placing import survey_points

        volume = as_volume(values, grid)
        src, rcv = survey_points(self.how.survey, frame)
        limit = style.clip_limit(style.below_surface(volume), self.how.clip)
        light = None if self.how.whole else illumination
        box = lit_box(volume, grid, light, limit, np.concatenate([src, rcv]))
        limit = style.clip_limit(style.below_surface(volume[box.slices]), self.how.clip)
        cuts = cuts_at(grid, self.how.at, volume, box)
        return self._cut(cuts, Look(volume, limit, src=src, rcv=rcv), "amplitude", words)

    def model(self, model: EarthModel) -> str:
        """Draw one parameter of a model in colour."""
        from subsalt.view import style
        from subsalt.view.cuts import Look, as_volume, cuts_at
        from subsalt.view.placing import survey_points
        from subsalt.view.slices import is_angle

        name = self.how.name
        known = [n for n in ("vp", "epsilon", "delta", "theta", "phi") if getattr(model, n) is not None]
        if name not in known:
            raise ConfigError(f"the model has no {name!r}", f"it has {', '.join(known)}")
        values, label = getattr(model, name), {"vp": "vp (m/s)"}.get(name, name)
        if is_angle(name):
            values, label = np.degrees(values), f"{name} (degrees)"
        src, rcv = survey_points(self.how.survey, model.frame)
        volume = as_volume(values, model.grid, name)
        look = Look(volume, style.value_limits(values), "velocity", src=src, rcv=rcv)
        return self._cut(cuts_at(model.grid, self.how.at), look, label, name)

    def _cut(self, cuts: dict[str, Any], look: Any, label: str, words: str) -> str:
        """Draw the plane that is wanted, true to scale unless it is very long."""
        from subsalt.view.cuts import draw_cut
        from subsalt.view.style import Length

        cut = cuts["section"] if "section" in cuts else cuts.get(self.how.plane)
        if cut is None:
            raise ConfigError(f"plane = {self.how.plane!r}", f"use one of {', '.join(cuts)}")
        unit = Length.fitting(*cut.lengths)
        drawn = draw_cut(self.ax, cut, look, unit)
        if cut.lengths[0] <= 8 * cut.lengths[1]:
            self.ax.set_aspect("equal")
        self._bar(drawn["values"], label)
        if cut.grid.ndim == 2:
            return words
        return f"{words}, {cut.title(unit)}" if words else cut.title(unit)

    def _bar(self, drawn: Any, label: str) -> None:
        """Draw a colour bar as high as the axes."""
        self.ax.figure.colorbar(drawn, cax=self.ax.inset_axes((1.02, 0.0, 0.03, 1.0)), label=label)

    def time_image(self, values: NDArray | Planes, grid: Any, words: str = "") -> str:
        """Draw a section of a time image in grey."""
        from subsalt.view.time_sections import draw_time_section

        drawn, said = draw_time_section(
            self.ax, values, grid, self.how.plane, at=self.how.at, clip=self.how.clip, gain=self.how.gain
        )
        self._bar(drawn, "amplitude")
        return words or said

    def image_gather(self, image: TimeImage) -> str:
        """Draw the image traces of one location by offset."""
        from subsalt.view.records import draw_traces
        from subsalt.view.time_sections import indices_at, line_name

        if image.gathers is None:
            raise ConfigError(
                "the time image holds no gathers", 'migrate_time(..., gathers="full-offset") makes them'
            )
        i, j, _ = indices_at(image.grid, self.how.at)
        offsets = np.asarray(image.classes.centres, np.float64)
        how = {"draw": self.how.draw, "clip": self.how.clip, "gain": self.how.gain}
        draw_traces(self.ax, image.gathers[i, j], image.grid.time, offsets, **how)
        (first, _, step), (start, _, by) = image.grid.inlines, image.grid.crosslines
        place = f"{line_name(image.grid)} {start + by * j}"
        return (
            f"gather at {place}"
            if image.grid.shape[0] == 1
            else f"gather at inline {first + step * i}, {place}"
        )

    def shot_of(self, survey: Survey) -> str:
        """Draw the traces of one shot of a survey; read them if they are in a file."""
        chosen = survey if self.how.shot is None else survey.select([self.how.shot])
        if not len(chosen):
            raise ConfigError("the survey has no shots", "check the selection of shots")
        shot = chosen.shots[0]
        return self.traces(survey.traces(shot), survey.time, shot)

    def _time_of_traces(self) -> TimeAxis:
        if self.how.time is None:
            raise ConfigError("a shot does not say the times of its samples", "plot(shot, time=survey.time)")
        return self.how.time

    def traces(self, data: NDArray, time: TimeAxis, shot: Shot | None = None) -> str:
        """Draw traces, one per row."""
        from subsalt.view.records import draw_traces, offset_along

        offset = None if shot is None else offset_along(shot)
        draw_traces(self.ax, data, time, offset, draw=self.how.draw, clip=self.how.clip, gain=self.how.gain)
        return "traces" if shot is None else f"shot {shot.id}"

    def wavelet(self, wavelet: Wavelet) -> str:
        """Draw the samples of a wavelet."""
        samples = wavelet.samples
        self.ax.plot(wavelet.t0 + wavelet.dt * np.arange(len(samples)), samples)
        self.ax.set_xlabel("time (s)")
        self.ax.set_ylabel("amplitude")
        return wavelet.name

    def file(self, path: Path) -> str:
        """Draw a run directory, a volume or a file of shots."""
        from subsalt.io.export import is_time_volume
        from subsalt.io.segy.reading import read_survey
        from subsalt.io.volumes.image_traces import open_image_traces
        from subsalt.view.reading import TRACE_SUFFIXES, holds_shots, is_run_directory
        from subsalt.view.run_image import read_run, read_volume
        from subsalt.view.time_volume import TraceVolume, grid_of_traces

        if not path.exists():
            raise MissingInputError(f"{path} does not exist", "give a run directory or a file", code="E110")
        words = path.stem
        if is_run_directory(path):
            in_time = path / "image.sgy"
            if not (in_time.is_file() and is_time_volume(in_time)):
                run = read_run(path)
                return self.image(run.values, run.grid, run.title, run.illumination, run.frame)
            path = in_time
        if path.suffix.lower() in TRACE_SUFFIXES:
            if is_time_volume(path):
                traces = open_image_traces(path)
                grid = grid_of_traces(traces)
                return self.time_image(TraceVolume(traces, grid), grid, words)
            if holds_shots(path):
                return self.shot_of(read_survey(path))
        own, frame, values, _ = read_volume(path)
        if values.size and float(np.nanmin(values)) > 0:
            return self.model(EarthModel(own, values, frame=frame))
        return self.image(values, own, words, None, frame)
