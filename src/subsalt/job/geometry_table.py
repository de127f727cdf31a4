"""Geometry of recorded shots from CSV tables, for files whose trace headers do not hold it.

Traces are told apart by field record and channel number; the tables say where these stand.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.line import fit_stations, line_facts, settled, to_local
from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Frame
from subsalt.errors import GeometryError
from subsalt.job.tables import read_table


def numbered_headers(header: Any, fix: Any) -> tuple[Any, Any]:
    """Return header bytes and fixes under which the field record reads as source x and the channel as
    receiver x.
    """
    moved = replace(header, source_x=header.ffid, source_y=0, receiver_x=header.channel, receiver_y=0)
    plain = replace(fix, scalar=1, unit="m", swap_xy=False)
    return replace(moved, coordinate_units=0), plain


def place(
    survey: Survey,
    sources: Path,
    receivers: Path,
    ndim: int | None = None,
    frame: Frame | None = None,
    *,
    line: str = "project",
    exact: bool = False,
) -> Survey:
    """Return a survey read with `numbered_headers`, its numbers replaced by the positions of the tables.

    Parameters
    ----------
    survey : Survey
        Source x holds field records, receiver x channels.
    sources, receivers : Path
        ``shot,sx,sy,sz`` and ``shot,chan,gx,gy,gz``, map coordinates in metres, z positive down.
    ndim : {2, 3}, optional
        2-D when the positions lie near a line, unless told.
    frame : Frame, optional
        Local coordinates to use.
    line : {"project", "x", "y"}
        2-D without a frame: local x runs along the best line, or is map x or map y.
    exact : bool
        Only a line that lies on map x to the last digit keeps map x as local x.

    Raises
    ------
    GeometryError
        When a trace has no position in the tables.
    """
    src_at = {int(r[0]): r[1:] for r in read_table(sources, ("shot", "sx", "sy", "sz"))}
    rcv_at = {
        (int(r[0]), int(r[1])): r[2:] for r in read_table(receivers, ("shot", "chan", "gx", "gy", "gz"))
    }
    shots = [_placed(shot, src_at, rcv_at, sources, receivers) for shot in survey.shots]
    src, rcv = np.stack([s.src for s in shots]), np.concatenate([s.rcv for s in shots])
    fit = fit_stations(src, rcv, exact)
    dims, frame, says = settled(src, fit, ndim, line, frame)
    notes = {**survey.notes, "positions": "tables"}
    if dims == 2:
        notes["line"] = line_facts(src, rcv, fit, frame, says)
    local = [
        replace(s, src=_local(s.src[None], frame, dims)[0], rcv=_local(s.rcv, frame, dims)) for s in shots
    ]
    return replace(survey, shots=local, ndim=dims, frame=frame, notes=notes)


def _placed(
    shot: Shot,
    src_at: dict[int, NDArray[np.float64]],
    rcv_at: dict[tuple[int, int], NDArray[np.float64]],
    sources: Path,
    receivers: Path,
) -> Shot:
    """Return the shot with the positions of its field record and channels."""
    record = round(shot.src[0])
    if record not in src_at:
        raise GeometryError(
            f"{sources} has no shot {record}", "add its line, or leave the shot out", code="E307"
        )
    channels = [round(c) for c in shot.rcv[:, 0]]
    missing = [c for c in channels if (record, c) not in rcv_at]
    if missing:
        there = [c for r, c in rcv_at if r == record]
        ranges = f"channels {min(there)} to {max(there)}" if there else "none"
        cure = "add their lines, or leave the shot out"
        shift = min(there) - min(channels) if there else 0
        if shift and all((record, c + shift) in rcv_at for c in channels):
            cure = (
                f"channels are counted from {min(channels)} in the headers (byte 13) and from {min(there)} in the "
                f"table: number one as the other; else {cure}"
            )
        raise GeometryError(
            f"{receivers} has no position for {len(missing)} channels of shot {record}, first {missing[0]}: the "
            f"headers (byte 13) have channels {min(channels)} to {max(channels)}, the table {ranges}",
            cure,
            code="E308",
        )
    return replace(shot, src=src_at[record], rcv=np.stack([rcv_at[record, c] for c in channels]))


def _local(points: NDArray[np.float64], frame: Frame, ndim: int) -> NDArray[np.float64]:
    out = np.array(to_local(points, frame))
    if ndim == 2:
        out[:, 1] = 0.0
    return out
