"""Layout, header values and positions of one SEG-Y or SU file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subsalt.io.files import InputFile
from subsalt.io.segy.exclude import excluded
from subsalt.io.segy.geometry import POSITION_NAMES, TracePositions, column, positions, trace_kinds
from subsalt.io.segy.headers import PRESETS, FileLayout, Fix, HeaderBytes
from subsalt.io.segy.layout import find_layout
from subsalt.io.segy.sampling import settle_dt
from subsalt.io.segy.trace_headers import read_headers


@dataclass
class ScannedFile:
    """Layout and header values of one file, or of some of its traces; `matched` are the exclusions that apply here."""

    layout: FileLayout
    values: dict[str, NDArray]
    positions: TracePositions
    dead: NDArray[np.bool_]
    auxiliary: NDArray[np.bool_]
    excluded: NDArray[np.bool_]
    matched: NDArray[np.bool_]
    header: HeaderBytes = field(default_factory=HeaderBytes)

    @classmethod
    def of(
        cls,
        layout: FileLayout,
        values: dict[str, NDArray],
        header: HeaderBytes,
        fix: Fix,
        number: NDArray[np.int64] | None = None,
    ) -> ScannedFile:
        """Return what header values say under `fix`; `number` are the traces in the file, all when left out."""
        n = layout.n_traces
        dead, auxiliary = trace_kinds(values, n, fix)
        out, matched = excluded(
            fix.exclude,
            layout.path,
            np.arange(n) if number is None else number,
            column(values, "ffid", n),
            column(values, "channel", n),
        )
        return cls(layout, values, positions(values, layout, fix), dead, auxiliary, out, matched, header)

    @property
    def live(self) -> NDArray[np.bool_]:
        """Traces that are neither dead nor auxiliary, and not left out."""
        return ~(self.dead | self.auxiliary | self.excluded)


def open_headers(
    file: InputFile, header: HeaderBytes, fix: Fix, names: Iterable[str] = POSITION_NAMES
) -> ScannedFile:
    """Read layout and the named header values of one file."""
    layout = find_layout(file, header, fix)
    header = header_for(layout, header)
    values = read_headers(file, layout, header, list(names))
    settle_dt(layout, header, [int(v) for v in np.unique(column(values, "dt", layout.n_traces))[:1000]])
    return ScannedFile.of(layout, values, header, fix)


def header_for(layout: FileLayout, header: HeaderBytes) -> HeaderBytes:
    """Return the bytes that fit the kind of file: SU has no rev 1 fields after byte 180, unless told
    otherwise.
    """
    return PRESETS["su"] if layout.kind == "su" and header == HeaderBytes() else header
