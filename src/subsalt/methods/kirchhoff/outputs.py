"""What a finished time migration writes: image, gathers, hits and fold, in parallel and in pieces; then pictures."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt import __version__
from subsalt.io.publish import make_folder, publish_text, sha256_file
from subsalt.io.shared_file import write_together
from subsalt.io.volumes.npy import write_npz
from subsalt.methods.kirchhoff.assemble import Assembly, Piece
from subsalt.methods.kirchhoff.blank import TimeContents, refuse_blank_times
from subsalt.methods.kirchhoff.engine import antialias_spacing
from subsalt.methods.kirchhoff.files import OutputFile, rsf_file, segy_file
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.parallel.comm import Comm
from subsalt.run.method_run import Written

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.job import KirchhoffJob

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
        Of the finished blocks.

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
    found = TimeContents()
    with ExitStack() as stack:
        parts = [stack.enter_context(write_together(f.path, world, f.size, verify=f.verify)) for f in files]
        for file, part in zip(files, parts, strict=True):
            if world.is_root and file.head:
                part.write_at(0, file.head)
        for a in range(lo, hi, assembly.step):
            piece = assembly.piece(a, min(hi, a + assembly.step))
            found.add(piece)
            for file, part in zip(files, parts, strict=True):
                part.write_at(file.offset(a), file.data(piece))
        # no file is published before all ranks have seen that there is something in them
        refuse_blank_times(found, setup, world)
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
    from subsalt import view

    path = make_folder(folder / "pictures") / "image.png"
    return view.time_pictures(view.read_time_run(folder), path, velocity=setup.velocity)


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
    ]
