"""Files of a finished time migration: image, gathers, hits and fold, in parallel and in pieces; then pictures.

SEG-Y and RSF are written by all ranks in pieces of locations. An image without content is refused, with what emptied
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt import __version__
from subsalt.acquisition.image_grid import ImageGrid
from subsalt.errors import ConfigError, DataError, SubsaltError
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.publish import make_folder, publish_text, sha256_file
from subsalt.io.segy.rev1 import Expectation
from subsalt.io.shared_file import write_together
from subsalt.io.volumes.npy import write_npz
from subsalt.io.volumes.rsf import data_of, header_text
from subsalt.io.volumes.time_image import TimeImageFile
from subsalt.methods.kirchhoff.assemble import Assembly, Piece
from subsalt.methods.kirchhoff.block_reach import reach
from subsalt.methods.kirchhoff.engine import antialias_spacing, velocities
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.methods.kirchhoff.stacking import leg, mute_weight
from subsalt.parallel.comm import Comm
from subsalt.run.blank import KEPT, TRACES, Contents, not_finite
from subsalt.run.result import Written

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.assemble import Piece
    from subsalt.methods.kirchhoff.job import KirchhoffJob
    from subsalt.methods.kirchhoff.setup import KirchhoffSetup


#: values that a file takes from a piece: (n, m, nt) or (n, m), as float32
Values = Callable[[Piece], NDArray[np.float32]]


@dataclass
class OutputFile:
    """A file that is filled piece by piece.

    Parameters
    ----------
    path : Path
        Where it will be.
    size : int
        Bytes of the whole.
    head : bytes
        Its beginning.
    location_bytes : int
        Bytes of a location, one behind the other after the head.
    data : callable
        Bytes of a piece.
    expected : Expectation or None
        For SEG-Y: contents that a second reader must find.
    header : Path and text, optional
        Published behind the file, of RSF.
    """

    path: Path
    size: int
    head: bytes
    location_bytes: int
    data: Callable[[Piece], memoryview]
    expected: Expectation | None = None
    header: tuple[Path, str] | None = None
    rows: Callable[[Piece], NDArray[np.uint8]] | None = field(default=None, repr=False)

    @property
    def name(self) -> Path:
        """The file that people know: for RSF its header."""
        return self.path if self.header is None else self.header[0]

    def offset(self, location: int) -> int:
        """Return where a location begins."""
        return len(self.head) + location * self.location_bytes

    def verify(self, path: Path) -> None:
        """Raise when the finished file at `path` does not read back."""
        if self.expected is not None:
            self.expected.check(path)


def segy_file(
    path: Path,
    setup: KirchhoffSetup,
    what: str,
    offsets: NDArray[np.float64],
    values: Values,
    text: Sequence[str],
) -> OutputFile:
    """Return a SEG-Y file with the traces of `offsets` for each location."""
    grid = setup.grid
    places = grid.positions()
    datum = None if setup.datum is None else setup.datum.zero(places)
    volume = TimeImageFile(grid.time, places, grid.numbers(), cdp_numbers(grid), offsets, what, text, datum)
    gathers = what == "GATHERS"

    def rows(piece: Piece) -> NDArray[np.uint8]:
        fold: NDArray[Any] = piece.fold if gathers else piece.fold.sum(axis=1, dtype=np.int64)[:, None]
        return volume.rows(piece.lo, values(piece), fold)

    return OutputFile(
        path,
        volume.size,
        volume.head,
        volume.location_bytes,
        lambda piece: raw_bytes(rows(piece)),
        Expectation(False, volume.traces, grid.time.nt, volume.interval),
        rows=rows,
    )


def rsf_file(
    path: Path,
    setup: KirchhoffSetup,
    values: Values,
    text: Sequence[str],
    classes: int | None = None,
    timed: bool = True,
) -> OutputFile:
    """Return an RSF file: (inline, crossline[, class][, time]), time or class fastest.

    Parameters
    ----------
    classes : int, optional
        Length of the axis of classes; it has none when None.
    timed : bool
        It has an axis of time.
    """
    grid, data = setup.grid, data_of(path)
    (i0, _, di), (j0, _, dj) = grid.inlines, grid.crosslines
    ni, nj = grid.shape
    axes: list[tuple[int, float, float, str, str]] = []
    if timed:
        axes.append((grid.time.nt, grid.time.dt, grid.time.t0, "time", "s"))
    if classes is not None:
        axes.append((classes, 1.0, 0.0, "class", ""))
    axes += [(nj, float(dj), float(j0), "crossline", ""), (ni, float(di), float(i0), "inline", "")]
    extra = {
        "corner_m": f"{grid.corner[0]!r} {grid.corner[1]!r}",
        "per_inline_m": f"{grid.per_inline[0]!r} {grid.per_inline[1]!r}",
        "per_crossline_m": f"{grid.per_crossline[0]!r} {grid.per_crossline[1]!r}",
    }
    if classes is not None:
        extra["class_offsets_m"] = " ".join(f"{x:g}" for x in setup.classes.centres)
    one = 4 * (classes or 1) * (grid.time.nt if timed else 1)
    return OutputFile(
        data,
        one * grid.size,
        b"",
        one,
        lambda piece: raw_bytes(np.ascontiguousarray(values(piece), "<f4")),
        header=(path, header_text(data, axes, text, extra)),
    )


def cdp_numbers(grid: ImageGrid) -> NDArray[np.int64]:
    """Return the CDP number of every location: the crossline number of a line, else counted through the grid from 1."""
    return grid.numbers()[:, 1] if grid.is_line else np.arange(1, grid.size + 1, dtype=np.int64)


@dataclass
class TimeContents:
    """Contents of the files of a time migration: image, gathers, and the samples that traces were added to."""

    image: Contents = field(default_factory=Contents)
    gathers: Contents = field(default_factory=Contents)
    hits: Contents = field(default_factory=Contents)

    def add(self, piece: Piece) -> None:
        """Count what is in a piece of the image."""
        for name in ("image", "gathers", "hits"):
            getattr(self, name).add(getattr(piece, name))


def refuse_blank_times(contents: TimeContents, setup: KirchhoffSetup, world: Comm) -> None:
    """Raise when a time image, or its gathers, are zero throughout or not finite somewhere; classes may be. Collective.

    Raises
    ------
    ConfigError, DataError, NumericalFailure
        As `refuse_blank`.
    """
    image, gathers = contents.image.on_all(world), contents.gathers.on_all(world)
    if image.live and gathers.live and not image.bad and not gathers.bad:
        return
    hits = contents.hits.on_all(world)
    with world.together():
        if not world.is_root:
            return
        if gathers.bad:
            raise not_finite("sums of traces", gathers, "sum over traces")
        if image.bad:
            raise not_finite("image", image, "stack of the classes")
        raise _empty_sums(setup, hits) if not gathers.live else _no_stack(gathers)


def _no_stack(gathers: Contents) -> SubsaltError:
    return DataError(
        f"the image is zero throughout: the step stack of the classes leaves nothing of gathers in which "
        f"{gathers.live} of {gathers.size} values are not zero",
        f"look at the gathers with [kirchhoff] gathers; {KEPT}",
        code="E845",
    )


def _empty_sums(setup: KirchhoffSetup, hits: Contents) -> SubsaltError:
    """Return the error of sums to which nothing was added."""
    if not hits.live:
        return _nothing_added(setup)
    used = np.flatnonzero(setup.group >= 0)
    some = used[:: max(1, len(used) // TRACES)]
    read = Contents.of(setup.table.files.read(setup.table.number[some]))
    which = f"{len(some)} of {len(used)} traces were read again"
    if not read.live:
        return DataError(
            f"the image is zero throughout: all samples of the traces are zero ({which})",
            f"look at the files with `subsalt scan`: their format, and how they were copied; {KEPT}",
            code="E845",
        )
    return DataError(
        f"the image is zero throughout: the step filter (phase correction and alias bands) leaves nothing of traces in "
        f"which {read.live} of {read.size} samples are not zero ({which}): constant, or too small for float32",
        f"look at the traces with `subsalt scan`; scale them to amplitudes near 1; {KEPT}",
        code="E845",
    )


def _nothing_added(setup: KirchhoffSetup) -> SubsaltError:
    """Return the error of traces of which no sample comes to a location."""
    o, grid, record = setup.options, setup.grid, setup.table.time
    again = f", and start again with --recompute; {KEPT}"
    span = f"{grid.time.t0:g} to {grid.time.duration:g} s"
    recorded, used, nearest = _nearest_offset(setup)
    limits = [] if o.aperture is None else [f"aperture = {o.aperture:g} m"]
    limits += [] if o.dip is None else [f"dip = {o.dip:g} degrees"]
    if not recorded:
        what = f"image times {span}: no reflection comes within the records, {record.t0:g} to {record.duration:g} s"
        cure = "set [kirchhoff] time within the records"
    elif not used and o.stretch_mute is not None and len(reach(setup.table, grid.positions(), o.aperture)):
        what = f"stretch_mute = {100 * o.stretch_mute:g} %: offsets from {nearest:.0f} m at {span} are stretched more"
        cure = 'set [kirchhoff] stretch_mute higher, such as "30 %", or "off"'
    else:
        what = (
            f"aperture ({', '.join(limits) or 'no limit'}): none of {len(setup.table)} traces reaches any of "
            f"{grid.size} locations"
        )
        cure = "widen [kirchhoff] aperture and dip, or check the output grid"
    return ConfigError(f"the image is zero throughout: the step {what}", cure + again, code="E844")


def _nearest_offset(setup: KirchhoffSetup) -> tuple[bool, bool, float]:
    """Return whether flat reflectors are recorded at the least offset, whether any is kept, and that offset."""
    grid, record = setup.grid, setup.table.time
    v, eta = velocities(setup, grid.positions()[grid.size // 2 :][:1])
    nearest = float(setup.table.offset[setup.group >= 0].min(initial=np.inf))
    t0, at = grid.time.values(), np.full(1, 0.5 * nearest)
    t = 2.0 * leg(0.5 * t0, at, v[0].astype(np.float64), None if eta is None else eta[0].astype(np.float64))
    inside = (t >= record.t0) & (t <= record.duration) & (t0 > 0)
    return bool(inside.any()), bool((inside & (mute_weight(t, t0, setup.options) > 0)).any()), nearest


#: floats of a location that an NPZ file may have in the memory of one rank
ALONE = 1 << 28


@dataclass
class TimeOutputs(Written):
    """Files of a finished time migration.

    Parameters
    ----------
    named : dict
        Name in the run directory and hash of ``image``, ``gathers``, ``hits``, ``fold``, as far as they were written.
    """

    named: dict[str, dict[str, str]] = field(default_factory=dict)


def write_outputs(
    job: KirchhoffJob, setup: KirchhoffSetup, folder: Path, run_id: str, assembly: Assembly, world: Comm
) -> TimeOutputs:
    """Write image, gathers, hits and fold. Collective.

    Every rank assembles a range of locations, a piece at a time, and writes it at its place in all files; none of them
    is ever whole in memory.

    Parameters
    ----------
    folder : Path
        The run directory.
    run_id : str
        Hash of job and inputs; stands in the headers.
    assembly : Assembly
        Assembly of the finished blocks.

    Notes
    -----
    Files depend on job and inputs alone: not on time, host, path, threads, ranks, blocks, or stops in between.
    """
    formats: list[str] = list(dict.fromkeys(["segy", *job.output.formats]))
    text = provenance_of(job, setup, run_id)
    files = _files(setup, folder, formats, text)
    n = setup.grid.size
    lo, hi = n * world.rank // world.size, n * (world.rank + 1) // world.size
    _expect(files, assembly, lo, hi, n, world)
    contents = TimeContents()
    with ExitStack() as stack:
        parts = [stack.enter_context(write_together(f.path, world, f.size, verify=f.verify)) for f in files]
        for file, part in zip(files, parts, strict=True):
            if world.is_root and file.head:
                part.write_at(0, file.head)
        for a in range(lo, hi, assembly.step):
            piece = assembly.piece(a, min(hi, a + assembly.step))
            contents.add(piece)
            for file, part in zip(files, parts, strict=True):
                part.write_at(file.offset(a), file.data(piece))
        # no file is published before all ranks have seen that there is something in them
        refuse_blank_times(contents, setup, world)
    with world.together():
        if world.is_root:
            for file in files:
                if file.header is not None:
                    publish_text(*file.header)
            if "npz" in formats:
                _write_npz(setup, folder, text)
    written = [f.name for f in files] + [
        folder / f"{k}.npz" for k in ("image", "hits", "fold") if "npz" in formats
    ]
    named: dict[str, dict[str, str]] = {}
    with world.together():
        if world.is_root:
            for file in files:
                name = file.name.stem
                if name not in named:
                    named[name] = {"path": file.name.name}
            for name in ("image", "gathers"):
                if name in named:
                    named[name]["sha256"] = sha256_file(folder / named[name]["path"])
    named = world.bcast(named)
    return TimeOutputs(folder / named["image"]["path"], named["image"]["sha256"], written, named)


def draw(folder: Path, setup: KirchhoffSetup) -> list[Path]:
    """Draw sections, gathers and maps of a finished run into its folder of pictures."""
    from subsalt.methods.kirchhoff.time_run import read_time_run
    from subsalt.methods.kirchhoff.view import time_pictures

    path = make_folder(folder / "pictures") / "image.png"
    return time_pictures(read_time_run(folder), path, velocity=setup.velocity)


def _files(setup: KirchhoffSetup, folder: Path, formats: list[str], text: list[str]) -> list[OutputFile]:
    """Return the files of a run: the one that names a result first."""
    count, none = setup.classes.count, np.zeros(1)
    out = []

    def of_image(piece: Piece) -> NDArray[np.float32]:
        return piece.image[:, None, :]

    def of_gathers(piece: Piece) -> NDArray[np.float32]:
        return piece.gathers

    def of_hits(piece: Piece) -> NDArray[np.float32]:
        return piece.hits[:, None, :].astype(np.float32)

    def of_fold(piece: Piece) -> NDArray[np.float32]:
        return piece.fold.astype(np.float32)

    if "segy" in formats:
        out.append(segy_file(folder / "image.sgy", setup, "IMAGE", none, of_image, text))
    if "rsf" in formats:
        out.append(rsf_file(folder / "image.rsf", setup, of_image, text))
    if setup.classes.kind != "image":
        offsets = setup.classes.centres
        out.append(segy_file(folder / "gathers.sgy", setup, "GATHERS", offsets, of_gathers, text))
        if "rsf" in formats:
            out.append(rsf_file(folder / "gathers.rsf", setup, of_gathers, text, count))
    out.append(segy_file(folder / "hits.sgy", setup, "HITS", none, of_hits, text))
    if "rsf" in formats:
        out.append(rsf_file(folder / "hits.rsf", setup, of_hits, text))
    out.append(rsf_file(folder / "fold.rsf", setup, of_fold, text, setup.classes.groups, timed=False))
    return out


def _expect(files: list[OutputFile], assembly: Assembly, lo: int, hi: int, n: int, world: Comm) -> None:
    """Make the first and the last trace of every SEG-Y file known to the reader that checks it. Collective."""
    ends: list[Piece | None] = [None, None]
    with world.together():
        if lo == 0 and hi > 0:
            ends[0] = assembly.piece(0, 1)
        if hi == n and hi > lo:
            ends[1] = assembly.piece(n - 1, n)
    for file in files:
        if file.expected is not None and file.rows is not None:
            first, last = (None if piece is None else file.rows(piece) for piece in ends)
            file.expected.gather(
                None if first is None else first[0], None if last is None else last[-1], world
            )


def _write_npz(setup: KirchhoffSetup, folder: Path, text: list[str]) -> None:
    """Write image, hits and fold as arrays, from the files that are there; on one rank."""
    grid = setup.grid
    axes: dict[str, NDArray[Any]] = {
        "inline": np.unique(grid.numbers()[:, 0])
        if grid.inlines[2] > 0
        else np.unique(grid.numbers()[:, 0])[::-1],
        "crossline": grid.numbers()[: grid.shape[1], 1],
        "time_s": grid.time.values(),
        "corner_m": np.array(grid.corner),
        "per_inline_m": np.array(grid.per_inline),
        "per_crossline_m": np.array(grid.per_crossline),
        "provenance": np.array("\n".join(text)),
    }
    kind = np.dtype([("head", "V240"), ("samples", ">f4", (setup.nt,))])
    for name in ("image", "hits"):
        rows = np.memmap(folder / f"{name}.sgy", kind, mode="r", offset=3600, shape=(grid.size,))
        values = rows["samples"].astype(np.float32 if name == "image" else np.int32)
        write_npz(folder / f"{name}.npz", {name: values.reshape(*grid.shape, -1), **axes})
    fold = np.fromfile(folder / "fold.rsf@", "<f4").astype(np.int32)
    offsets = {"offset_m": setup.classes.centres, "azimuth_degrees": setup.classes.sector_centres}
    write_npz(folder / "fold.npz", {"fold": fold.reshape(*grid.shape, -1), **axes, **offsets})


def provenance_of(job: KirchhoffJob, setup: KirchhoffSetup, run_id: str) -> list[str]:
    """Return what made the image, for the headers of its files: no time, host or path."""
    o, c = setup.options, setup.classes
    amplitude = {"3d": "3-D, -d/dt", "2.5d": "2.5-D, half derivative", "none": "none"}[o.amplitude]
    aperture = "all" if o.aperture is None else f"{o.aperture:g} m"
    dip = "all" if o.dip is None else f"{o.dip:g} degrees"
    spacing = antialias_spacing(setup)
    bands = f", {o.bands} bands, {o.band_choice}" if o.antialias == "bands" else ""
    mute = (
        "off" if o.stretch_mute is None else f"{100 * o.stretch_mute:g} %, taper {100 * o.stretch_taper:g} %"
    )
    kinds = {"image": "one image", "offset": "offset classes", "full": "full offset"}
    return [
        f"subsalt {__version__}, Kirchhoff prestack time migration",
        f"run: {run_id[:24]}",
        f"amplitude and phase correction: {amplitude}; weights by {job.kirchhoff.weighting}",
        f"aperture: {aperture}, taper {100 * o.aperture_taper:g} %; dip: {dip}, taper {100 * o.dip_taper:g} %",
        f"antialias: {o.antialias}{bands}, spacing {spacing[0]:g} x {spacing[1]:g} m",
        f"stretch mute: {mute}; interpolation: {o.interpolation}; block moveout: off",
        f"traveltime: {o.traveltime} rays",
        f"gathers: {kinds[c.kind]}, {c.offsets} offset classes, {c.sectors} azimuth sector{'s' * (c.sectors > 1)}",
        f"traces: {int((setup.group >= 0).sum())} of {len(setup.table)}",
        *_datum_line(setup),
    ]


def _datum_line(setup: KirchhoffSetup) -> list[str]:
    """Return from where times of the image count, where that is not the datum of the data."""
    if (datum := setup.datum) is None:
        return []
    low, high = datum.facts()["elevations"]
    where = f"floating, {low:.0f} to {high:.0f} m" if datum.flat is None else f"{datum.flat:g} m"
    return [f"datum: {where} (bytes 53, 57), replacement velocity {datum.velocity:g} m/s"]
