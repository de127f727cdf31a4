"""The survey: shots, receivers, traces and the time axis; always in local coordinates (x, y, z), z positive down.

The module also finds the part of the model that a shot needs, and refuses traces that are not finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.earth.grid import Box, Frame
from subsalt.earth.model_like import ModelLike
from subsalt.earth.topography import Topography
from subsalt.errors import DataError, GeometryError
from subsalt.extensions import library

if TYPE_CHECKING:
    import obspy
    import xarray


@dataclass(frozen=True)
class TimeAxis:
    """Samples of a record: `nt` samples, `dt` seconds apart, the first at `t0`."""

    nt: int
    dt: float
    t0: float = 0.0

    @property
    def duration(self) -> float:
        """Time of the last sample, s."""
        return self.t0 + (self.nt - 1) * self.dt

    def values(self) -> NDArray[np.float64]:
        """Return the sample times, s."""
        return self.t0 + self.dt * np.arange(self.nt, dtype=np.float64)


@dataclass
class Shot:
    """One source and the receivers that recorded it.

    Parameters
    ----------
    id : int
        Number of the shot in its survey (field record, or a running number); unique.
    src : ndarray, (3,), float64
        Source position x, y, z, m; y is 0 in 2-D.
    rcv : ndarray, (nr, 3), float64
        Receiver positions, m.
    data : ndarray, (nr, nt), float32, optional
        Recorded traces; None when they are still in a file (`Survey.traces` reads them) or to be modelled.
    trace_index : ndarray, (nr,), int64, optional
        Numbers of the traces in the survey's files, in order, for reading and for provenance.
    """

    id: int
    src: NDArray[np.float64]
    rcv: NDArray[np.float64]
    data: NDArray[np.float32] | None = None
    trace_index: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        self.src = _points(self.src).reshape(-1)
        self.rcv = _points(self.rcv).reshape(-1, 3)
        if self.src.shape != (3,):
            raise GeometryError(
                f"shot {self.id}: src has {self.src.size // 3} positions", "give one source per shot"
            )
        if self.data is not None:
            self.data = np.ascontiguousarray(self.data, dtype=np.float32)
            if self.data.ndim != 2 or self.data.shape[0] != len(self.rcv):
                raise GeometryError(
                    f"shot {self.id}: data have shape {self.data.shape} for {len(self.rcv)} receivers",
                    "give one row of samples per receiver",
                    code="E302",
                )

    @property
    def offset(self) -> NDArray[np.float64]:
        """Horizontal source-receiver distances, m, (nr,)."""
        d = self.rcv[:, :2] - self.src[:2]
        return np.sqrt(d[:, 0] ** 2 + d[:, 1] ** 2)


class TraceSource(Protocol):
    """A reader of the traces of a shot, from memory or files."""

    def __call__(self, shot: Shot, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the traces (len(rows), nt) of some receivers of a shot, of all when `rows` is None."""


@dataclass
class Survey:
    """Shots over one time axis.

    Parameters
    ----------
    shots : sequence of Shot
        Shots in the order in which their images are summed.
    time : TimeAxis
        The samples of every trace.
    ndim : int
        2: all y are zero (a line); 3 otherwise.
    frame : Frame
        Position of the local coordinates on the map.
    reader : callable, optional
        ``reader(shot, rows) -> (len(rows), nt) float32`` for shots whose data are still in a file; all receivers when
        `rows` is None.
    source_files : list of str
        Files the survey was read from.
    notes : dict
        Findings and decisions of the reader (projection misfit, skipped traces), for the report.
    surface : Topography, optional
        The free surface inside the model below which sources and receivers lie.
    """

    shots: list[Shot]
    time: TimeAxis
    ndim: int = 3
    frame: Frame = field(default_factory=Frame)
    reader: TraceSource | None = None
    source_files: list[str] = field(default_factory=list)
    notes: dict[str, object] = field(default_factory=dict)
    surface: Topography | None = None

    def __post_init__(self) -> None:
        ids = [s.id for s in self.shots]
        if len(set(ids)) != len(ids):
            twice = sorted({i for i in ids if ids.count(i) > 1})[:5]
            raise GeometryError(f"shot ids appear twice: {twice}", "give every shot its own id", code="E301")

    @classmethod
    def from_arrays(
        cls,
        src: ArrayLike,
        rcv: ArrayLike,
        *,
        nt: int,
        dt: float,
        t0: float = 0.0,
        data: ArrayLike | None = None,
    ) -> Survey:
        """Build a survey from positions.

        Parameters
        ----------
        src : array_like, (ns, 2) or (ns, 3)
            Source positions: (x, z) makes a 2-D survey, (x, y, z) a 3-D one; m.
        rcv : array_like, (nr, d) or (ns, nr, d)
            Receiver positions, shared by all shots or one set per shot; m.
        nt, dt, t0 : int, float, float
            Time axis.
        data : array_like, (ns, nr, nt), optional
            Recorded traces.
        """
        s = np.atleast_2d(np.asarray(src, dtype=np.float64))
        r = np.asarray(rcv, dtype=np.float64)
        ndim = s.shape[-1]
        if ndim not in (2, 3) or r.shape[-1] != ndim:
            raise GeometryError(
                f"src has {ndim} coordinates, rcv has {r.shape[-1]}", "use (x, z) or (x, y, z) for both"
            )
        if r.ndim == 2:
            r = np.broadcast_to(r, (len(s), *r.shape))
        if len(r) != len(s):
            raise GeometryError(
                f"{len(s)} sources but {len(r)} sets of receivers", "give one set per shot or one for all"
            )
        d = None if data is None else np.asarray(data, dtype=np.float32)
        if d is not None and d.shape != (len(s), r.shape[1], nt):
            raise GeometryError(
                f"data have shape {d.shape}, sources, receivers and nt say {(len(s), r.shape[1], nt)}",
                "order data as (shot, receiver, sample)",
                code="E302",
            )
        shots = [Shot(i + 1, s[i], r[i], None if d is None else d[i]) for i in range(len(s))]
        return cls(shots, TimeAxis(nt, dt, t0), ndim)

    def _repr_html_(self) -> str:
        return str(library("notebook_html").of_survey(self))

    def to_xarray(self) -> xarray.Dataset:
        """Return the survey as a dataset of xarray, with the names of MDIO.

        Returns
        -------
        xarray.Dataset
            ``amplitude`` (shot_point, channel, time) where there are traces, read from files where they are in files;
            positions ``source_coord_x``, ``group_coord_x`` and so on, local, in m. Where shots have unequal numbers of
            receivers, missing ones are NaN. `reader` and `notes` are left out.

        Raises
        ------
        DataError
            For a survey with a surface inside the model (E119).
        MissingInputError
            When xarray is not installed (E118).
        """
        dataset: xarray.Dataset = library("xarray_surveys").of_survey(self)
        return dataset

    @classmethod
    def from_xarray(cls, dataset: Any) -> Survey:
        """Return the survey of a dataset of xarray; the inverse of `to_xarray`, bit for bit.

        Parameters
        ----------
        dataset : xarray.Dataset or xarray.DataArray
            As `to_xarray` makes it; a gather selected from it will do. Without ``source_coord_y`` it is a 2-D survey.
            Receivers that all shots share may have the dimension channel alone. Time and positions state their units;
            ms and ft are converted.

        Raises
        ------
        DataError
            When a variable, coordinates or units are missing, or times are not evenly spaced (E119).
        MissingInputError
            When xarray is not installed (E118).
        """
        survey: Survey = library("xarray_surveys").to_survey(dataset)
        return survey

    def to_stream(self, *, segy_headers: bool = True) -> obspy.Stream:
        """Return the survey as a stream of ObsPy; ``stream.write(FILE, format="SEGY")`` writes its positions, too.

        Parameters
        ----------
        segy_headers : bool
            Give the traces the headers that `write_survey` writes, and the stream those of the file. Without them it
            may have any time axis.

        Returns
        -------
        obspy.Stream
            Copies of all traces, read where they are in files; traces without samples where there are none. Each has
            ``stats.geometry`` with ``shot``, ``source``, ``receiver`` (map coordinates x, y, z, m, z positive down) and
            ``origin_time``, the offset as ``stats.distance``, the number of the shot as station and of the receiver
            as channel. Time zero is 1970-01-01; times are kept to a nanosecond.

        Raises
        ------
        DataError, GeometryError
            When SEG-Y cannot hold time axis or positions (E270, E271, E273, E324), for a survey without shots (E272),
            or with a surface inside the model (E120).
        MissingInputError
            When ObsPy is not installed (E118).
        """
        stream: obspy.Stream = library("obspy_streams").of_survey(self, segy_headers)
        return stream

    @classmethod
    def from_stream(
        cls,
        stream: Any,
        *,
        ndim: Literal[2, 3] | None = None,
        frame: Frame | None = None,
        unit: Literal["m", "ft"] | None = None,
        delay: float | None = None,
    ) -> Survey:
        """Return the survey of a stream of ObsPy, its traces in memory.

        Parameters
        ----------
        stream : obspy.Stream
            Traces of equal sampling. Each has ``stats.geometry``, a mapping with ``source`` and ``receiver``, (x, y, z)
            or (x, z) on the map, m, z positive down, and perhaps ``shot`` and ``origin_time`` (a UTCDateTime; without
            it the first sample lies at the shot), or the headers of a SEG-Y or SU file, which are understood as
            `read_survey` understands them. Without samples (``headonly=True``) it gives a survey without traces.
        ndim : {2, 3}, optional
            2-D when all stations lie near a line (its width below 5 % of its length), unless told.
        frame : Frame, optional
            Local coordinates to use; 2-D lines are then projected on its x axis. See `read_survey`.
        unit : {"m", "ft"}, optional
            Unit of lengths in headers, instead of what the header of the file says. Streams that were selected or
            added have lost it, and are refused without.
        delay : float, optional
            Time of the first sample of all traces after their shot, s, instead of what headers and times say.

        Returns
        -------
        Survey
            Shots by ascending number; dead and auxiliary traces are left out. Samples are float32. The inverse of
            `to_stream`: with `ndim` and `frame` of the survey, positions come back to a micrometre, those of the
            identical frame and all samples with the same bits.

        Raises
        ------
        DataError
            When positions are missing, sampling is unequal, traces have gaps, or the first sample has no time after
            the shot (E120); when samples are not finite (E306).
        MissingInputError
            When ObsPy is not installed (E118).
        """
        survey: Survey = library("obspy_streams").to_survey(stream, ndim, frame, unit, delay)
        return survey

    def __len__(self) -> int:
        return len(self.shots)

    def __iter__(self) -> Iterator[Shot]:
        return iter(self.shots)

    def traces(self, shot: Shot, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the traces (nr, nt) of `shot`; reads them from the file when needed, and does not keep them.

        Parameters
        ----------
        shot : Shot
            Shot of this survey.
        rows : ndarray of int, optional
            Numbers of the receivers whose traces are wanted, from 0; nothing else is read. All when left out.
        """
        if shot.data is not None:
            return shot.data if rows is None else shot.data[rows]
        if self.reader is None:
            raise GeometryError(f"shot {shot.id} has no data", "model it first, or give data", code="E303")
        return self.reader(shot, rows)

    def select(self, ids: Sequence[int]) -> Survey:
        """Return the survey of the shots with these ids, in survey order."""
        want = set(ids)
        missing = want - {s.id for s in self.shots}
        if missing:
            raise GeometryError(
                f"no shot has id {sorted(missing)[:5]}", "`subsalt scan` lists the ids", code="E304"
            )
        return replace(self, shots=[s for s in self.shots if s.id in want])

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Smallest and largest x, y, z of all sources and receivers, m."""
        pts = np.concatenate([np.concatenate([s.src[None], s.rcv]) for s in self.shots])
        return pts.min(axis=0), pts.max(axis=0)


def _points(values: ArrayLike) -> NDArray[np.float64]:
    """Return positions as (n, 3): a missing y becomes 0."""
    a = np.array(values, dtype=np.float64, ndmin=2, copy=True)
    if a.shape[-1] == 2:
        a = np.stack([a[..., 0], np.zeros_like(a[..., 0]), a[..., 1]], axis=-1)
    if a.shape[-1] != 3 or not np.isfinite(a).all():
        raise GeometryError(
            f"positions have shape {a.shape} or are not finite", "use (x, z) or (x, y, z) in metres"
        )
    return a


def shot_window(model: ModelLike, shot: Shot, aperture: float | None) -> Box:
    """Return the model window of a shot: its sources and receivers plus the aperture on both sides in x and y.

    Parameters
    ----------
    aperture : float or None
        m; None takes the whole model.

    Raises
    ------
    GeometryError
        When the window does not meet the model.
    """
    shape = model.grid.shape3
    if aperture is None:
        return Box((0, 0, 0), shape)
    index = model.grid.to_index(np.concatenate([shot.src[None], shot.rcv]))
    lo, hi = [0, 0, 0], list(shape)
    for axis in (0, 1):
        if axis == 1 and model.grid.ndim == 2:
            continue
        reach = aperture / model.grid.spacing3[axis]
        lo[axis] = max(0, math.floor(float(index[:, axis].min()) - reach))
        hi[axis] = min(shape[axis], math.ceil(float(index[:, axis].max()) + reach) + 1)
        if hi[axis] <= lo[axis]:
            raise GeometryError(
                f"shot {shot.id} lies outside the model by more than the aperture of {aperture:g} m",
                "correct the coordinates, or leave the shot out",
                code="E320",
            )
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def refuse_bad_traces(traces: NDArray[np.floating], name: str, *, code: str = "E306") -> None:
    """Refuse traces with samples that are not finite.

    Parameters
    ----------
    traces : ndarray, (n, nt)
        Traces of one shot, or of a survey.
    name : str
        Owner of the traces for the message, such as ``shot 7``.

    Raises
    ------
    DataError
        Names the first such trace and sample, counted from 0.
    """
    good = np.isfinite(traces)
    if good.all():
        return
    bad = ~good.all(axis=1)
    row = int(np.argmax(bad))
    sample = int(np.argmin(good[row]))
    raise DataError(
        f"{name}: {int(bad.sum())} of {len(traces)} traces hold values that are not finite; the first is trace {row}, "
        f"{traces[row, sample]} at sample {sample}",
        "set such samples to zero, np.nan_to_num(traces, nan=0, posinf=0, neginf=0), or leave the traces out; "
        'in a job: [data] bad_traces = "zero"',
        code=code,
    )
