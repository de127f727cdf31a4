"""Corrections of header values, tried on the headers in memory before they are offered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.scan.groups import Groups, different
from subsalt.io.segy.exclude import leave_out, spans
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile, column, positions, source_depths, trace_kinds, unit_factor
from subsalt.io.segy.headers import apply_scalar, fix_text

#: traces of all files on which a correction is tried
_TRIED = 20_000
#: scalars of the standard, the usual ones first
SCALARS = (-10, -100, 1, -1000, 10, 100, -10000, 1000)
#: m in a degree of a great circle; angles that coordinates may be, and how many of them are a degree (0: DDDMMSS)
DEGREE = 111_195.0
ANGLES = {"degrees": 1.0, "seconds of arc": 3600.0, "degrees, minutes and seconds": 0.0}
#: distances that angles are, taken for lengths, over the offsets: more than this, and they are lengths
SHORTENED_BY_ANGLES = 0.2
#: m: depths below the surface at which seismic sources are fired, with room on both sides
SHALLOWEST, DEEPEST = 0.3, 100.0
#: s: records sampled more finely are of waves so much shorter, and of sources so much shallower
FINE = 0.5e-3
#: m: depths of air guns, and of most sources; the deepest place of all seas is not as deep
GUNS, LIKELY, DEEPEST_SEA = (3.0, 15.0), (1.0, 30.0), 11_000.0
#: m: deeper sources are unusual where receivers lie on one level that is as deep
UNUSUAL = 30.0
#: files of which one can be unlike the others
FEWEST_FILES = 5

Scanned = Sequence["ScannedFile"]


def thinned(scanned: Scanned) -> list[ScannedFile]:
    """Return files with some of their traces, spread evenly, as if they had no others."""
    total = sum(s.layout.n_traces for s in scanned)
    every = max(1, -(-total // _TRIED))
    if every == 1:
        return list(scanned)
    out = []
    for s in scanned:
        rows = slice(0, None, every)
        n = len(range(0, s.layout.n_traces, every))
        out.append(
            replace(
                s,
                layout=replace(s.layout, n_traces=n),
                values={name: v[rows] for name, v in s.values.items()},
                positions=type(s.positions)(
                    s.positions.src[rows],
                    s.positions.rcv[rows],
                    s.positions.offset[rows],
                    s.positions.delay[rows],
                ),
                dead=s.dead[rows],
                auxiliary=s.auxiliary[rows],
                excluded=s.excluded[rows],
                number=np.arange(s.layout.n_traces)[rows] if s.number is None else s.number[rows],
            )
        )
    return out


def corrected(scanned: Scanned, fix: Fix) -> list[ScannedFile]:
    """Return files with the positions that their headers give under `fix`."""
    out = []
    for s in scanned:
        dead, auxiliary = trace_kinds(s.values, s.layout.n_traces, fix)
        out.append(replace(s, positions=positions(s.values, s.layout, fix), dead=dead, auxiliary=auxiliary))
    return out


def cure(
    scanned: Scanned,
    fix: Fix,
    candidates: Iterable[dict[str, Any]],
    good: Callable[[list[ScannedFile], Fix], bool],
) -> str:
    """Return the first correction under which the files are good, as a key of the job; empty when there is none.

    Parameters
    ----------
    candidates : iterable of dict
        Values of `Fix` to change, the likeliest first.
    good : callable
        Says of files read under a fix whether the mistake is gone.
    """
    some = thinned(scanned)
    for changes in candidates:
        try_ = replace(fix, **changes)
        if good(corrected(some, try_), try_):
            return fix_text(changes)
    return ""


def _live(scanned: Scanned, what: str) -> NDArray[np.float64]:
    return np.concatenate([getattr(s.positions, what)[s.live] for s in scanned])


# ---- depths


def depth_findings(scanned: Scanned, fix: Fix) -> Iterator[Finding]:
    """Yield what is wrong with the depths of sources: a scalar of another power or sign, or none."""
    if fix.elevation_scalar is not None or fix.source_depth is not None:
        return
    below = _source_depths(scanned, fix)
    below = below[below > 0]
    if not len(below):
        return
    depth = float(np.median(below))
    cable = _cable_depth(scanned)
    finest = min(s.layout.dt or FINE for s in scanned)
    if (
        SHALLOWEST * min(1.0, finest / FINE) <= depth <= (UNUSUAL if cable > UNUSUAL else DEEPEST)
    ) or _in_wells(scanned):
        return
    offered = exchanged_depths(scanned, fix) or _depth_scalar(scanned, fix)
    seen = sorted({int(v) for s in scanned for v in different(_scalar_of(s))})
    where = scanned[0].layout.path if len(scanned) == 1 else f"{len(scanned)} files"
    text = (
        f"{where}: source depths are {below.min():g} to {below.max():g} m below the surface (byte 49, scalar in byte "
        f"69: {', '.join(map(str, seen[:4]))}); air guns are fired at 3 to 15 m, charges down to {DEEPEST:g} m"
    )
    evidence = {"depth_m": depth, "scalars": seen[:20]}
    if depth > DEEPEST:
        right = f"[data.fix] elevation_scalar = {seen[0]} says that it is right"
        yield Finding("E236", "error", text, f"{offered}; {right}" if offered else right, evidence)
    elif offered:
        yield Finding("W216", "warning", text, offered, evidence)


def odd_depths(some: Scanned, fix: Fix) -> Iterator[Finding]:
    """Yield a warning for files whose source depths are a power of ten times those of all others.

    `some` are all files, with as many of their traces as `thinned` leaves.
    """
    if fix.elevation_scalar is not None or fix.source_depth is not None or len(some) < FEWEST_FILES:
        return
    live = [s for s in some if s.live.any()]
    if len(live) < FEWEST_FILES:
        return
    usual, odd = _powers(live, fix)
    if not odd:
        return
    held = [int(np.median(_scalar_of(s))) for s in live]
    scalar = max(dict.fromkeys(held), key=held.count)

    def alike(files: list[ScannedFile], tried: Fix) -> bool:
        return not _powers(files, tried)[1] and len({round(float(d)) for d in _receiver_levels(files)}) <= 1

    mended = cure(live, fix, [{"elevation_scalar": scalar}], alike)
    for i, power in odd.items():
        path, depth = live[i].layout.path, usual * 10.0**power
        leave = leave_out([(path, None)], [s.layout.path for s in some])
        yield Finding(
            "W390",
            "warning",
            f"{path}: source depth is {depth:.3g} m, {10.0**power:g} times the {usual:.3g} m of the other "
            f"{len(live) - len(odd)} files: the scalar of depths (byte 69) is {held[i]} there, {scalar} elsewhere",
            f"if the scalar is wrong there: {mended}; else correct the headers of this file, or leave it out: {leave}"
            if mended
            else f"correct bytes 49 and 69 of this file, or leave it out: {leave}",
            {"file": path, "depth_m": depth, "usual_m": usual, "scalar": held[i]},
        )


def _powers(scanned: Scanned, fix: Fix) -> tuple[float, dict[int, int]]:
    """Return the usual source depth, and the power of ten by which some files, few of all, differ from it.

    Depths of one source change along a line by the weather; by how much is seen in the other files.
    """
    depth = Groups([int(s.live.sum()) for s in scanned]).medians(_source_depths(scanned, fix))
    usual = float(np.median(depth))
    if usual <= 0 or (depth <= 0).any():
        return usual, {}
    decades = np.log10(depth / usual)
    power = np.round(decades).astype(int)
    odd = power != 0
    spread = float(np.abs(decades[~odd]).max())
    # those between two powers are of neither: the depths of this survey differ from file to file
    if spread > 0.15 or odd.sum() > 0.2 * len(depth) or (np.abs(decades - power)[odd] > spread + 0.01).any():
        return usual, {}
    return usual, {int(i): int(power[i]) for i in np.flatnonzero(odd)}


def _receiver_levels(scanned: Scanned) -> list[float]:
    return [float(np.median(s.positions.rcv[s.live, 2])) for s in scanned]


def _scalar_of(s: ScannedFile) -> NDArray:
    return column(s.values, "elevation_scalar", s.layout.n_traces)[s.live]


def _scalars(scanned: Scanned) -> list[dict[str, Any]]:
    """Return the scalars to try: that of the other sign first."""
    seen = [int(v) for s in scanned for v in np.unique(_scalar_of(s))]
    first = [-v for v in dict.fromkeys(seen) if abs(v) > 1]
    return [{"elevation_scalar": v} for v in dict.fromkeys([*first, *SCALARS])]


def _source_depths(scanned: Scanned, fix: Fix) -> NDArray[np.float64]:
    """Return depths of sources below the surface (byte 49), m, without the elevation of the surface."""
    return np.concatenate([source_depths(s.values, s.layout, fix)[s.live] for s in scanned])


def exchanged_depths(scanned: Scanned, fix: Fix) -> str:
    """Return the keys that exchange the depths of sources and receivers, when these are as deep as those should be.

    Empty unless all receivers lie at one depth at which sources are fired, and sources at depths of the sea floor: the
    words of nodes and guns were exchanged (bytes 41, 49).
    """
    shallow, deep = _live(scanned, "rcv")[:, 2], _source_depths(scanned, fix)
    grounds = any(column(s.values, "source_elevation", s.layout.n_traces).any() for s in scanned)
    # depths of guns are held to a metre
    if grounds or not len(deep) or float(deep.min()) <= UNUSUAL or float(np.ptp(shallow)) > 1.0:
        return ""
    gun = float(np.median(shallow))
    if not LIKELY[0] <= gun <= LIKELY[1]:
        return ""
    where = f"source_depth = {gun:g}"
    if np.ptp(deep) == 0:
        return (
            f"if the depths of nodes and sources are exchanged: [data] fix = {{{where}, "
            f"receiver_depth = {deep[0]:g}}}"
        )
    return (
        f"if the depths of nodes and sources are exchanged: [data] fix = {{{where}, z_sign = {-fix.z_sign}}}, "
        "[data] bytes = {receiver_elevation = 49}"
    )


def _cable_depth(scanned: Scanned) -> float:
    """Return the depth of receivers that all lie at one, as those of a streamer do; 0 otherwise."""
    z = _live(scanned, "rcv")[:, 2]
    return float(z[0]) if len(z) and np.ptp(z) == 0 else 0.0


def _depth_scalar(scanned: Scanned, fix: Fix) -> str:
    """Return the scalar of depths as a key: that of the coordinates, or one that gives usual or likely depths.

    A program that writes a wrong scalar of coordinates (byte 71) writes the same one for depths.
    """
    if (of_places := scalar_of_places(scanned, fix)) is not None:
        proposal = cure(scanned, fix, [{"elevation_scalar": of_places}], _depths_in(*LIKELY))
        if proposal:
            return proposal
    if LIKELY[0] <= _cable_depth(scanned) <= LIKELY[1]:
        # a scalar holds for both ends: that of the receivers is right
        return ""
    for span in (GUNS, LIKELY):
        if proposal := cure(scanned, fix, _scalars(scanned), _depths_in(*span)):
            return proposal
    return ""


def _depths_in(shallowest: float, deepest: float) -> Callable[[list[ScannedFile], Fix], bool]:
    """Return what says whether the sources of files lie at these depths, and all stations on this planet."""

    def good(scanned: list[ScannedFile], fix: Fix) -> bool:
        depth = _source_depths(scanned, fix)
        depth = depth[depth > 0]
        levels = np.abs(np.concatenate([_live(scanned, "src")[:, 2], _live(scanned, "rcv")[:, 2]]))
        return (
            len(depth) > 0
            and shallowest <= float(np.median(depth)) <= deepest
            and float(levels.max()) < DEEPEST_SEA
        )

    return good


def _in_wells(scanned: Scanned) -> bool:
    """Return whether depths of sources and receivers both change along the way, as between wells."""
    spans = []
    for what in ("src", "rcv"):
        z = _live(scanned, what)[:, 2]
        spans.append(float(np.ptp(z)) / max(float(np.abs(z).max()), 1e-9))
    return min(spans) > 0.2


# ---- delays


def delay_findings(scanned: Scanned, fix: Fix) -> Iterator[Finding]:
    """Yield a warning for files whose recording delay is not that of the others."""
    if fix.delay is not None:
        return
    if len(scanned) < 3:
        yield from _delays_within(scanned)
        return
    delays = [different(s.positions.delay[s.live]) for s in scanned]
    single = [float(d[0]) for d in delays if len(d) == 1]
    if len(single) < 0.8 * len(scanned) or len(set(single)) < 2:
        return
    usual = max(dict.fromkeys(single), key=single.count)
    if single.count(usual) < 0.6 * len(scanned):
        return
    odd = [s for s, d in zip(scanned, delays, strict=True) if len(d) != 1 or float(d[0]) != usual]
    values = sorted({float(v) for s in odd for v in np.unique(s.positions.delay[s.live])})
    yield Finding(
        "W217",
        "warning",
        f"{odd[0].layout.path}: traces begin at {values[0] * 1e3:g} ms (delay, byte 109), those of "
        f"{single.count(usual)} of {len(scanned)} files at {usual * 1e3:g} ms"
        + (f"; {len(odd)} files differ" if len(odd) > 1 else ""),
        f"if they were recorded alike: [data.fix] delay = {usual:g}",
        {"files": [s.layout.path for s in odd[:50]], "delays_s": values[:50], "usual_s": usual},
    )


def _delays_within(scanned: Scanned) -> Iterator[Finding]:
    """Yield a warning for whole shots, a fifth of all or less, that begin at another time than all others."""
    delay = np.concatenate([s.positions.delay[s.live] for s in scanned])
    values, counts = np.unique(delay, return_counts=True)
    # deep water is recorded with delays that change along the line: those have more than two values
    if len(values) != 2 or counts.min() > 0.2 * len(delay):
        return
    odd, usual = (float(values[f(counts)]) for f in (np.argmin, np.argmax))
    for s in scanned:
        rows = np.flatnonzero(s.live & (s.positions.delay == odd))
        if not len(rows):
            continue
        ffid = column(s.values, "ffid", s.layout.n_traces)
        shots = np.unique(ffid[rows])
        if (np.isin(ffid, shots) & s.live).sum() != len(rows) or len(np.unique(ffid[s.live])) < 3:
            continue
        yield Finding(
            "W217",
            "warning",
            f"{s.layout.path}: traces {spans((rows + 1).tolist())} (shot {spans(shots.tolist())}) begin at "
            f"{odd * 1e3:g} ms (delay, byte 109), all others at {usual * 1e3:g} ms",
            f"if they were recorded alike: [data.fix] delay = {usual:g}",
            {"count": len(rows), "delays_s": [odd], "usual_s": usual},
        )


# ---- coordinates


def offset_ratio(s: ScannedFile) -> float | None:
    """Return the median of the offsets of the headers over the distances of the coordinates; None without either."""
    said = np.abs(s.positions.offset[s.live])
    d = s.positions.rcv[s.live, :2] - s.positions.src[s.live, :2]
    distance = np.sqrt((d**2).sum(axis=1))
    use = (said > 0) & (distance > 0)
    # many writers leave 0 or 1 in byte 37: only values that vary are meant
    if use.sum() < 0.5 * s.live.sum() or not use.any() or np.ptp(said[use]) == 0:
        return None
    return float(np.median(said[use] / distance[use]))


def offset_ratios(scanned: Scanned) -> list[float | None]:
    """Return of each file what `offset_ratio` says."""
    some = [s for s in scanned if s.live.any()]
    if len(some) < FEWEST_FILES:
        return [offset_ratio(s) for s in scanned]
    groups = Groups([int(s.live.sum()) for s in some])
    said = np.abs(_live(some, "offset"))
    d = _live(some, "rcv")[:, :2] - _live(some, "src")[:, :2]
    distance = np.sqrt((d**2).sum(axis=1))
    low = groups.min(said)
    # where no trace is without either, all of them count
    whole = (low > 0) & (groups.min(distance) > 0)
    medians = groups.medians(said / np.where(distance > 0, distance, 1.0))
    vary = low != groups.max(said)
    known = {id(s): (float(medians[i]) if vary[i] else None) for i, s in enumerate(some) if whole[i]}
    return [known[id(s)] if id(s) in known else offset_ratio(s) for s in scanned]


def as_angles(s: ScannedFile, fix: Fix) -> str:
    """Return what angles the coordinates are when only as angles they agree with the offsets; empty for lengths.

    Longitudes and latitudes written without their code (byte 89) are numbers that nothing refuses. On the Earth their
    distances are those of the offsets (byte 37), to the rounding of both and the flattening (0.7 %); as metres they are
    16 to 100,000 times too short.
    """
    said = np.abs(s.positions.offset[s.live])
    ends = [p[s.live, :2] / unit_factor(s.layout, fix) for p in (s.positions.src, s.positions.rcv)]
    distance = np.hypot(*(ends[1] - ends[0]).T)
    if not len(said) or np.ptp(said) == 0 or np.median(distance) > SHORTENED_BY_ANGLES * np.median(said):
        return ""
    scalar = column(s.values, "coordinate_scalar", s.layout.n_traces)[s.live]
    step = float(apply_scalar(np.ones(1), scalar if fix.scalar is None else fix.scalar).max())
    for words, per_degree in ANGLES.items():
        lon, lat = np.stack([_degrees(p, per_degree) for p in ends], axis=2).swapaxes(0, 1)
        if not (np.abs(lon) <= 180.0).all() or not (np.abs(lat) <= 90.0).all():
            continue
        east = (lon[:, 1] - lon[:, 0]) * np.cos(np.radians(lat.mean(axis=1)))
        there = DEGREE * np.hypot(east, lat[:, 1] - lat[:, 0])
        rounded = 1.0 + 2.0 * step * DEGREE / (per_degree or 3600.0)
        same = np.abs(there - said) <= rounded + 0.02 * said
        if rounded < 0.1 * said.max() and same.mean() > 0.9:
            return words
    return ""


def _degrees(p: NDArray[np.float64], per_degree: float) -> NDArray[np.float64]:
    """Return angles in degrees; of degrees, minutes and seconds, DDDMMSS.ss, when there are 0 in a degree."""
    if per_degree:
        return p / per_degree
    whole, minutes, seconds = (np.abs(p) // 1e4, np.abs(p) // 100 % 100, np.abs(p) % 100)
    good = (minutes < 60) & (seconds < 60)
    return np.where(good, np.sign(p) * (whole + minutes / 60 + seconds / 3600), np.nan)


def scalar_of_places(scanned: Scanned, fix: Fix) -> int | None:
    """Return the scalar of coordinates that offsets ask for; None where the one in the headers agrees with them."""
    if fix.scalar is not None:
        return fix.scalar
    text = scalar_cure(scanned, fix)
    return int(text.rpartition("=")[2]) if text else None


def scalar_cure(scanned: Scanned, fix: Fix) -> str:
    """Return the scalar of coordinates under which offsets and coordinates of all files agree."""

    def agree(files: list[ScannedFile], _: Fix) -> bool:
        ratios = [offset_ratio(s) for s in files]
        return all(r is not None and abs(r - 1) < 0.02 for r in ratios)

    return cure(scanned, fix, [{"scalar": v} for v in SCALARS], agree)


def likely_scalar(scanned: Scanned, fix: Fix) -> str:
    """Return the scalar of coordinates under which offsets are those of a survey; empty when none or several are."""
    record = max(s.layout.ns * s.layout.dt for s in scanned)

    def usual(files: list[ScannedFile], _: Fix) -> bool:
        d = _live(files, "rcv")[:, :2] - _live(files, "src")[:, :2]
        largest = float(np.sqrt((d**2).sum(axis=1)).max())
        # waves reach the farthest receiver within the record, and well before its end
        return 300.0 <= largest < 30_000.0 and (not record or 300.0 * record <= largest <= 6000.0 * record)

    seen = [
        int(v) for s in scanned for v in np.unique(column(s.values, "coordinate_scalar", s.layout.n_traces))
    ]
    signs = [-v for v in dict.fromkeys(seen) if abs(v) > 1]
    proposal = cure(scanned, fix, [{"scalar": v} for v in signs], usual)
    return proposal or cure(scanned, fix, [{"scalar": v} for v in SCALARS], usual)


def near(files: Scanned, others: Scanned) -> bool:
    """Return whether the sources of files lie where those of others do, within twice their extent."""
    a, b = _live(files, "src")[:, :2], _live(others, "src")[:, :2]
    if not len(a) or not len(b):
        return True
    low, high = b.min(axis=0), b.max(axis=0)
    reach = np.maximum(2.0 * float((high - low).max()), 1000.0)
    return bool(((a >= low - reach) & (a <= high + reach)).all()) and (
        len(others) < 2 or bool(np.ptp(a, axis=0).max() <= 4.0 * max(1.0, float((high - low).max())))
    )
