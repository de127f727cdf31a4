"""The headers of many prestack files, each rank a part of them: columns of one number per trace, and facts.

Positions need some 200 bytes per trace while headers are turned into them, so that is done a piece at a time; what
remains is `COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.io.input_file import InputFile
from subsalt.io.reading_progress import each, tell
from subsalt.io.scan.components import components_between, sensors
from subsalt.io.scan.coordinates import coordinate_findings, geometry_errors
from subsalt.io.segy.exclude import refuse_unmatched
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import (
    POSITION_NAMES,
    ScannedFile,
    bin_positions,
    column,
    header_column,
    header_for,
    needed_for,
    refuse_depth,
)
from subsalt.io.segy.headers import FileLayout, HeaderBytes, read_headers, save_index, settled_values
from subsalt.io.segy.interval import settle_dt
from subsalt.io.segy.layout import find_layout
from subsalt.io.segy.words import as_numbers
from subsalt.parallel.comm import Comm
from subsalt.parallel.relay import plain

#: traces whose headers become positions at one time
PIECE = 1 << 18
#: traces of a file, spread over it, that answer what its coordinates are
_SAMPLE = 1000

_NAMES = (*POSITION_NAMES, "inline", "crossline", "cdp_x", "cdp_y")

#: of every usable trace: dtype and numbers per trace
COLUMNS: dict[str, tuple[type, int]] = {
    "number": (np.int64, 1),
    "src": (np.float64, 2),
    "rcv": (np.float64, 2),
    "said": (np.float64, 1),
    "delay": (np.float64, 1),
    "cdp": (np.int32, 1),
    "ffid": (np.int32, 1),
    "channel": (np.int32, 1),
}
#: where any trace has it: line numbers and positions of bins
BINNING: dict[str, tuple[type, int]] = {
    "inline": (np.int32, 1),
    "crossline": (np.int32, 1),
    "bin_x": (np.float64, 1),
    "bin_y": (np.float64, 1),
}
#: by which positions from separate files are joined
NUMBERS: dict[str, tuple[type, int]] = {"source_point": (np.int32, 1), "source_line": (np.int32, 1)}


@dataclass
class PrestackScan:
    """The headers of all files, in columns.

    Parameters
    ----------
    layouts : list of FileLayout
        The files in the given order; their findings are those of the files.
    stamps : list of int
        When each file was changed last, ns.
    first : ndarray, (n files + 1,), int64
        Number of the first trace of each file.
    columns : dict of ndarray
        One value (or pair) per usable trace, in the order of the files; ``said`` is the signed offset of the header, m.
        Those of `BINNING` are there only where they are not zero everywhere.
    headers : dict of ndarray
        One value per usable trace of each header value that was asked for.
    dead, auxiliary, excluded : int
        Traces of these kinds in all files.
    kept_dead : ndarray, int64
        Numbers of dead traces among the usable ones.
    elevations : dict
        ``source`` and ``receiver``: smallest and largest height z, positive down, m.
    scalars : list of int
        Scalars of the coordinates (byte 71), as traces spread over the files have them.
    """

    layouts: list[FileLayout]
    stamps: list[int]
    first: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]
    headers: dict[str, NDArray[np.float64]]
    dead: int
    auxiliary: int
    excluded: int
    kept_dead: NDArray[np.int64]
    elevations: dict[str, tuple[float, float]]
    scalars: list[int]


def scan_prestack(
    paths: Iterable[Path],
    header: HeaderBytes,
    fix: Fix,
    comm: Comm,
    extra: Sequence[str] = (),
    *,
    placed: bool = False,
) -> PrestackScan:
    """Return what the headers of files say, each rank having read a part. Collective.

    Parameters
    ----------
    extra : sequence of str
        Header values to keep of every trace, see `subsalt.io.segy.geometry.header_column`.
    placed : bool
        Coordinates of the headers do not count: positions are from files of their own, joined by numbers, which make
        columns, `NUMBERS`, and ``z``, the depth of the source.

    Raises
    ------
    SubsaltError
        On all ranks, when a file cannot be read.
    """
    layouts, stamps, scalars = _open_files(list(paths), header, fix, comm, placed)
    first = np.concatenate([[0], np.cumsum([lay.n_traces for lay in layouts])]).astype(np.int64)
    part = _Part(fix, first, COLUMNS | BINNING | (NUMBERS | {"z": (np.float64, 1)} if placed else {}), extra)
    with comm.together():
        lo, hi = (int(first[-1]) * (comm.rank + i) // comm.size for i in (0, 1))
        for f, layout in enumerate(layouts):
            a, b = max(lo, int(first[f])), min(hi, int(first[f + 1]))
            if a < b:
                with InputFile(layout.path) as file:
                    for start in range(a, b, PIECE):
                        n = min(b, start + PIECE) - start
                        tell(start - lo, hi - lo, "traces", "headers")
                        part.read(file, f, layout, header_for(layout, header), start, n)
    parts = comm.allgather(plain(part.facts()))
    columns = {}
    for name, (_, width) in part.kinds.items():
        if name not in BINNING or any(name in one["binning"] for one in parts):
            flat = comm.allgather_array(part.column(name).reshape(-1))
            columns[name] = flat.reshape(-1, 2) if width == 2 else flat
    headers = {name: comm.allgather_array(part.header(name)) for name in extra}
    refuse_unmatched(fix.exclude, np.any([one["matched"] for one in parts], axis=0))
    intervals: dict[int, set[int]] = {f: set() for f in range(len(layouts))}
    for one in parts:
        for f, intervals_us in one["intervals"].items():
            intervals[int(f)] |= set(intervals_us)
    for f, layout in enumerate(layouts):
        settle_dt(layout, header_for(layout, header), sorted(intervals[f]))
    return PrestackScan(
        layouts,
        stamps,
        first,
        columns,
        headers,
        sum(one["dead"] for one in parts),
        sum(one["auxiliary"] for one in parts),
        sum(one["excluded"] for one in parts),
        comm.allgather_array(part.dead_numbers()),
        {
            name: (min(one[name][0] for one in parts), max(one[name][1] for one in parts))
            for name in ("source", "receiver")
        },
        scalars,
    )


def _open_files(
    names: list[Path], header: HeaderBytes, fix: Fix, comm: Comm, placed: bool
) -> tuple[list[FileLayout], list[int], list[int]]:
    """Return layouts and times of change of the files, and scalars of coordinates; each rank opens some. Collective."""
    opened: list[dict[str, Any]] = []
    with comm.together():
        own = names[len(names) * comm.rank // comm.size : len(names) * (comm.rank + 1) // comm.size]
        for path in each(own, "files", "opened"):
            with InputFile(path) as file:
                refuse_depth(file)
                layout = find_layout(file, header, fix)
                if fix.index is not None:
                    save_index(file, layout, header_for(layout, header), fix.index)
                some = _sampled(file, layout, header, fix)
                layout.findings += (
                    geometry_errors(some, fix, placed) if placed else coordinate_findings(some, fix)
                )
                # the text of 40 lines is of no use here, and there may be thousands of files
                opened.append(
                    replace(layout, text=[]).to_json()
                    | {
                        "stamp": file.stamp,
                        "sensors": sensors(some),
                        "scalars": sorted({int(v) for v in column(some.values, "coordinate_scalar", 1)}),
                    }
                )
    opened = [one for several in comm.allgather(opened) for one in several]
    stamps = [one.pop("stamp") for one in opened]
    scalars = sorted({v for one in opened for v in one.pop("scalars")})
    kinds = [one.pop("sensors") for one in opened]
    layouts = [FileLayout.from_json(one) for one in opened]
    if layouts:
        together = zip((lay.path for lay in layouts), kinds, strict=True)
        layouts[0].findings += components_between(list(together), fix)
    return layouts, stamps, scalars


def _sampled(file: InputFile, layout: FileLayout, header: HeaderBytes, fix: Fix) -> ScannedFile:
    """Return headers and positions of traces spread over a file, as if it had no others."""
    picks = np.unique(np.linspace(0, layout.n_traces - 1, min(_SAMPLE, layout.n_traces)).astype(np.int64))
    raw = np.empty((len(picks), layout.header_read), np.uint8)
    file.read_rows((layout.first_trace + picks * layout.trace_bytes).tolist(), raw)
    view = raw.view(header_for(layout, header).dtype(layout.endian, layout.extended)).reshape(-1)
    headers = {n: view[n].astype(view[n].dtype.newbyteorder("=")) for n in view.dtype.names or ()}
    values = settled_values(as_numbers(headers, dict(header.types), layout.path), layout)
    some = replace(layout, n_traces=len(picks))
    return ScannedFile.of(some, values, header, fix, picks)


class _Part:
    """The traces whose headers this rank reads."""

    def __init__(
        self,
        fix: Fix,
        first: NDArray[np.int64],
        kinds: dict[str, tuple[type, int]],
        extra: Sequence[str] = (),
    ) -> None:
        self._fix, self._first, self.kinds = fix, first, kinds
        self._headers: dict[str, list[NDArray[np.float64]]] = {name: [] for name in extra}
        self._pieces: dict[str, list[NDArray[Any]]] = {name: [] for name in kinds}
        self._dead_numbers: list[NDArray[np.int64]] = []
        self._dead = self._auxiliary = self._excluded = 0
        self._matched = np.zeros(len(fix.exclude), bool)
        self._intervals: dict[int, set[int]] = {}
        self._z = {"source": [np.inf, -np.inf], "receiver": [np.inf, -np.inf]}

    def read(
        self, file: InputFile, f: int, layout: FileLayout, header: HeaderBytes, start: int, n: int
    ) -> None:
        """Add `n` traces of file `f`, of which the first has number `start`."""
        in_file = start - int(self._first[f])
        names = needed_for([*_NAMES, *self._headers])
        values = read_headers(file, layout, header, names, in_file, n, self._fix.index)
        number = np.arange(start, start + n, dtype=np.int64)
        some = replace(layout, n_traces=n)
        one = ScannedFile.of(some, values, header, self._fix, number - self._first[f])
        self._matched |= one.matched
        dead, out, places = one.dead, one.excluded, one.positions
        use = ~(one.auxiliary | out) if self._fix.dead == "zero" else one.live
        self._excluded += int(out.sum())
        self._dead += int(dead.sum())
        self._auxiliary += int(one.auxiliary.sum())
        self._intervals.setdefault(f, set()).update(int(v) for v in np.unique(column(values, "dt", n))[:1000])
        self._dead_numbers.append(number[use & dead])
        for name, points in (("source", places.src), ("receiver", places.rcv)):
            if use.any():
                z = points[use, 2]
                self._z[name] = [min(self._z[name][0], float(z.min())), max(self._z[name][1], float(z.max()))]
        bins = dict(zip(("bin_x", "bin_y"), bin_positions(values, some, self._fix), strict=True))
        known = bins | {
            "number": number,
            "src": places.src[:, :2],
            "rcv": places.rcv[:, :2],
            "said": places.offset,
            "delay": places.delay,
            "z": places.src[:, 2],
        }
        for name, (kind, _) in self.kinds.items():
            values_of = known[name] if name in known else column(values, name, n)
            self._pieces[name].append(values_of[use].astype(kind))
        for name, pieces in self._headers.items():
            pieces.append(header_column(name, one, self._fix)[use])

    def column(self, name: str) -> NDArray[Any]:
        """Return one column of all that was added, and let go of its pieces."""
        kind, width = self.kinds[name]
        pieces = self._pieces.pop(name)
        return np.concatenate([np.empty((0, 2) if width == 2 else 0, kind), *pieces])

    def header(self, name: str) -> NDArray[np.float64]:
        """Return one of the header values asked for, of all that was added."""
        return np.concatenate([np.empty(0), *self._headers.pop(name)])

    def dead_numbers(self) -> NDArray[np.int64]:
        """Return the numbers of dead traces that are kept."""
        return np.concatenate([np.empty(0, np.int64), *self._dead_numbers])

    def facts(self) -> dict[str, Any]:
        """Return what the ranks add up, as JSON."""
        return {
            "dead": self._dead,
            "auxiliary": self._auxiliary,
            "excluded": self._excluded,
            "matched": self._matched.tolist(),
            "intervals": {str(f): sorted(v) for f, v in self._intervals.items()},
            "binning": [name for name in BINNING if any(piece.any() for piece in self._pieces[name])],
            **self._z,
        }
