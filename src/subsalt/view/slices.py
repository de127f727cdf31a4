"""Pictures of volumes: the image in grey with velocity and acquisition over it, and the model in colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.grid import Frame, Grid
from subsalt.model import EarthModel
from subsalt.survey import Survey
from subsalt.view import style
from subsalt.view.cuts import Cut, Look, as_volume, cuts_at, draw_cut, survey_points
from subsalt.view.style import Length

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# inches: room for title above, ticks and labels left and below, the colour bar right
TOP, LEFT, BOTTOM, RIGHT, GAP = 0.55, 0.72, 0.55, 0.95, 0.62


def sections(
    image: NDArray,
    grid: Grid,
    path: str | Path,
    *,
    model: EarthModel | NDArray | None = None,
    survey: Survey | None = None,
    frame: Frame | None = None,
    at: Sequence[float] | None = None,
    clip: float = 99.0,
    reflectors: Sequence[Mapping[str, Any]] = (),
    title: str = "image",
    run_id: str = "",
    palette: str = "grey",
    alpha: float = 0.45,
    exaggeration: float | None = None,
) -> dict[str, Path]:
    """Draw an image: in 2-D its section, in 3-D an overview of three planes and each plane by itself.

    Parameters
    ----------
    image : ndarray, (nx, nz) or (nx, ny, nz)
        What is shown, with a symmetric clip.
    grid : Grid
        Where its values stand; local coordinates, m.
    path : path
        PNG to write; in 3-D the overview, beside which come ``NAME_inline.png``, ``NAME_crossline.png`` and
        ``NAME_depth.png``.
    model : EarthModel or ndarray of the image's shape, optional
        Velocity laid over the image in colour, m/s.
    survey : Survey, optional
        Sources and receivers are marked: all on the map, those near the plane on the sections.
    frame : Frame, optional
        Frame of the image; the survey is moved into it.
    at : sequence of float, (3,), optional
        Local point x, y, z through which the planes are cut, m; the middle when left out.
    clip : float
        Percentile of |a| at which the grey scale ends.
    reflectors : sequence of mapping
        Known reflectors, dashed: ``{"name", "x", "z"}`` (a line in x-z; with ``"y"`` only near that inline),
        ``{"name", "y", "z"}`` (in y-z), or ``{"name", "depth"}`` with a depth per (x, y) of the grid; m.
    title, run_id : str
        Heading, and the run that made the image; both also in the PNG's metadata.
    palette : {"grey", "residual"}
        Grey for images, red-white-blue for residuals.
    alpha : float
        Opacity of the velocity.
    exaggeration : float, optional
        Vertical exaggeration; 1 unless the section is more than eight times as long as deep.

    Returns
    -------
    dict of str to Path
        What was written, by name: ``section``, or ``overview``, ``inline``, ``crossline`` and ``depth``.
    """
    out = png_path(path, "image.png")
    vp = model.vp if isinstance(model, EarthModel) else model
    src, rcv = survey_points(survey, frame)
    limit = style.clip_limit(image, clip)
    look = Look(
        as_volume(image, grid),
        limit,
        palette,
        None if vp is None else as_volume(vp, grid, "vp"),
        (0.0, 1.0) if vp is None else style.value_limits(vp),
        alpha,
        src,
        rcv,
        reflectors,
    )
    facts = f"clip {clip:g} % of |a| (±{limit:.3g})"
    heads = {"title": title, "run_id": run_id}
    planes = cuts_at(grid, at)
    written: dict[str, Path] = {}
    if grid.ndim == 3:
        written["overview"] = _overview(out, planes, look, facts, **heads)
    for name, cut in planes.items():
        file = out if grid.ndim == 2 else out.with_name(f"{out.stem}_{name}.png")
        written[name] = single(file, cut, look, facts, exaggeration=exaggeration, **heads)
    return written


def model(
    model: EarthModel,
    path: str | Path,
    *,
    survey: Survey | None = None,
    at: Sequence[float] | None = None,
    title: str = "model",
    run_id: str = "",
    exaggeration: float | None = None,
) -> dict[str, Path]:
    """Draw a model: one picture of vp, and of epsilon and delta when it has them.

    Parameters
    ----------
    model : EarthModel
        What is shown; in 3-D three planes of each parameter.
    path : path
        PNG of vp; the others are written beside it as ``NAME_epsilon.png`` and ``NAME_delta.png``.
    survey : Survey, optional
        Sources and receivers are marked.
    at : sequence of float, (3,), optional
        Local point x, y, z through which the planes are cut, m.
    title, run_id : str
        Heading and run.
    exaggeration : float, optional
        Vertical exaggeration of a 2-D section.

    Returns
    -------
    dict of str to Path
        Pictures by parameter.
    """
    out = png_path(path, "model.png")
    src, rcv = survey_points(survey, model.frame)
    planes = cuts_at(model.grid, at)
    written = {}
    for name, label in (("vp", "vp (m/s)"), ("epsilon", "epsilon"), ("delta", "delta")):
        values = getattr(model, name)
        if values is None:
            continue
        limits = style.value_limits(values)
        look = Look(as_volume(values, model.grid), limits, "velocity", src=src, rcv=rcv)
        file = out if name == "vp" else out.with_name(f"{out.stem}_{name}.png")
        facts = f"{label}: {limits[0]:.4g} to {limits[1]:.4g}"
        heads: dict[str, Any] = {"title": f"{title}: {name}", "run_id": run_id, "label": label}
        if model.grid.ndim == 2:
            written[name] = single(file, planes["section"], look, facts, exaggeration=exaggeration, **heads)
        else:
            written[name] = _overview(file, planes, look, facts, **heads)
    return written


def png_path(path: str | Path, name: str) -> Path:
    """Return the path of a PNG: `path`, or `name` inside it when it is a folder."""
    out = Path(path)
    if out.is_dir():
        return out / name
    if out.suffix.lower() != ".png":
        raise ConfigError(f"a picture is written as PNG, not as {out.name}", "end its name in .png")
    return out


def fit(
    width: float, height: float, exaggeration: float | None, room: tuple[float, float]
) -> tuple[float, float, float]:
    """Return the inches of a section of `width` x `height` metres, and its vertical exaggeration."""
    if exaggeration is None:
        # a section flatter than 1 in 8 shows nothing: drawn then in steps of a half until it is 1 in 8
        exaggeration = max(1.0, np.ceil(2 * width / (8 * height)) / 2)
    if not exaggeration > 0:
        raise ConfigError(f"exaggeration = {exaggeration:g}", "give a number above 0")
    scale = min(room[0] / width, room[1] / (height * exaggeration))
    return max(1.5, width * scale), max(0.8, height * exaggeration * scale), exaggeration


def single(
    path: Path,
    cut: Cut,
    look: Look,
    facts: str,
    *,
    title: str,
    run_id: str,
    label: str = "amplitude",
    exaggeration: float | None = None,
) -> Path:
    """Draw one cut on a page of its own."""
    unit = Length.fitting(*cut.lengths)
    wide, tall, ratio = fit(*cut.lengths, exaggeration if cut.axes[1] == 2 else 1.0, (8.6, 6.2))
    if ratio != 1:
        facts += f" · vertical exaggeration {ratio:g}"
    size = (LEFT + wide + RIGHT, TOP + tall + BOTTOM)
    subtitle = facts if cut.grid.ndim == 2 else f"{cut.title(unit)} · {facts}"
    with style.page(path, size, title=title, run_id=run_id, about=subtitle) as fig:
        style.heading(fig, title, subtitle)
        ax = style.place(fig, (LEFT, TOP, wide, tall))
        drawn = draw_cut(ax, cut, look, unit)
        bar(fig, drawn, (LEFT + wide + 0.12, TOP, 0.14, tall), label)
        legend(fig, [ax])
    return path


def _overview(
    path: Path,
    planes: Mapping[str, Cut],
    look: Look,
    facts: str,
    *,
    title: str,
    run_id: str,
    label: str = "amplitude",
) -> Path:
    """Draw three planes unfolded: the map above the inline section, the crossline section beside it."""
    (lx, lz), (ly, _) = planes["inline"].lengths, planes["crossline"].lengths
    unit = Length.fitting(lx, ly, lz)
    scale = min(8.0 / (lx + ly), 6.6 / (ly + lz))
    wx, wy, wz = (max(1.0, scale * length) for length in (lx, ly, lz))
    top = TOP + 0.17
    size = (LEFT + wx + GAP + wy + RIGHT, top + wy + GAP + wz + BOTTOM)
    boxes = {
        "depth": (LEFT, top, wx, wy),
        "inline": (LEFT, top + wy + GAP, wx, wz),
        "crossline": (LEFT + wx + GAP, top + wy + GAP, wy, wz),
    }
    with style.page(path, size, title=title, run_id=run_id, about=facts) as fig:
        style.heading(fig, title, facts)
        axes, drawn = {}, {}
        for name, box in boxes.items():
            cut = planes[name]
            ax = axes[name] = style.place(fig, box)
            drawn = draw_cut(ax, cut, look, unit)
            ax.set_title(cut.title(unit), fontsize=8, color=style.FAINT, pad=3)
            _cross(ax, cut, planes, unit)
        axes["crossline"].set_ylabel("")
        bar(fig, drawn, (LEFT + wx + GAP + wy + 0.12, top + wy + GAP, 0.14, wz), label)
        # the corner above the crossline section is free
        legend(fig, list(axes.values()), (LEFT + wx + GAP, top))
    return path


def _cross(ax: Axes, cut: Cut, planes: Mapping[str, Cut], unit: Length) -> None:
    """Mark on one plane where the other two cut it."""
    dotted: dict[str, Any] = {"color": style.INK, "linewidth": 0.5, "linestyle": ":", "alpha": 0.7}
    for other in planes.values():
        if other.normal == cut.axes[0]:
            ax.axvline(float(unit(other.at)), **dotted)
        elif other.normal == cut.axes[1]:
            ax.axhline(float(unit(other.at)), **dotted)


def bar(fig: Figure, drawn: Mapping[str, Any], box: tuple[float, float, float, float], label: str) -> None:
    """Add the colour bar of the velocity when it is drawn, of the values otherwise."""
    if "vp" in drawn:
        style.colour_bar(fig, drawn["vp"], box, "vp (m/s)")
    else:
        style.colour_bar(fig, drawn["values"], box, label)


def legend(
    fig: Figure, axes: Sequence[Axes], corner: tuple[float, float] | None = None, columns: int = 1
) -> None:
    """Add one legend for all axes: at `corner` (inches from the upper left), else at the upper right."""
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(text, handle)
    if not entries:
        return
    w, h = fig.get_size_inches()
    place: Any
    if corner is None:
        place, anchor, columns = "upper right", (1 - 0.05 / w, 1 - 0.06 / h), len(entries)
    else:
        place, anchor = "upper left", (corner[0] / w, 1 - corner[1] / h)
    fig.legend(
        list(entries.values()),
        list(entries),
        loc=place,
        bbox_to_anchor=anchor,
        ncols=columns,
        borderaxespad=0.0,
    )
