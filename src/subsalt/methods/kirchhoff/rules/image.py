"""Rules on the image grid and the options of a time migration, and how they go with its traces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.check.units import LATEST, late_records
from subsalt.errors import Finding

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import ImageGrid
    from subsalt.acquisition.survey import TimeAxis
    from subsalt.io.prestack.table import TraceTable
    from subsalt.methods.kirchhoff.classes import Classes
    from subsalt.methods.kirchhoff.floating import FloatingDatum
    from subsalt.methods.kirchhoff.options import KirchhoffOptions
    from subsalt.methods.kirchhoff.placing import Placement
    from subsalt.methods.kirchhoff.velocity.time_velocity import FieldVelocity

#: degrees by which inlines and crosslines may be away from right angles without a word
SKEW = 0.5
#: stretch above which a percentage without its sign is likelier than a limit
STRANGE_STRETCH = 2.0
#: factor between antialias spacing and bins from which on one of them is wrong
SPACING_FACTOR = 2.0
#: part of the output locations without data within reach from which on the grid is larger than the survey
EMPTY = 0.25
#: degrees; an image without steeper events is hardly migrated at all
LEAST_DIP = 5.0
#: m: how far data count around a location when no aperture is given
NEAR = 2000.0
#: locations and cells of midpoints that are compared to find those without data
SAMPLED, CELLS = 1000, 128


@dataclass
class KirchhoffContext:
    """Inputs of the rules; a part that could not be read is None, and its reading has reported why.

    Parameters
    ----------
    table : TraceTable or None
        The traces.
    placement : Placement or None
        Where line numbers lie on the map.
    grid : ImageGrid or None
        The image.
    options : KirchhoffOptions or None
        Options of the sum.
    line : bool
        The traces are those of a 2-D line.
    classes : Classes or None
        Classes of the gathers.
    velocity : FieldVelocity or None
        Velocity of the job.
    datum : FloatingDatum or None
        Floating datum of a survey on topography.
    facts : dict
        Numbers for people and programs.
    """

    table: TraceTable | None = None
    placement: Placement | None = None
    grid: ImageGrid | None = None
    options: KirchhoffOptions | None = None
    line: bool = False
    classes: Classes | None = None
    velocity: FieldVelocity | None = None
    datum: FloatingDatum | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def aperture(self) -> float | None:
        """Largest distance of a midpoint from a location, m; None when there is no limit."""
        return None if self.options is None else self.options.aperture


def kirchhoff_findings(c: KirchhoffContext) -> Iterator[Finding]:
    """Yield what the rules on grid and options find."""
    if c.placement is not None and c.grid is not None:
        yield image(c.grid, c.placement)
    if c.placement is not None:
        yield from right_angles(c.placement)
    if c.grid is not None and c.table is not None:
        yield from times(c.grid, c.table.time)
        yield from coverage(c)
    if c.options is not None:
        yield from limits(c.options)
        yield from dimension(c.options, c.line)
        if c.grid is not None:
            yield from spacings(c.options, c.grid, c.line)
            yield from narrow_aperture(c)
    if c.classes is not None and c.table is not None:
        yield from class_counts(c.classes, c.table)
    if c.datum is not None and c.grid is not None:
        yield from datum_findings(c.datum, c.grid)


def datum_findings(datum: FloatingDatum, grid: ImageGrid) -> Iterator[Finding]:
    """Yield how sources and receivers are moved, and a warning of a flat datum that cuts off the top of the image."""
    facts = datum.facts()
    (low, high), (least, most) = facts["elevations"], facts["statics"]
    yield Finding(
        "I000",
        "ok",
        f"floating datum at {low:.0f} to {high:.0f} m; statics of {1e3 * least:+.1f} to {1e3 * most:+.1f} ms at "
        f"{datum.velocity:g} m/s",
        "",
        facts,
    )
    if datum.flat is None:
        return
    below = datum.below(grid.positions())
    lost = 2 * float((below.surface - below.zero).max())
    if lost > grid.time.t0:
        at = datum.velocity * float(below.surface.max())
        yield Finding(
            "W750",
            "warning",
            f"flat = {datum.flat:g} m lies below the floating datum, which comes up to {at:.0f} m in the image: its "
            f"first {1e3 * (lost - grid.time.t0):.0f} ms are not imaged there",
            f"set [kirchhoff.floating_datum] flat = {math.ceil(at / 10) * 10:g}",
            {"flat": datum.flat, "lost_s": lost - grid.time.t0},
        )


def image(grid: ImageGrid, placement: Placement) -> Finding:
    """Return where the image stands, for the reader."""
    (i0, i1, di), (j0, j1, dj) = grid.inlines, grid.crosslines
    (a, b), t = grid.spacing, grid.time
    if grid.is_line:
        where = f"CDPs {j0} to {j1} by {dj}, {b:.5g} m apart"
    else:
        where = f"inlines {i0} to {i1} by {di}, crosslines {j0} to {j1} by {dj}, bins of {a:.5g} x {b:.5g} m"
    when = f"{t.t0:g} to {t.duration:g} s by {t.dt * 1e3:g} ms"
    return Finding(
        "I000", "ok", f"image: {where}, from {placement.how}; {when}", "", {"locations": grid.size}
    )


def right_angles(placement: Placement) -> Iterator[Finding]:
    """Warn of inlines and crosslines that are not at right angles."""
    if placement.skew > SKEW:
        yield Finding(
            "W760",
            "warning",
            f"inlines and crosslines are {90 - placement.skew:.1f} degrees apart, not 90 ({placement.how})",
            "check the corner points; a grid that is skewed on purpose is migrated as it is",
            {"skew_degrees": placement.skew},
        )


def times(grid: ImageGrid, record: TimeAxis) -> Iterator[Finding]:
    """Warn of image times that the records do not reach, or that are coarser than their samples."""
    t = grid.time
    if abs(record.t0) > LATEST:
        yield late_records(record)
    if t.duration > record.duration + 0.5 * record.dt:
        meant = 1e-3 * t.duration <= record.duration + 0.5 * record.dt
        yield Finding(
            "W761",
            "warning",
            f"the image ends at {t.duration:g} s, the records at {record.duration:g} s: what is later stays zero",
            f'if it is in milliseconds: [kirchhoff] time = {{last = "{t.duration:g} ms"}}'
            if meant and t.duration > LATEST
            else f"set [kirchhoff] time = {{last = {record.duration:g}}}",
            {"image_s": t.duration, "record_s": record.duration},
        )
    if t.dt > record.dt * (1 + 1e-6):
        yield Finding(
            "W762",
            "warning",
            f"image samples are {t.dt * 1e3:g} ms apart, those of the data {record.dt * 1e3:g} ms: frequencies above "
            f"{0.5 / t.dt:.4g} Hz come out aliased",
            f"set [kirchhoff] time = {{step = {record.dt:g}}}, or filter the data to below {0.4 / t.dt:.3g} Hz first",
            {"image_dt": t.dt, "data_dt": record.dt},
        )


def limits(options: KirchhoffOptions) -> Iterator[Finding]:
    """Warn of a stretch mute that was meant in percent."""
    stretch = options.stretch_mute
    if stretch is not None and stretch > STRANGE_STRETCH:
        yield Finding(
            "W767",
            "warning",
            f"stretch_mute = {stretch:g} keeps samples stretched by up to {100 * stretch:.0f} %",
            f'for {stretch:g} percent write stretch_mute = "{stretch:g} %"; "off" mutes nothing',
            {"stretch_mute": stretch},
        )


def dimension(options: KirchhoffOptions, line: bool) -> Iterator[Finding]:
    """Warn of an amplitude correction for data of the other dimension."""
    if line and options.amplitude == "3d":
        yield Finding(
            "W766",
            "warning",
            'amplitude = "3d" integrates over an area, and the midpoints lie on a line: amplitude and phase are wrong',
            'leave amplitude out, or set it to "2.5d"',
        )
    if not line and options.amplitude == "2.5d":
        yield Finding(
            "W766",
            "warning",
            'amplitude = "2.5d" is for one line, and the midpoints cover an area: amplitude and phase are wrong',
            'leave amplitude out, or set it to "3d"',
        )


def spacings(options: KirchhoffOptions, grid: ImageGrid, line: bool) -> Iterator[Finding]:
    """Warn of an antialias spacing or an aperture of another size than the bins."""
    bins = grid.numbered_spacing
    given = options.antialias_spacing
    if given is not None and options.antialias != "none":
        names = ("crossline",) if line else ("inline", "crossline")
        for name, size, bin_size in zip(names, given[-len(names) :], bins[-len(names) :], strict=True):
            ratio = size / bin_size
            if not 1 / SPACING_FACTOR <= ratio <= SPACING_FACTOR:
                harm = (
                    "steep dips lose frequencies that the data hold"
                    if ratio > 1
                    else "aliased energy of steep operators stays in"
                )
                yield Finding(
                    "W763",
                    "warning",
                    f"antialias_spacing along {name} is {size:g} m, the bins are {bin_size:g} m: {harm}",
                    f'give the spacing of the input midpoints, or "bins" for {bin_size:g} m',
                    {"spacing": size, "bin": bin_size},
                )


def narrow_aperture(c: KirchhoffContext) -> Iterator[Finding]:
    """Warn of an aperture of two bins, or one that builds no dips halfway down the image."""
    assert c.grid is not None
    aperture = c.aperture
    if aperture is None:
        return
    least = c.grid.numbered_spacing[1] if c.line else min(c.grid.numbered_spacing)
    evidence: dict[str, object] = {"aperture": aperture, "bin": least}
    cure = '[kirchhoff] aperture = "all", or about the depth of the target'
    if aperture < 2 * least:
        yield Finding(
            "W768",
            "warning",
            f"aperture = {aperture:g} m is less than two bins of {least:g} m: dipping events cannot be built",
            f'lengths are in metres: for kilometres [kirchhoff] aperture = "{aperture:g} km"; else {cure}',
            evidence,
        )
    elif c.velocity is not None:
        v = c.velocity.at(c.grid.positions()[:1], c.grid.time)[0].ravel()
        half = len(v) // 2
        depth = 0.5 * float(v[half]) * float(c.grid.time.values()[half])
        dip = math.degrees(math.atan2(aperture, depth))
        if depth > 0 and dip < LEAST_DIP:
            yield Finding(
                "W768",
                "warning",
                f"aperture = {aperture:g} m builds dips up to {dip:.2g} degrees halfway down the image ({depth:.4g} m)",
                cure,
                evidence | {"dip": dip},
            )


def coverage(c: KirchhoffContext) -> Iterator[Finding]:
    """Warn of an image grid much larger than the survey; where nothing overlaps, another rule says so."""
    assert c.grid is not None
    assert c.table is not None
    reach = c.options.aperture if c.options is not None and c.options.aperture is not None else NEAR
    part, at = without_data(c.grid, c.table.midpoint, reach)
    c.facts["locations_without_data"] = part
    if not EMPTY < part < 1:
        return
    low, high = at
    yield Finding(
        "W764",
        "warning",
        f"about {part:.0%} of the {c.grid.size} output locations lie farther than {reach:g} m from every midpoint; "
        f"midpoints lie within inlines {low[0]} to {high[0]}, crosslines {low[1]} to {high[1]}",
        "restrict [kirchhoff] inline and crossline to the survey, or check the corner points",
        {"part": part},
    )


def without_data(
    grid: ImageGrid, midpoints: NDArray[np.float64], reach: float
) -> tuple[float, tuple[tuple[int, int], tuple[int, int]]]:
    """Return the part of the locations with no midpoint within `reach`, and the line numbers that hold the midpoints.

    Notes
    -----
    Of about 1000 locations, against the occupied cells of a mesh over the midpoints; a cell counts as near when its
    nearest point is.
    """
    where = grid.positions()
    where = where[:: max(1, len(where) // SAMPLED)]
    low, high = midpoints.min(axis=0), midpoints.max(axis=0)
    size = np.maximum((high - low) / CELLS, 1.0)
    cells = np.unique(((midpoints - low) / size).astype(np.int64), axis=0)
    centres = low + (cells + 0.5) * size
    near = np.zeros(len(where), bool)
    for start in range(0, len(where), 64):
        d = np.abs(where[start : start + 64, None, :] - centres[None]) - 0.5 * size
        d = np.maximum(d, 0.0)
        near[start : start + 64] = ((d * d).sum(axis=-1) <= reach * reach).any(axis=1)
    index = grid.index_of(midpoints)
    first = np.array([grid.inlines[0], grid.crosslines[0]])
    numbers = first + np.array([grid.inlines[2], grid.crosslines[2]]) * index
    a, b = np.floor(numbers.min(axis=0)).astype(int), np.ceil(numbers.max(axis=0)).astype(int)
    return float(1 - near.mean()), ((int(a[0]), int(a[1])), (int(b[0]), int(b[1])))


def class_counts(classes: Classes, table: TraceTable) -> Iterator[Finding]:
    """Warn of classes without a trace, and of traces in no class."""
    group = classes.group_of(table.offset, table.azimuth)
    outside = int((group < 0).sum())
    counts = np.bincount(group[group >= 0], minlength=classes.groups)
    empty = np.flatnonzero(counts == 0)
    low, high = float(table.offset.min()), float(table.offset.max())
    if outside == len(group):
        yield Finding(
            "E768",
            "error",
            f"no trace has an offset of the classes, {classes.edges[0]:g} to {classes.edges[-1]:g} m: "
            f"those of the data are {low:.0f} to {high:.0f} m",
            "give [kirchhoff] offset = {first, last, step} in metres within those of the data",
            {"low": low, "high": high},
        )
        return
    if outside:
        yield Finding(
            "W765",
            "warning",
            f"{outside} of {len(group)} traces have offsets outside the classes, {max(0.0, classes.edges[0]):g} to "
            f"{classes.edges[-1]:g} m, and are left out; those of the data are {low:.0f} to {high:.0f} m",
            "widen [kirchhoff] offset, if they are to be migrated",
            {"traces": outside},
        )
    if len(empty) and classes.kind == "offset":
        middle = classes.centres[empty[:5]]
        yield Finding(
            "W765",
            "warning",
            f"{len(empty)} of {classes.groups} classes hold no trace, offsets "
            + ", ".join(f"{m:.0f}" for m in middle)
            + (" ..." if len(empty) > 5 else "")
            + " m: their image traces stay zero",
            f"the offsets of the data are {low:.0f} to {high:.0f} m: restrict [kirchhoff] offset, or use wider classes",
            {"classes": len(empty)},
        )
