"""Pictures of volumes: the image in grey with velocity and acquisition over it, the model in colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Frame, Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.model_like import ModelLike
from subsalt.earth.planes import Planes
from subsalt.view import style
from subsalt.view.cuts import Cut, Look, as_volume, cuts_at, place_text, volume_of
from subsalt.view.lit import lit_box, shown_text
from subsalt.view.pages import Sheet, overview, png_path, single
from subsalt.view.placing import survey_points

#: how the names of angles of the symmetry axis begin
ANGLES = ("theta", "phi", "tilt", "azimuth", "dip")


def is_angle(name: str) -> bool:
    """Return whether a volume of this name holds an angle of the symmetry axis."""
    return name.lower().startswith(ANGLES)


@dataclass(frozen=True)
class SectionStyle:
    """How an image is drawn.

    Parameters
    ----------
    at : sequence of float, (3,), optional
        Local point x, y, z through which the planes are cut, m; when left out the middle, at the depth at which the
        amplitude varies most.
    clip : float
        Percentile of |a|, below the shallow part of the image, at which the grey scale ends.
    reflectors : sequence of mapping
        Known reflectors, dashed: ``{"name", "x", "z"}`` (a line in x-z; with ``"y"`` only near that inline),
        ``{"name", "y", "z"}`` (in y-z), or ``{"name", "depth"}`` with a depth per (x, y) of the grid; m.
    title, run_id : str
        Heading, and the run that made the image; both also in the PNG's metadata.
    palette : {"grey", "residual"}
        Grey for images, red-white-blue for residuals.
    tint : float
        Strength of the velocity's colours, 0 to 1.
    exaggeration : float, optional
        Vertical exaggeration; 1 unless the section is more than eight times as long as deep.
    whole : bool
        Show all of an image, also the parts that the survey does not light.
    """

    at: Sequence[float] | None = None
    clip: float = 99.0
    reflectors: Sequence[Mapping[str, Any]] = ()
    title: str = "image"
    run_id: str = ""
    palette: str = "grey"
    tint: float = 0.9
    exaggeration: float | None = None
    whole: bool = False


def sections(
    image: NDArray,
    grid: Grid,
    path: str | Path,
    *,
    model: ModelLike | NDArray | None = None,
    survey: Survey | None = None,
    frame: Frame | None = None,
    illumination: NDArray | Planes | None = None,
    **drawn: Any,
) -> dict[str, Path]:
    """Draw an image: in 2-D its section, in 3-D an overview of three planes and each plane by itself.

    Parameters
    ----------
    image : ndarray, (nx, nz) or (nx, ny, nz)
        Image that is shown, with a symmetric clip.
    grid : Grid
        Grid of the values; local coordinates, m.
    path : path
        PNG to write; in 3-D the overview, beside which come ``NAME_inline.png``, ``NAME_crossline.png`` and
        ``NAME_depth.png``.
    model : ModelLike or ndarray of the image's shape, optional
        Velocity laid over the image in colour, m/s. It shows where layers are, and dims weak reflectors.
    survey : Survey, optional
        Sources and receivers are marked: all on the map, those near the plane on the sections.
    frame : Frame, optional
        Frame of the image; the survey is moved into it.
    illumination : ndarray or Planes, optional
        Source illumination on the grid: what the survey does not light is left out (`subsalt.view.lit`). Without it
        everything is shown.
    **drawn
        Fields of `SectionStyle`: ``at``, ``clip``, ``reflectors``, ``palette``, ``tint``, ``title``, ``run_id``,
        ``exaggeration`` and ``whole``.

    Returns
    -------
    dict of str to Path
        Files written, by name: ``section``, or ``overview``, ``inline``, ``crossline`` and ``depth``.
    """
    how = SectionStyle(**drawn)
    out = png_path(path, "image.png")
    vp = model if model is None or isinstance(model, np.ndarray) else model.volume("vp")
    src, rcv = survey_points(survey, frame)
    volume = as_volume(image, grid)
    limit = style.clip_limit(style.below_surface(volume), how.clip)
    box = lit_box(volume, grid, None if how.whole else illumination, limit, np.concatenate([src, rcv]))
    limit = style.clip_limit(style.below_surface(volume[box.slices]), how.clip)
    look = Look(
        volume,
        limit,
        how.palette,
        None if vp is None else volume_of(vp, grid, "vp"),
        (0.0, 1.0) if vp is None else style.value_limits(vp),
        how.tint,
        src,
        rcv,
        how.reflectors,
    )
    sheet = Sheet(out, how.title, how.run_id, f"clip {how.clip:g} % of |a| (±{limit:.3g})")
    sheet = sheet.saying(sheet.about + shown_text(grid, box) + place_text(grid, frame))
    planes = cuts_at(grid, how.at, volume, box)
    written: dict[str, Path] = {}
    if grid.ndim == 3:
        written["overview"] = overview(sheet, planes, look)
    for name, cut in planes.items():
        own = sheet if grid.ndim == 2 else sheet.named(f"_{name}")
        written[name] = single(own, cut, look, exaggeration=how.exaggeration)
    return written


def model(
    model: EarthModel,
    path: str | Path,
    *,
    survey: Survey | None = None,
    at: Sequence[float] | None = None,
    exaggeration: float | None = None,
    **heading: Any,
) -> dict[str, Path]:
    """Draw a model: one picture of vp, and of epsilon, delta, theta and phi when it has them; angles in degrees.

    Parameters
    ----------
    model : EarthModel
        Model that is shown; in 3-D three planes of each parameter.
    path : path
        PNG of vp; the others are written beside it as ``NAME_epsilon.png`` and so on.
    survey : Survey, optional
        Sources and receivers are marked.
    at, exaggeration
        As in `SectionStyle`.
    **heading
        ``title`` and ``run_id``, as in `Sheet`.

    Returns
    -------
    dict of str to Path
        Pictures by parameter.
    """
    whole = Sheet(png_path(path, "model.png"), **{"title": "model", **heading})
    marks, planes = survey_points(survey, model.frame), cuts_at(model.grid, at)
    written: dict[str, Path] = {}
    labels = {"vp": "vp (m/s)", "theta": "theta (degrees)", "phi": "phi (degrees)"}
    for name in ("vp", "epsilon", "delta", "theta", "phi"):
        values, label = getattr(model, name), labels.get(name, name)
        if values is None:
            continue
        values = np.degrees(values) if is_angle(name) else values
        sheet = replace(whole, title=f"{whole.title}: {name}", about=label)
        sheet = sheet if name == "vp" else sheet.named(f"_{name}")
        written[name] = coloured(sheet, values, planes, name, marks, exaggeration)
    return written


def coloured(
    sheet: Sheet,
    values: NDArray,
    planes: Mapping[str, Cut],
    name: str,
    marks: tuple[NDArray, NDArray] | None = None,
    exaggeration: float | None = None,
) -> Path:
    """Draw values in colour: a section in 2-D, three planes in 3-D; angles of both signs in red, white and blue.

    Parameters
    ----------
    sheet : Sheet
        Sheet whose line of facts is the label of the colour bar.
    values : ndarray, (nx, nz) or (nx, ny, nz)
        Values that are shown, from their smallest to its largest value; an angle that has both signs with zero in the
        middle.
    planes : mapping of str to Cut
        Cuts of their grid, see `cuts_at`.
    name : str
        Says whether the values are an angle, see `ANGLES`.
    marks : tuple of ndarray, optional
        Source and receiver positions (n, 3), m.
    exaggeration : float, optional
        Vertical exaggeration of a 2-D section.
    """
    limits = style.value_limits(values)
    src, rcv = marks if marks is not None else survey_points(None)
    kind = "velocity"
    if is_angle(name) and limits[0] < 0:
        most = max(-limits[0], limits[1])
        limits, kind = (-most, most), "residual"
    grid = next(iter(planes.values())).grid
    look = Look(as_volume(values, grid, name), limits, kind, src=src, rcv=rcv)
    label = sheet.about
    sheet = sheet.saying(f"{label}: {limits[0]:.4g} to {limits[1]:.4g}")
    if grid.ndim == 2:
        return single(sheet, planes["section"], look, label, exaggeration)
    return overview(sheet, planes, look, label)
