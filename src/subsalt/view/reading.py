"""Pictures of what lies on disk: a run (its image, or the sum so far), a volume, or a file of shots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import (
    ConfigError,
    CorruptionError,
    DataError,
    MissingInputError,
    ModelError,
    SubsaltError,
)
from subsalt.grid import Frame, Grid
from subsalt.model import EarthModel
from subsalt.survey import Survey, TimeAxis
from subsalt.view.records import Draw, gather, gathers
from subsalt.view.slices import coloured, sections

TRACE_SUFFIXES = (".sgy", ".segy", ".seg", ".su")
# of a file without geometry, as many traces are drawn
MOST_TRACES = 1000
# arrays of an NPZ that are drawn when none is named
NPZ_KEYS = ("image", "vp", "values")


def picture(
    source: str | Path,
    out: str | Path | None = None,
    *,
    clip: float = 99.0,
    at: Sequence[float] | None = None,
    key: str | None = None,
    shots: Sequence[int] | None = None,
    draw: Draw = "auto",
    model: EarthModel | NDArray | None = None,
    survey: Survey | None = None,
) -> list[Path]:
    """Draw a run directory, a volume, or a SEG-Y or SU file of shots.

    Parameters
    ----------
    source : path
        Run directory (finished, or with the partial images of a run that goes on), or a file: any volume that
        `io.volume` reads, or shots.
    out : path, optional
        PNG or folder; ``NAME.png`` in the current folder when left out.
    clip : float
        Percentile of |a| at which the grey scale ends.
    at : sequence of float, (3,), optional
        Local point through which a 3-D volume is cut, m.
    key : str, optional
        Array of an NPZ file.
    shots : sequence of int, optional
        Which shots of a file; the first, the middle and the last when left out.
    draw : {"auto", "wiggle", "grey", "residual"}
        How gathers are drawn.
    model : EarthModel or ndarray, optional
        Velocity laid over an image.
    survey : Survey, optional
        Marked on an image.

    Returns
    -------
    list of Path
        Pictures; of a 3-D image the overview first.
    """
    source = Path(source)
    if not source.exists():
        raise MissingInputError(f"{source} does not exist", "give a run directory or a file", code="E110")
    name = source.resolve().name if source.is_dir() else source.name
    target = Path(out) if out is not None else Path(f"{Path(name).stem}.png")
    if target.is_dir():
        target = target / f"{Path(name).stem}.png"
    if source.is_dir() and source.suffix != ".zarr":
        shown = read_run(source)
        drawn = sections(
            shown.values,
            shown.grid,
            target,
            model=model,
            survey=survey,
            frame=shown.frame,
            at=at,
            clip=clip,
            title=shown.title,
            run_id=shown.run_id,
        )
        return list(drawn.values())
    traces = source.suffix.lower() in TRACE_SUFFIXES
    if traces and holds_shots(source):
        from subsalt.io.segy import read_survey

        title = f"shots of {source.name}"
        return [gathers(read_survey(source), target, ids=shots, draw=draw, clip=clip, title=title)]
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
        return [gather(data, time, target, draw=draw, clip=clip, title=title)]
    title = source.name
    if traces:
        # SEG-Y does not say whether its interval is a depth or a time
        title += f", vertical step taken as {grid.spacing[-1]:g} m"
    if values.size and float(np.nanmin(values)) >= 0 and float(np.nanmax(values)) > 0:
        # a velocity or another quantity without a sign: in colour
        label = {"vp": "vp (m/s)"}.get(key or "", key or "value")
        return list(coloured(values, grid, target, at=at, title=title, label=label).values())
    drawn = sections(
        values, grid, target, model=model, survey=survey, frame=frame, at=at, clip=clip, title=title
    )
    return list(drawn.values())


def holds_shots(path: Path) -> bool:
    """Return whether a SEG-Y or SU file holds shots rather than a volume: with sources and receivers."""
    from subsalt.io.segy import scan

    found = scan(path)
    return found.has_sources and (found.has_receivers or tuple(found.offsets) != (0.0, 0.0))


def first_traces(path: Path) -> tuple[NDArray, TimeAxis, int]:
    """Return the first traces of a SEG-Y or SU file, their time axis, and how many there are."""
    from subsalt.io.files import InputFile
    from subsalt.io.headers import Fix, HeaderBytes
    from subsalt.io.scan import open_headers
    from subsalt.io.trace_headers import read_traces

    with InputFile(path) as file:
        one = open_headers(file, HeaderBytes(), Fix())
        n = one.layout.n_traces
        data = read_traces(file, one.layout, np.arange(min(n, MOST_TRACES)))
    return data, TimeAxis(one.layout.ns, one.layout.dt), n


def read_volume(path: Path, key: str | None = None) -> tuple[Grid, Frame, NDArray, str | None]:
    """Return grid, frame, values and name of a volume; of an NPZ image or vp unless `key` says which."""
    from subsalt.io import volume

    try:
        found = volume.read(path, key=key)
    except ModelError:
        if key is not None or path.suffix.lower() != ".npz":
            raise
        for guess in NPZ_KEYS:
            try:
                found, key = volume.read(path, key=guess), guess
                break
            except ModelError:
                continue
        else:
            raise
    return found.grid, found.frame, found.values, key


@dataclass
class RunImage:
    """The image of a run, finished or so far."""

    grid: Grid
    frame: Frame
    values: NDArray
    title: str
    run_id: str


def read_run(folder: Path) -> RunImage:
    """Return the image of a run directory, or the sum of its partial images while it has none.

    Raises
    ------
    DataError
        When there is neither, or nothing says the grid of the partial images.
    """
    facts = run_facts(folder)
    title = str(facts.get("title") or folder.resolve().name)
    run_id = str(facts.get("run_id") or "")
    image = facts.get("image")
    name = image.get("path") if isinstance(image, dict) else None
    if isinstance(name, str):
        path = (folder / name).resolve()
        # run.json is data: it may not lead out of its own directory
        if folder.resolve() not in path.parents:
            raise CorruptionError(
                f"{folder / 'run.json'} names {name!r}, outside the run", "run the same job again"
            )
        if path.is_file():
            grid, frame, values, _ = read_volume(path)
            return RunImage(grid, frame, values, title, run_id)
    known = grid_of(facts, folder)
    files = sorted((folder / "images").glob("shot_*.npz"))
    if not files:
        raise DataError(
            f"{folder} has neither an image nor partial images",
            "start the run with `subsalt migrate`",
            code="E821",
        )
    if known is None:
        raise DataError(
            f"{folder} does not say the grid of its partial images: run.json is not written yet",
            "wait for the first shot, or give the job a [grid]",
            code="E821",
        )
    values, n = partial_sum(files, known)
    total = len(facts["shots"]) if isinstance(facts.get("shots"), list) else 0
    so_far = f"{title}: {n} of {total} shots so far" if total else f"{title}: {n} shots so far"
    return RunImage(known, Frame(), values, so_far, run_id)


def run_facts(folder: Path) -> dict[str, Any]:
    """Return run.json, empty when there is none yet."""
    try:
        found = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CorruptionError(
            f"{folder / 'run.json'} cannot be read: {error}", "run the same job again", code="E641"
        ) from error
    return found if isinstance(found, dict) else {}


def grid_of(facts: dict[str, Any], folder: Path) -> Grid | None:
    """Return the grid of a run: from run.json, or from the ``[grid]`` of its job when that says the shape."""
    found = facts.get("grid")
    if not isinstance(found, dict):
        import tomllib

        try:
            job = tomllib.loads((folder / "job.resolved.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        found = job.get("grid")
    if not isinstance(found, dict) or not isinstance(found.get("shape"), list):
        return None
    shape, spacing = found["shape"], found.get("spacing")
    if isinstance(spacing, int | float):
        spacing = [spacing] * len(shape)
    try:
        return Grid(tuple(shape), tuple(spacing or ()), tuple(found.get("origin") or ()))
    except (ConfigError, TypeError, ValueError):
        return None


def partial_sum(files: Sequence[Path], grid: Grid) -> tuple[NDArray[np.float64], int]:
    """Return the correlations of partial images summed on `grid`, over illumination where they have it.

    Notes
    -----
    A look at a run on its way: no filter, no mute, no condition but the normalised correlation.

    Raises
    ------
    CorruptionError
        When a file cannot be read or does not lie on the grid.
    """
    from subsalt.io.npy import NpzFile

    correlation, light = np.zeros(grid.shape3), np.zeros(grid.shape3)
    for path in files:
        try:
            with NpzFile(path) as part:
                cut = tuple(slice(int(a), int(b)) for a, b in zip(part["lo"], part["hi"], strict=True))
                correlation[cut] += part["correlation"].reshape(correlation[cut].shape)
                if "illumination" in part:
                    light[cut] += part["illumination"].reshape(light[cut].shape)
        except (SubsaltError, OSError, ValueError, KeyError, IndexError) as error:
            raise CorruptionError(
                f"{path} cannot be read as a partial image: {error}",
                "run the same command again",
                code="E641",
            ) from error
    floor = 1e-3 * float(light.max())
    if floor > 0:
        correlation /= light + floor
    return correlation.reshape(grid.shape), len(files)
