"""The topography of a job, `[propagation.topography]`: the surface, and sources and receivers brought below it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Frame
from subsalt.earth.smooth_surface import SmoothSurface
from subsalt.earth.topography import Topography
from subsalt.errors import ConfigError
from subsalt.job.csv_tables import read_table
from subsalt.job.inputs import existing

if TYPE_CHECKING:
    from subsalt.methods.rtm.sections import RtmTables, TopographySection

#: key of the file of elevations, and its columns
KEY, COLUMNS = "propagation.topography.elevations", ("x", "y", "elevation")

#: m; a station that is moved by less has not been moved: elevations are rounded
ROUNDING = 1e-3

Points = NDArray[np.float64]


def on_topography(job: RtmTables, survey: Survey, frame: Frame | None = None) -> Survey:
    """Return the survey below the topography of the job; the same one for a job without.

    A source or receiver keeps its depth where it lies `depth` below the surface or deeper, else it is brought to that
    depth. Recorded positions count from elevation 0 and are brought to the datum; those of `[acquisition]` are local.

    Parameters
    ----------
    frame : Frame, optional
        Where local coordinates lie on the map; that of the survey when None.

    Raises
    ------
    ConfigError
        E750 without elevations, or with too small a radius; E751 where the file does not reach; E755 for sources or
        receivers far from the surface.
    """
    section = job.propagation.topography
    if section is None:
        return survey
    recorded = job.data is not None
    shift = np.array([0.0, 0.0, section.datum if recorded else 0.0])
    shots = [replace(s, src=s.src + shift, rcv=s.rcv + shift) for s in survey.shots]
    known = _elevations(job, section, shots, frame or survey.frame, survey.ndim)
    smooth = SmoothSurface.through(known[:, :2], known[:, 2], section.radius)
    surface, placed, notes = Topography.of(smooth, section.datum), list(shots), {}
    for ends in ENDS:
        _refuse_far(smooth, section, shots, ends)
        notes[f"{ends.name}s"] = _brought(surface, section, placed, recorded, ends)
    return replace(
        survey,
        shots=placed,
        surface=surface,
        notes=survey.notes | {"topography": {"datum": section.datum, "depth": section.depth} | notes},
    )


@dataclass(frozen=True)
class _Ends:
    """The sources of shots, or their receivers: their name, positions (n, 3), and a shot with others."""

    name: str
    of: Callable[[Shot], Points]
    put: Callable[[Shot, Points], Shot]


ENDS = (
    _Ends("source", lambda shot: shot.src[None], lambda shot, points: replace(shot, src=points[0])),
    _Ends("receiver", lambda shot: shot.rcv, lambda shot, points: replace(shot, rcv=points)),
)


def _elevations(
    job: RtmTables, section: TopographySection, shots: list[Shot], frame: Frame, ndim: int
) -> Points:
    """Return local positions and elevations of the file, or of all sources and receivers, (n, 3)."""
    if section.elevations is not None:
        table = read_table(existing(job.resolve(section.elevations), KEY), COLUMNS)
        known = frame.to_local(table)
        if ndim == 2:
            # a line is projected on x
            known[:, 1] = 0.0
        return known
    if job.data is None:
        raise ConfigError(
            "[propagation.topography] of a survey to be modelled has no elevations",
            'name a file with the columns x,y,elevation: elevations = "surface.csv"',
            code="E750",
        )
    known = np.concatenate([p for s in shots for p in (s.src[None], s.rcv)])
    known[:, 2] = section.datum - known[:, 2]
    if not known[:, 2].any():
        raise ConfigError(
            "[propagation.topography] needs elevations, and those of all sources and receivers are zero (bytes 41, 45, "
            "49)",
            'name a file with the columns x,y,elevation: elevations = "surface.csv"; or positions in [data.geometry]',
            code="E750",
        )
    return known


def _refuse_far(smooth: SmoothSurface, section: TopographySection, shots: list[Shot], ends: _Ends) -> None:
    """Refuse sources or receivers where nothing says how high the surface is."""
    count, total, first = 0, 0, ""
    for shot in shots:
        points = ends.of(shot)
        far = ~smooth.covers(points[:, :2])
        count, total = count + int(far.sum()), total + len(points)
        if far.any() and not first:
            x, y = points[far][0, :2]
            first = f"shot {shot.id} at x = {x:.1f}, y = {y:.1f} m"
    if count:
        raise ConfigError(
            f"{count} of {total} {ends.name}s lie farther than {section.radius:g} m from all elevations, the first of "
            f"{first}",
            f"add elevations there, or use a radius above {section.radius:g} m; x and y of a file are map coordinates",
            code="E751",
        )


def _brought(
    surface: Topography,
    section: TopographySection,
    shots: list[Shot],
    recorded: bool,
    ends: _Ends,
) -> dict[str, Any]:
    """Bring the sources or receivers of shots below the surface, in place; return what was moved.

    Returns
    -------
    dict
        ``moved`` of ``count`` by more than `ROUNDING`, ``most``: m, of the shot ``shot``; ``deepest``: m below the
        surface.
    """
    counts = {"count": 0, "moved": 0, "most": 0.0, "shot": 0, "deepest": 0.0}
    high, low = (0.0, 0), (0.0, 0)
    for i, shot in enumerate(shots):
        points = ends.of(shot).copy()
        if not len(points):
            continue
        under = points[:, 2] - surface.depth(points[:, :2])
        high, low = min(high, (float(under.min()), shot.id)), max(low, (float(under.max()), shot.id))
        move = np.maximum(section.depth - under, 0.0)
        points[:, 2] += move
        shots[i] = ends.put(shot, points)
        counts["count"] += len(points)
        counts["moved"] += int((move > ROUNDING).sum())
        if move.max() > counts["most"]:
            counts["most"], counts["shot"] = float(move.max()), shot.id
        counts["deepest"] = max(counts["deepest"], float((under + move).max()))
    if recorded:
        for off, shot_id, where in ((-high[0], high[1], "above"), (low[0], low[1], "below")):
            # a mean over a radius lies off the ground by its slopes; a source in a hole, by some tens of metres
            if off > section.radius:
                raise ConfigError(
                    f"a {ends.name} of shot {shot_id} lies {off:.4g} m {where} the topography, farther than its radius "
                    f"of {section.radius:g} m",
                    "elevations are in metres, positive up: check [data.fix] elevation_scalar and z_sign, and the "
                    "elevations of the file",
                    code="E755",
                )
    return counts
