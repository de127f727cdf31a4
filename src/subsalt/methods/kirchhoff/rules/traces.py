"""Prestack traces alone: offsets, numbers, times, elevations, samples. On the output grid: `prestack_grid`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt.check.context import error, ok, warning
from subsalt.check.repeated import one_place
from subsalt.check.units import interval_findings
from subsalt.errors import Finding
from subsalt.io.geometry.join import described
from subsalt.io.input_file import InputFile
from subsalt.io.prestack.table import TraceTable
from subsalt.io.scan.amplitudes import MeasuredFile, amplitude_findings
from subsalt.io.scan.findings import sample_findings
from subsalt.io.scan.missing import missing
from subsalt.io.scan.odd_files import odd_files
from subsalt.io.scan.statistics import sample_statistics
from subsalt.io.scan.traces import ends_apart, far_away, records_of_receivers, shots_twice
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.shot_table import SAME_PLACE, find_repeats
from subsalt.methods.kirchhoff.rules.midpoints import fold_facts, numbers_agree, on_the_grid

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import ImageGrid

#: bytes of traces that are looked at, over all files, and the most files
SAMPLE_TOTAL, SAMPLE_FILES = 1 << 30, 1024
#: m; what changes less is no matter of statics at seismic frequencies: 5 m are 5 ms two-way at 2000 m/s
LEVEL = 5.0
#: classes of the offset histogram
CLASSES = 12


def prestack_findings(
    table: TraceTable,
    fix: Fix | None = None,
    grid: ImageGrid | None = None,
    aperture: float | None = None,
    datum: bool = False,
    grid_is_given: bool = True,
) -> Iterator[Finding]:
    """Yield everything that is odd about prestack traces, and what is in order.

    Parameters
    ----------
    table : TraceTable
        As `open_traces` gives it; its own findings come first.
    fix : Fix, optional
        As it was opened with.
    grid : ImageGrid, optional
        The output locations.
    aperture : float, optional
        Largest distance of midpoint and location, m.
    datum : bool
        The migration takes heights into account.
    grid_is_given : bool
        The job says where the output lies, or which lines it has.

    Notes
    -----
    Reads a bounded sample of the traces.
    """
    fix = fix or Fix()
    yield from table.findings
    if "geometry" in table.notes:
        yield ok(described(table.notes["geometry"]), **table.notes["geometry"])
    yield from sample_interval(table)
    yield from sampled_findings(table, fix)
    yield from missing_offsets(table)
    yield from offsets_agree(table)
    yield from traces_at_the_origin(table)
    yield from one_source(table)
    yield from repeated_traces(table)
    yield from traces_apart(table)
    if not datum:
        yield from elevations(table)
    if grid is not None:
        yield from image_times(table, grid)
        on_grid = list(on_the_grid(table, grid, aperture, grid_is_given))
        yield from on_grid
        # a grid that is misplaced numbers its bins otherwise: once is enough
        if all(f.level == "ok" for f in on_grid):
            yield from numbers_agree(table, grid)


def prestack_facts(table: TraceTable, grid: ImageGrid | None = None) -> dict[str, Any]:
    """Return numbers about prestack traces for people and programs: counts, offsets, midpoints, fold.

    Notes
    -----
    ``offsets.counts`` are the traces of `CLASSES` equal classes from the smallest to the largest offset,
    to a metre.
    """
    offset, middle = table.offset, table.midpoint
    low, high = np.floor(offset.min()), np.ceil(offset.max())
    counts, edges = np.histogram(offset, CLASSES, range=(low, max(high, low + 1.0)))
    facts: dict[str, Any] = {
        "traces": len(table),
        "files": len(table.files.paths),
        "dead_traces": table.notes.get("dead_traces", 0),
        "auxiliary_traces": table.notes.get("auxiliary_traces", 0),
        "samples": table.files.time.nt,
        "dt_s": table.files.time.dt,
        "first_sample_s": table.files.time.t0,
        "positions": table.notes.get("positions", {}),
        "field_records": len(np.unique(table.ffid)),
        "cdps": [int(table.cdp.min()), int(table.cdp.max())],
        "offsets": {
            "min_m": float(offset.min()),
            "max_m": float(offset.max()),
            "median_m": float(np.median(offset)),
            "edges_m": [float(v) for v in edges],
            "counts": [int(v) for v in counts],
        },
        "midpoints_m": {
            "x": [float(middle[:, 0].min()), float(middle[:, 0].max())],
            "y": [float(middle[:, 1].min()), float(middle[:, 1].max())],
        },
        "table_bytes": table.nbytes,
    }
    return facts if grid is None else facts | {"fold": fold_facts(table, grid)}


def sample_interval(table: TraceTable) -> Iterator[Finding]:
    """Yield an error for a sample interval that is a thousand times too long or too short."""
    yield from interval_findings(table.files.time.nt, table.files.time.dt, table.files.layouts[0].dt_source)


def sampled_findings(table: TraceTable, fix: Fix) -> Iterator[Finding]:
    """Yield what a sample of the traces shows: not finite, another format than the headers say, zeros, outliers."""
    layouts, first = table.files.layouts, table.files.first
    picks = np.unique(np.linspace(0, len(layouts) - 1, min(len(layouts), SAMPLE_FILES)).astype(int))
    budget = SAMPLE_TOTAL // len(picks)
    measured = []
    for f in picks:
        rows = slice(*np.searchsorted(table.number, first[f : f + 2]))
        number = table.number[rows] - first[f]
        use = np.zeros(layouts[f].n_traces, bool)
        use[number] = True
        if not len(number):
            continue
        with InputFile(layouts[f].path) as file:
            statistics, measures = sample_statistics(file, layouts[f], budget, use)
        yield from sample_findings(layouts[f], statistics, fix)
        at = np.searchsorted(number, measures.number)
        offset, ffid, channel = table.offset[rows][at], table.ffid[rows][at], table.channel[rows][at]
        measured.append(MeasuredFile(layouts[f].path, measures, offset, ffid, channel))
    yield from amplitude_findings(measured, fix)


def missing_offsets(table: TraceTable) -> Iterator[Finding]:
    """Yield what is to be said when sources and receivers lie at one place."""
    if table.offset.any():
        yield ok(
            f"offsets {table.offset.min():.0f} to {table.offset.max():.0f} m, {len(table)} traces, positions from "
            f"{table.notes.get('positions', {}).get('from', 'coordinates')}"
        )
        return
    facts = table.notes.get("offsets", {})
    if facts.get("disagree"):
        yield error(
            "E725",
            "sources and receivers lie at the same places, but the headers have offsets up to "
            f"{facts['largest_m']:g} m: the coordinates are those of midpoints or stations",
            "say where the others are: [data.bytes] receiver_x = ..., receiver_y = ...; for a 2-D line: "
            "[data] cdp_line",
        )
    else:
        yield warning(
            "W725",
            f"all {len(table)} traces have offset 0: they are migrated as a stacked section",
            "if they are prestack traces, say where coordinates are: [data.bytes] source_x, receiver_x = ...",
        )


def offsets_agree(table: TraceTable) -> Iterator[Finding]:
    """Yield a warning when offsets of headers are not the distances of the coordinates."""
    facts = table.notes.get("offsets", {})
    if not facts.get("disagree") or not table.offset.any():
        return
    path, trace = table.files.where(facts["trace"])
    ratio = facts["ratio"]
    bias = facts.get("bias_m")
    how = (
        f"there {ratio:.3g} times as large in the median" if bias is None else f"by {bias:.4g} m in all alike"
    )
    yield warning(
        "W226",
        f"offsets (byte 37) are not the distances of the coordinates in {facts['disagree']} of {len(table)} traces, "
        f"{how}; first {path} trace {trace}: offset {facts['header_m']:g} m, "
        f"coordinates {facts['coordinates_m']:.1f} m apart",
        _ratio_cure(table, facts["trace"], ratio)
        if bias is None
        else "the coordinates count; if these are right and the offsets wrong: [data.bytes] offset = 0; else one end "
        "was moved: correct the coordinates (bytes 73 to 88)",
        ratio=ratio,
        count=facts["disagree"],
    )


def _ratio_cure(table: TraceTable, number: int, ratio: float) -> str:
    """Return the cure for offsets that are `ratio` times the distances."""
    silent = "if these are right and the offsets wrong: [data.bytes] offset = 0"
    for unit, factor in (("ft", 0.3048), ("m", 1 / 0.3048)):
        if abs(ratio * factor - 1) < 0.01:
            return f'the coordinates count; if they are in feet: [data.fix] unit = "{unit}"; {silent}'
    power = np.log10(ratio) if ratio > 0 else 0.0
    if abs(power - round(power)) < 0.01 and round(power) != 0:
        scalar = _scalar_at(table, number)
        exact = round(np.log10(abs(scalar)) * np.sign(scalar) + power)
        right = int(10**exact) if exact >= 0 else -int(10**-exact)
        return (
            f"the coordinates count; if their scalar (byte 71, {scalar}) is wrong: [data.fix] scalar = {right}; "
            f"{silent}"
        )
    return f"the coordinates count; {silent}; else say where they are: [data.bytes] source_x, receiver_x"


def _scalar_at(table: TraceTable, number: int) -> int:
    """Return the scalar of coordinates of a trace, that of the job or of its header; 1 for none."""
    if len(seen := table.notes.get("scalars", [])) == 1:
        return int(seen[0]) or 1
    path, row = table.files.where(number)
    layout = next(lay for lay in table.files.layouts if lay.path == path)
    with InputFile(path) as file:
        raw = file.read_at(layout.first_trace + (row - 1) * layout.trace_bytes + 70, 2)
    return int(np.frombuffer(raw, ">i2" if layout.endian == "big" else "<i2")[0]) or 1


def traces_at_the_origin(table: TraceTable) -> Iterator[Finding]:
    """Yield a warning when some traces have no coordinates, but others have."""
    if table.notes.get("positions", {}).get("from") != "coordinates":
        return
    none = ~(table.src.any(axis=1) | table.rcv.any(axis=1))
    if none.any() and not none.all():
        path, trace = table.files.where(int(table.number[np.argmax(none)]))
        yield warning(
            "W726",
            f"{int(none.sum())} of {len(table)} traces have no coordinates (all zero), first {path} trace {trace}",
            f"they are taken to lie at map 0, 0; to leave them out: "
            f"{table.trace_set().cure(np.flatnonzero(none))}",
            count=int(none.sum()),
        )


def one_source(table: TraceTable) -> Iterator[Finding]:
    """Yield a warning when all field records have one source."""
    shots = len(np.unique(table.ffid))
    # receivers at the source are a stack, and traces without coordinates are said above
    if shots < 3 or not table.offset.any() or not table.src.any():
        return
    if (np.abs(table.src - table.src[0]) <= SAME_PLACE).all():
        yield one_place(shots, table.src[0])


def traces_apart(table: TraceTable) -> Iterator[Finding]:
    """Yield findings on traces that lie far from all others, and on shots that lack channels."""
    t = table.trace_set()
    if table.notes.get("positions", {}).get("from") == "coordinates":
        none = ~(table.src.any(axis=1) | table.rcv.any(axis=1))
        if none.all() or not none.any():
            yield from ends_apart(t)
            yield from far_away(t)
            yield from odd_files(t)
            yield from records_of_receivers(t)
            if table.offset.any():
                yield from shots_twice(t)
    # traces that were left out on purpose are no more known here
    if not any(table.notes.get(f"{kind}_traces") for kind in ("dead", "excluded")):
        yield from missing(t)


def repeated_traces(table: TraceTable) -> Iterator[Finding]:
    """Yield what is to be said of traces with one field record and channel."""
    repeats = find_repeats(table)

    def example(row: int, first: int) -> str:
        there, here = (table.files.where(int(table.number[i])) for i in (first, row))
        return (
            f"field record {table.ffid[row]} channel {table.channel[row]}: {there[0]} trace {there[1]} and "
            f"{here[0]} trace {here[1]}"
        )

    if len(repeats.same):
        text = (
            f"{len(repeats.same)} of {len(table)} traces are there twice, with one field record, channel and place: "
            f"{example(int(repeats.same[0]), int(repeats.first[0]))}"
        )
        if table.notes.get("duplicates") == "keep":
            yield warning(
                "W728", text, "they are all used, as [data] duplicates says", count=len(repeats.same)
            )
        else:
            yield error(
                "E728",
                text,
                'name each file once; [data] duplicates = "first" leaves the others out, "keep" uses all',
                count=len(repeats.same),
            )
    if len(repeats.other):
        at = len(repeats.same)
        yield warning(
            "W729",
            f"{len(repeats.other)} traces have the field record and channel of a trace elsewhere; "
            f"{example(int(repeats.other[0]), int(repeats.first[at]))}",
            "the image does not need these numbers: ignore it for several lines; else correct byte 9 (or 13), or the "
            "coordinates, in these traces",
            count=len(repeats.other),
        )


def elevations(table: TraceTable) -> Iterator[Finding]:
    """Yield a warning when sources or receivers do not lie at one level."""
    for name, (low, high) in table.notes.get("elevations", {}).items():
        if high - low > LEVEL:
            yield warning(
                "W732",
                f"{name}s lie at heights from {-high:g} to {-low:g} m; time migration takes all at the datum of "
                "the data",
                "set [kirchhoff.floating_datum] velocity and radius; if statics to a flat datum were applied, ignore "
                "it",
                low=-high,
                high=-low,
            )
            return


def image_times(table: TraceTable, grid: ImageGrid) -> Iterator[Finding]:
    """Yield an error when image and records have no time in common."""
    first, last = grid.time.t0, grid.time.duration
    begin, end = table.files.time.t0, table.files.time.duration
    text = f"image from {first:g} to {last:g} s, records from {begin:g} to {end:g} s"
    if last < begin or first > end:
        yield error(
            "E729",
            f"{text}: they have no time in common",
            'times are in seconds; write milliseconds with their unit: [kirchhoff] time = {last = "4000 ms"}',
        )
