"""Pictures of files: a run (its image, or the sum so far), a volume, or a file of shots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Survey, TimeAxis
from subsalt.earth.model import EarthModel
from subsalt.errors import ConfigError, MissingInputError, ModelError, SegyError
from subsalt.io.export import is_time_volume
from subsalt.io.volumes.image_traces import open_image_traces
from subsalt.methods import method_of_run
from subsalt.view.cuts import cuts_at
from subsalt.view.gather_pages import draw_gathers, gather_at, locations_of
from subsalt.view.pages import Sheet, png_path
from subsalt.view.records import Draw, TraceStyle, gather, gathers
from subsalt.view.run_image import job_of, read_volume, run_facts
from subsalt.view.slices import coloured, is_angle, sections
from subsalt.view.time_sections import time_sections
from subsalt.view.time_volume import TraceVolume, gathers_of, grid_of_traces

TRACE_SUFFIXES = (".sgy", ".segy", ".seg", ".su")
# of a file without geometry, as many traces are drawn
MOST_TRACES = 1000


@dataclass(frozen=True)
class PictureStyle:
    """The style of pictures of files.

    Parameters
    ----------
    clip : float
        Percentile of |a| at which the grey scale ends.
    draw : {"auto", "wiggle", "grey", "residual"}
        Style of gathers.
    model : EarthModel or ndarray, optional
        Velocity laid over an image.
    survey : Survey, optional
        Marked on an image.
    whole : bool
        Show all of the image of a run, also what the survey does not light.
    """

    clip: float = 99.0
    draw: Draw = "auto"
    model: EarthModel | NDArray | None = None
    survey: Survey | None = None
    whole: bool = False

    @property
    def traces(self) -> dict[str, Any]:
        """Options that concern traces."""
        return {"clip": self.clip, "draw": self.draw}

    @property
    def image(self) -> dict[str, Any]:
        """Options that concern an image in depth."""
        return {"clip": self.clip, "model": self.model, "survey": self.survey, "whole": self.whole}


@dataclass(frozen=True)
class RunStyle(PictureStyle):
    """The style of pictures of a run; a method uses the parts that its image has.

    Parameters
    ----------
    places : sequence of places
        Places whose gathers are drawn; the image is cut at the first.
    every : int, optional
        Gathers at every so many locations.
    gathers : bool
        Draw the gathers of a depth image.
    velocity : {"none", "moveout", "overlay"}
        Use of the velocity of the migration: the moveout that is left in gathers, and a layer over the image.
    gain : float
        Power of time that multiplies images and gathers in time.
    along : str, optional
        Horizon of the event whose amplitude is drawn in images by iteration: a depth, m, or a text file of points.
    """

    places: Sequence[Sequence[float]] = ()
    every: int | None = None
    gathers: bool = False
    velocity: Literal["none", "moveout", "overlay"] = "none"
    gain: float = 0.0
    along: str | None = None

    def refuse_horizon(self, source: Path) -> None:
        """Raise when an event is to be followed, and `source` has no images by iteration to follow it in (E836)."""
        if self.along is not None:
            raise ConfigError(
                f"{source} has no images by iteration, in which --along follows an event",
                "leave --along out, or name a run of least-squares migration that keeps its images",
                "E836",
            )

    def only_of_depth(self, source: Path) -> Sequence[float] | None:
        """Return the one place to cut `source` at, which has no gathers and no velocity in time; or refuse."""
        given = (("--gathers-every", self.every is not None), ("--velocity", self.velocity == "overlay"))
        for name in (name for name, is_given in given if is_given):
            raise ConfigError(
                f"{source} is no time migration, for which {name} is", f"leave {name} out", "E836"
            )
        if len(self.places) > 1:
            raise ConfigError(
                f"{len(self.places)} places to cut one volume at", "give --at once: x,y,z", "E836"
            )
        return self.places[0] if self.places else None


def picture(
    source: str | Path,
    out: str | Path | None = None,
    *,
    at: Sequence[float] | None = None,
    key: str | None = None,
    shots: Sequence[int] | None = None,
    **drawn: Any,
) -> list[Path]:
    """Draw a run directory, a volume, or a SEG-Y or SU file of shots.

    Parameters
    ----------
    source : path
        Run directory (finished, or with the partial images of a run in progress), or a file: any volume that
        `io.volume` reads, or shots.
    out : path, optional
        PNG or folder; ``NAME.png`` next to the source when left out.
    at : sequence of float, (3,), optional
        Local point through which a 3-D volume is cut, m.
    key : str, optional
        Array of an NPZ file.
    shots : sequence of int, optional
        Which shots of a file; the first, the middle and the last when left out.
    **drawn
        Fields of `PictureStyle`: ``clip``, ``draw``, ``model``, ``survey`` and ``whole``.

    Returns
    -------
    list of Path
        Pictures; of a 3-D image the overview first.
    """
    source, how = Path(source), PictureStyle(**drawn)
    if not source.exists():
        raise MissingInputError(f"{source} does not exist", "give a run directory or a file", code="E110")
    target = named(source, out)
    if is_run_directory(source):
        return view_run(source, target, RunStyle(places=[] if at is None else [at], **drawn))
    traces = source.suffix.lower() in TRACE_SUFFIXES
    if traces and is_gathers(source):
        return gather_file(source, target, places=[] if at is None else [at], **how.traces)
    if traces and is_time_volume(source):
        return time_file(source, target, at=at, clip=how.clip)
    if traces and holds_shots(source):
        from subsalt.io.segy.reading import read_survey

        title = f"shots of {source.name}"
        return [gathers(read_survey(source), target, ids=shots, title=title, **how.traces)]
    try:
        grid, frame, values, key = read_volume(source, key)
    except ModelError:
        if not traces:
            raise
        # neither shots nor places for a volume: then the traces as they come
        data, time, n = first_traces(source)
        title = f"{source.name}: {len(data)} of {n} traces, in file order"
        if time.dt <= 0:
            title, time = title + ", interval unknown", TimeAxis(time.nt, 1.0)
        return [gather(data, time, target, title=title, **how.traces)]
    title = source.name
    if traces:
        # SEG-Y does not say whether its interval is a depth or a time
        title += f", vertical step taken as {grid.spacing[-1]:g} m"
    known = key or source.stem
    unsigned = values.size and float(np.nanmin(values)) >= 0 and float(np.nanmax(values)) > 0
    if unsigned or is_angle(known):
        # a velocity or another quantity without a sign, or a tilt: in colour
        label = {"vp": "vp (m/s)"}.get(known.split("_")[0], known if is_angle(known) else key or "value")
        sheet = Sheet(png_path(target, f"{known}.png"), title, about=label)
        return [coloured(sheet, values, cuts_at(grid, at), known)]
    return list(sections(values, grid, target, frame=frame, at=at, title=title, **how.image).values())


def is_run_directory(source: Path) -> bool:
    """Return whether a source is a folder that is no store of arrays."""
    return source.is_dir() and source.suffix != ".zarr"


def view_run(
    folder: Path, target: Path, how: RunStyle, say: Callable[[str], None] = lambda text: None
) -> list[Path]:
    """Draw a run directory by its method, as run.json or the resolved job names it; return the pictures."""
    facts = run_facts(folder)
    method = method_of_run(facts if facts.get("method") else {"job": job_of(facts, folder)})
    return method.view(folder, target, how, say)


def named(source: Path, out: str | Path | None) -> Path:
    """Return the PNG to draw a source into: `out`, ``NAME.png`` in that folder, or ``NAME.png`` next to the source.

    A run directory ``line.run`` gives ``line.png`` next to it: nothing is written inside a run.
    """
    whole = source.resolve() if source.name in ("", "..") else source
    name = whole.stem
    target = Path(out) if out is not None else whole.with_name(f"{name}.png")
    return target / f"{name}.png" if target.is_dir() else target


def gather_file(
    source: str | Path,
    out: str | Path,
    *,
    places: Sequence[Sequence[float]] = (),
    every: int | None = None,
    **drawn: Any,
) -> list[Path]:
    """Draw image gathers, or CDP gathers, of a SEG-Y or SU file.

    Parameters
    ----------
    source : path
        Traces with inline and crossline, or with CDP numbers, and offsets.
    out : path
        PNG to write; more pages are numbered.
    places, every, **drawn
        As in `time_pictures`.

    Returns
    -------
    list of Path
        The pages.
    """
    traces = open_image_traces(source)
    grid = grid_of_traces(traces)
    fold = np.zeros(grid.shape, np.int32)
    i, j = (
        (a - lines[0]) // lines[2]
        for a, lines in ((traces.inline, grid.inlines), (traces.crossline, grid.crosslines))
    )
    np.add.at(fold, (i, j), 1)
    chosen = locations_of(grid, fold, places, every)
    read = partial(gather_at, gathers_of(traces, grid), grid)
    sheet = Sheet(Path(out), f"{Path(source).name}: gathers")
    return draw_gathers(sheet, chosen, read, grid.time, TraceStyle(**drawn))


def time_file(
    source: str | Path,
    out: str | Path,
    *,
    at: Sequence[float] | None = None,
    clip: float = 99.0,
    gain: float = 0.0,
) -> list[Path]:
    """Draw a time image of one trace per location, or the hit count of one; parameters as of `time_sections`."""
    traces = open_image_traces(source)
    grid = grid_of_traces(traces)
    volume = TraceVolume(traces, grid)
    name, (low, high) = Path(source).name, volume.limits()
    unsigned = low >= 0 < high
    drawn = time_sections(
        volume,
        grid,
        out,
        at=at,
        clip=clip,
        gain=gain,
        title=name,
        palette="fold" if unsigned else "grey",
        label="traces in a sample" if unsigned else "amplitude",
    )
    return list(drawn.values())


def is_gathers(path: Path) -> bool:
    """Return whether a SEG-Y or SU file holds gathers of locations: no sources, several offsets at one place."""
    # gathers of a run say in their headers what they are, also where the classes have sources and receivers
    if path.suffix.lower() not in TRACE_SUFFIXES or (holds_shots(path) and not is_time_volume(path)):
        return False
    try:
        traces = open_image_traces(path)
    except SegyError:
        return False
    return traces.per_location > 1 and len(np.unique(traces.offset)) > 1


def holds_shots(path: Path) -> bool:
    """Return whether a SEG-Y or SU file holds shots rather than a volume: with sources and receivers."""
    from subsalt.io.scan.scan import scan

    scanned = scan(path)
    return scanned.has_sources and (scanned.has_receivers or tuple(scanned.offsets) != (0.0, 0.0))


def first_traces(path: Path) -> tuple[NDArray, TimeAxis, int]:
    """Return the first traces of a SEG-Y or SU file, their time axis, and how many there are."""
    from subsalt.io.input_file import InputFile
    from subsalt.io.segy.fix import Fix
    from subsalt.io.segy.geometry import open_headers
    from subsalt.io.segy.headers import HeaderBytes, read_traces

    with InputFile(path) as file:
        one = open_headers(file, HeaderBytes(), Fix())
        n = one.layout.n_traces
        data = read_traces(file, one.layout, np.arange(min(n, MOST_TRACES)))
    return data, TimeAxis(one.layout.ns, one.layout.dt), n
