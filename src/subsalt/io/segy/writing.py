"""Surveys to SEG-Y rev 1 (IEEE floats, full geometry headers) and to SU, and shots with positions of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.errors import DataError, SubsaltError
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.publish import make_folder
from subsalt.io.segy.rev1 import (
    Expectation,
    binary_header,
    choose_scalar,
    delay,
    microseconds,
    publish_traces,
    scaled,
    trace_rows,
)
from subsalt.io.segy.samples import encode_text
from subsalt.io.shared_file import write_together
from subsalt.parallel.comm import Comm

DataSource = Mapping[int, ArrayLike] | Callable[[Shot], ArrayLike] | None


class ShotRows:
    """The traces of shots of a survey as bytes, under two scalars that are chosen over all its stations.

    Parameters
    ----------
    survey : Survey
        Geometry and time axis.
    su : bool
        For SU, little-endian, in which bytes 181 to 240 have another use and are zero.
    """

    def __init__(self, survey: Survey, su: bool = False) -> None:
        self.survey, self.su = survey, su
        xy, z = [], []
        for shot in survey.shots:
            world = survey.frame.to_world(np.concatenate([shot.src[None], shot.rcv]))
            xy.append(np.unique(world[:, :2]))
            z.append(np.unique(world[:, 2]))
        self.xy = choose_scalar(np.unique(np.concatenate(xy)), "coordinates")
        self.z = choose_scalar(np.unique(np.concatenate(z)), "depths")

    def of(
        self, shot: Shot, data: NDArray[np.float32], first: int = 0, rows: NDArray[np.intp] | None = None
    ) -> NDArray[np.uint8]:
        """Return traces of one shot as bytes.

        Parameters
        ----------
        data : ndarray, (n, nt)
            Samples of the receivers `rows`, of all when None.
        first : int
            Traces of other shots before this one.
        """
        n, ns = data.shape
        survey = self.survey
        index = np.arange(n) if rows is None else np.asarray(rows)
        raw, t = trace_rows(n, ns, "little" if self.su else "big")
        src = survey.frame.to_world(shot.src[None])[0]
        rcv = survey.frame.to_world(shot.rcv[index])
        t["line_sequence"] = t["file_sequence"] = first + index + 1
        t["ffid"] = t["source_point"] = t["shot_point"] = shot.id
        t["channel"] = t["ensemble_sequence"] = index + 1
        t["trace_id"], t["use"] = 1, 1
        t["offset"] = _offsets(survey, shot)[index]
        t["elevation_scalar"], t["coordinate_scalar"], t["coordinate_units"] = self.z, self.xy, 1
        t["source_x"], t["source_y"] = (scaled(src[i : i + 1], self.xy)[0] for i in (0, 1))
        t["receiver_x"], t["receiver_y"] = scaled(rcv[:, 0], self.xy), scaled(rcv[:, 1], self.xy)
        t["receiver_elevation"] = -scaled(rcv[:, 2], self.z)
        depth = int(scaled(src[2:3], self.z)[0])
        # a source above the datum is a surface elevation, never a negative depth
        t["source_depth"], t["source_elevation"] = max(depth, 0), max(-depth, 0)
        middle = 0.5 * (src[:2] + rcv[:, :2])
        t["cdp_x"], t["cdp_y"] = scaled(middle[:, 0], self.xy), scaled(middle[:, 1], self.xy)
        t["delay"], t["time_scalar"] = delay(survey.time.t0)
        t["ns"], t["dt"] = ns, microseconds(survey.time.dt)
        t["shot_point_scalar"] = 1
        t["samples"] = data
        if self.su:
            raw[:, 180:240] = 0
        return raw

    def text(self, lines: Sequence[str]) -> bytes:
        """Return the textual header, with more lines."""
        survey, time = self.survey, self.survey.time
        n = sum(len(s.rcv) for s in survey.shots)
        return encode_text(
            [
                "SHOT RECORDS WRITTEN BY SUBSALT. SEG-Y REV 1, IEEE FLOAT (5), METRES",
                f"SHOTS {len(survey.shots)}  TRACES {n}  SAMPLES {time.nt}  INTERVAL {time.dt * 1e3:g} MS",
                f"FIRST SAMPLE AT {time.t0 * 1e3:g} MS",
                "BYTES: FFID 9, CHANNEL 13, SHOT 17, OFFSET 37 (M), SOURCE X 73, Y 77,",
                "RECEIVER X 81, Y 85, RECEIVER ELEVATION 41 (UP), SOURCE DEPTH 49 (DOWN),",
                "SOURCE ELEVATION 45 (UP), MIDPOINT X 181, Y 185",
                f"SCALARS: COORDINATES (71) {self.xy}, ELEVATIONS AND DEPTHS (69) {self.z}",
                *lines,
            ]
        )


def _offsets(survey: Survey, shot: Shot) -> NDArray[np.int32]:
    """Return source-receiver distances in whole metres; signed along a 2-D line."""
    offset = shot.rcv[:, 0] - shot.src[0] if survey.ndim == 2 else shot.offset
    return np.round(offset).astype(np.int32)


def _samples(survey: Survey, shot: Shot, data: DataSource) -> NDArray[np.float32]:
    if data is None:
        d = survey.traces(shot)
    elif callable(data):
        d = np.asarray(data(shot), dtype=np.float32)
    elif shot.id in data:
        d = np.asarray(data[shot.id], dtype=np.float32)
    else:
        raise DataError(f"no data for shot {shot.id}", "give the traces of every shot", code="E272")
    if d.shape != (len(shot.rcv), survey.time.nt):
        raise DataError(
            f"shot {shot.id}: data have shape {d.shape}, receivers and samples say "
            f"{(len(shot.rcv), survey.time.nt)}",
            "order data as (receiver, sample)",
            code="E272",
        )
    if not np.isfinite(d).all():
        raise DataError(f"shot {shot.id}: samples are not finite", "look for what made them", code="E250")
    return d


def refuse_beyond_segy(survey: Survey) -> None:
    """Raise `DataError` for a survey without shots, or with a time axis that SEG-Y cannot hold."""
    if not survey.shots:
        raise DataError("the survey has no shots", "select at least one", code="E272")
    if survey.time.nt > 65535:
        raise DataError(
            f"{survey.time.nt} samples per trace; SEG-Y rev 1 holds at most 65535",
            "write RSF or NumPy",
            code="E273",
        )
    microseconds(survey.time.dt)
    delay(survey.time.t0)


def write_survey(
    path: str | os.PathLike[str],
    survey: Survey,
    data: DataSource = None,
    *,
    per_shot: bool | None = None,
    text: Sequence[str] = (),
) -> list[Path]:
    """Write a survey as SEG-Y rev 1 or, for names ending in ``.su``, as SU.

    Parameters
    ----------
    path : path-like
        A file for all shots, or a folder (made when missing) for one file per shot, ``shot_000001.sgy``.
    survey : Survey
        Geometry and time axis; positions are written in map coordinates (`survey.frame`).
    data : mapping, callable or None
        Traces (nr, nt) by shot id or as ``data(shot)``; `Survey.traces` when None. One shot is held at a
        time.
    per_shot : bool, optional
        One file per shot; by default when `path` has no suffix or is a folder.
    text : sequence of str
        More lines for the textual header.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    DataError, GeometryError
        When SEG-Y cannot hold the time axis, the positions or the data.
    DiskError, CannotCreateError
        When a file cannot be written; no half-written file remains.
    """
    refuse_beyond_segy(survey)
    target = Path(path)
    if per_shot is None:
        per_shot = target.is_dir() or target.suffix == ""
    if not per_shot:
        _write_file(target, ShotRows(survey, target.suffix.lower() == ".su"), survey.shots, data, text)
        return [target]
    make_folder(target)
    rows = ShotRows(survey)
    out = []
    for shot in survey.shots:
        name = target / f"shot_{shot.id:06d}.sgy"
        _write_file(name, rows, [shot], data, text)
        out.append(name)
    return out


def _write_file(path: Path, rows: ShotRows, shots: list[Shot], data: DataSource, text: Sequence[str]) -> None:
    """Write some shots of a survey, which are held one at a time."""
    survey, counts = rows.survey, [len(s.rcv) for s in shots]
    ns, interval = survey.time.nt, microseconds(survey.time.dt)
    head = b"" if rows.su else rows.text(text) + binary_header(ns, interval, max(counts), sorting=1)

    def blocks() -> Iterator[NDArray[np.uint8]]:
        first = 0
        for shot in shots:
            yield rows.of(shot, _samples(survey, shot, data), first)
            first += len(shot.rcv)

    publish_traces(path, head, blocks(), Expectation(rows.su, sum(counts), ns, interval))


@dataclass(frozen=True)
class OwnTraces:
    """The traces of one shot that this rank has.

    Parameters
    ----------
    rows : ndarray, (n,)
        Their receivers; every receiver is among those of one rank.
    samples : ndarray, (n, nt), float32
        Their samples.
    comm : Comm
        The ranks that write.
    """

    rows: NDArray[np.intp]
    samples: NDArray[np.float32]
    comm: Comm


def write_shot(
    path: str | os.PathLike[str], survey: Survey, shot: Shot, own: OwnTraces, *, text: Sequence[str] = ()
) -> None:
    """Write one shot as SEG-Y, every rank some receivers; the bytes are those of `write_survey`. Collective.

    Parameters
    ----------
    path : path-like
        The file.
    survey : Survey
        Time axis, dimension and frame; its shots do not count.
    shot : Shot
        Positions of all receivers.
    own : OwnTraces
        Traces of this rank.
    text : sequence of str
        More lines for the textual header.

    Raises
    ------
    DataError, GeometryError
        On all ranks, when SEG-Y cannot hold the time axis, the positions or the data.
    """
    one, comm, index = replace(survey, shots=[shot]), own.comm, own.rows
    failure = None
    try:
        refuse_beyond_segy(one)
        rows = ShotRows(one)
        if not np.isfinite(own.samples).all():
            raise DataError(f"shot {shot.id}: samples are not finite", "look for what made them", code="E250")
    except SubsaltError as error:
        failure = error
    comm.agree(failure)
    nr, ns, interval = len(shot.rcv), survey.time.nt, microseconds(survey.time.dt)
    block = rows.of(shot, own.samples, rows=index)
    head = rows.text(text) + binary_header(ns, interval, nr, sorting=1)
    expected = Expectation(False, nr, ns, interval)
    first, last = (next((block[i] for i in np.flatnonzero(index == n)), None) for n in (0, nr - 1))
    expected.gather(first, last, comm)
    # runs of neighbours are one write
    breaks = np.nonzero(np.diff(index) != 1)[0] + 1
    with write_together(path, comm, len(head) + nr * block.shape[1], verify=expected.check) as f:
        if comm.is_root:
            f.write_at(0, head)
        for lo, hi in pairwise([0, *breaks, len(index)]):
            if hi > lo:
                f.write_at(len(head) + int(index[lo]) * block.shape[1], raw_bytes(block[lo:hi]))
