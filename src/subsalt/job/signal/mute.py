"""`mute`: zero parts of the traces, with a smooth edge.

================  ==========================================================================
kind              edge, at horizontal offset x
================  ==========================================================================
``linear``        delay + x / velocity
``hyperbolic``    delay + sqrt(t0^2 + (x / velocity)^2): a direct wave or a reflection
``table``         linear between pairs of offset and time, constant outside
``polygons``      closed polygons in offset and time, from a file; what lies inside is zeroed
``first-breaks``  delay + a line behind the first breaks of the survey (`subsalt.job.signal.first_break_edge`)
================  ==========================================================================

`side` says which side of the edge goes. The ramp is the polynomial 3 x^2 - 2 x^3 over `taper`, beside what is zeroed:
it needs no cosine, whose last bit depends on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, model_validator

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.job.csv_tables import read_table
from subsalt.job.signal.step import CHUNK, Headers, Resolve, Step, Weighted
from subsalt.job.units import NonNegativeLength, NonNegativeTime, Time, Velocity
from subsalt.numerics.fixedmath import ramp

if TYPE_CHECKING:
    from subsalt.job.signal.first_break_edge import BreakEdge

#: columns of a file of polygons: offsets in m, times in s
COLUMNS = ("polygon", "offset", "time")
#: keys of each kind: those it needs, those it may have
KEYS: dict[str, tuple[set[str], set[str]]] = {
    "linear": ({"velocity"}, {"delay", "side"}),
    "hyperbolic": ({"velocity"}, {"delay", "t0", "side"}),
    "table": ({"offsets", "times"}, {"side"}),
    "polygons": ({"file"}, set()),
    "first-breaks": (set(), {"delay"}),
}
#: the kind whose edge is measured on the traces
FIRST_BREAKS = "first-breaks"


class Mute(Step):
    """Zero samples before or after an edge in offset and time."""

    title = "mute"

    step: Literal["mute"] = Field(description="zero parts of the traces")
    kind: Literal["linear", "hyperbolic", "table", "polygons", "first-breaks"] = Field(
        "linear",
        description="form of the edge; first-breaks: a line after the measured first arrivals (RTM)",
    )
    velocity: Velocity | None = Field(
        None, description="linear, hyperbolic: velocity of the edge over offset"
    )
    delay: Time = Field(0.0, description="linear, hyperbolic, first-breaks: time added to the edge")
    t0: NonNegativeTime = Field(0.0, description="hyperbolic: time at zero offset")
    offsets: list[NonNegativeLength] | None = Field(None, description="table: offsets, growing")
    times: list[Time] | None = Field(None, description="table: times of the edge at these offsets")
    file: str | None = Field(None, description="polygons: CSV with the columns polygon,offset,time, m and s")
    side: Literal["above", "below"] = Field("above", description="zero samples before or after the edge")
    taper: NonNegativeTime = Field(0.1, description="length of the smooth ramp next to the zeroed samples")

    _edge: BreakEdge | None = PrivateAttr(None)

    @property
    def measured(self) -> BreakEdge | None:
        """The edge that was measured, of kind first-breaks."""
        return self._edge

    @model_validator(mode="after")
    def _keys_of_the_kind(self) -> Mute:
        need, may = KEYS[self.kind]
        fields = type(self).model_fields
        given = {k for k, f in fields.items() if getattr(self, k) != f.default} - {"step", "kind", "taper"}
        if missing := sorted(need - given):
            raise ConfigError(
                f"mute of kind {self.kind} has no {' and no '.join(missing)}",
                f"give {', '.join(missing)}",
                code="E104",
            )
        if more := sorted(given - need - may):
            raise ConfigError(
                f"mute of kind {self.kind} has no use for {', '.join(more)}",
                "leave it out, or choose the kind that it is for",
                code="E104",
            )
        if self.offsets is not None and self.times is not None:
            if len(self.offsets) != len(self.times):
                raise ConfigError(
                    f"{len(self.offsets)} offsets, but {len(self.times)} times", "give pairs", code="E104"
                )
            if any(b <= a for a, b in zip(self.offsets, self.offsets[1:], strict=False)):
                raise ConfigError(f"offsets = {self.offsets} do not grow", "sort the pairs", code="E104")
        return self

    def behind(self, edge: BreakEdge) -> Mute:
        """Return the step with the edge that was measured; nothing is muted where first breaks are poor."""
        made = self.model_copy(update={"velocity": edge.velocity, "delay": self.delay + edge.delay})
        made._edge = edge
        return made

    def operator(self, time: TimeAxis, resolve: Resolve) -> Muting:
        """Return the mute of these records."""
        if self.kind == FIRST_BREAKS and self._edge is None:
            raise ConfigError(
                "a mute of kind first-breaks is measured on shots, for reverse time migration",
                'give kind = "linear" with velocity and delay',
                code="E104",
            )
        if self.file is not None:
            return Polygons(time, self, read_table(resolve(self.file, "file"), COLUMNS))
        return Edge(time, self)

    def edge(self, offset: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the time of the edge, s, at offsets, m."""
        if self.offsets is not None and self.times is not None:
            knots, values = np.array(self.offsets), np.array(self.times)
            if len(knots) == 1:
                return np.full(len(offset), values[0])
            i = np.clip(np.searchsorted(knots, offset, side="right") - 1, 0, len(knots) - 2)
            part = np.clip((offset - knots[i]) / (knots[i + 1] - knots[i]), 0.0, 1.0)
            return values[i] + part * (values[i + 1] - values[i])
        assert self.velocity is not None
        if self._edge is not None and self._edge.reason:
            return np.full(len(offset), -np.inf)
        way = offset / self.velocity
        if self.kind == "hyperbolic":
            return self.delay + np.sqrt(self.t0 * self.t0 + way * way)
        return self.delay + way

    def files(self) -> dict[str, str]:
        """Return the file of polygons."""
        return {} if self.file is None else {"file": self.file}

    def label(self) -> str:
        """Return the edge in words."""
        said = {
            "linear": f"{self.delay:g} s + x / {self.velocity or 0:g} m/s",
            "hyperbolic": f"hyperbola, {self.t0:g} s, {self.velocity or 0:g} m/s",
            "table": f"table of {len(self.offsets or [])} offsets",
            "polygons": f"polygons of {self.file}",
            "first-breaks": f"first breaks, {self.delay:g} s + x / {self.velocity or 0:g} m/s",
        }[self.kind]
        if self._edge is not None and self._edge.reason:
            return f"no mute: {self._edge.reason}"
        return f"mute {'' if self.kind == 'polygons' else self.side + ' '}{said}"


def _pieces(n: int) -> Iterator[slice]:
    """Yield slices of `n` traces, a few at a time: weights are as large as the traces, in double precision."""
    return (slice(a, a + CHUNK) for a in range(0, n, CHUNK))


class Muting(Weighted):
    """A mute of these records."""

    def audible_share(self, offset: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of samples of traces at these offsets that keep half of their amplitude or more, (n,)."""
        share = np.empty(len(offset))
        for rows in _pieces(len(offset)):
            share[rows] = (self.weights_at(offset[rows]) >= 0.5).mean(axis=1)
        return share

    def silences(self, traces: NDArray[np.float32], offset: NDArray[np.float64]) -> bool:
        """Return whether nothing but zeros is left of traces (n, nt) at these offsets."""
        return not any(
            (traces[rows][self.weights_at(offset[rows]) > 0] != 0).any() for rows in _pieces(len(offset))
        )

    def weights_at(self, offset: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights (n, nt) of traces at these offsets."""
        return self.weights(Headers(np.zeros(len(offset), np.int64), offset))


class Edge(Muting):
    """Samples on one side of a line of times are zeroed."""

    def __init__(self, time: TimeAxis, step: Mute) -> None:
        super().__init__(time)
        self.step = step

    def weights(self, headers: Headers) -> NDArray[np.float64]:
        """Return the weights, (n, nt)."""
        line, t = self.step.edge(headers.offset)[:, None], self.time.values()[None, :]
        late = t - line if self.step.side == "above" else line - t
        return ramp(late / self.step.taper) if self.step.taper > 0 else (late >= 0).astype(np.float64)

    def curves(self, headers: Headers) -> list[NDArray[np.float64]]:
        """Return the edge."""
        if self.step.measured is not None and self.step.measured.reason:
            return []
        return [self.step.edge(headers.offset)]


class Polygons(Muting):
    """Samples inside polygons are zeroed."""

    def __init__(self, time: TimeAxis, step: Mute, rows: NDArray[np.float64]) -> None:
        super().__init__(time)
        self.taper = step.taper
        self.polygons = [rows[rows[:, 0] == number, 1:] for number in np.unique(rows[:, 0])]
        for number, corners in zip(np.unique(rows[:, 0]), self.polygons, strict=True):
            if len(corners) < 3:
                raise ConfigError(
                    f"{step.file}: polygon {number:g} has {len(corners)} corners",
                    "give three or more, one per line, in order around it",
                    code="E107",
                )

    def weights(self, headers: Headers) -> NDArray[np.float64]:
        """Return the weights, (n, nt)."""
        t = self.time.values()[None, :]
        out = np.ones((len(headers), self.time.nt))
        for corners in self.polygons:
            crossings = self._crossings(corners, headers.offset)
            for first, last in zip(crossings[:, 0::2].T, crossings[:, 1::2].T, strict=True):
                outside = np.fmax(first[:, None] - t, t - last[:, None])
                weight = ramp(outside / self.taper) if self.taper > 0 else (outside > 0).astype(np.float64)
                out *= np.where(np.isnan(first)[:, None], 1.0, weight)
        return out

    def curves(self, headers: Headers) -> list[NDArray[np.float64]]:
        """Return the tops and bottoms of all polygons."""
        return [line for corners in self.polygons for line in self._crossings(corners, headers.offset).T]

    @staticmethod
    def _crossings(corners: NDArray[np.float64], offset: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the times (n, even) at which traces enter and leave a polygon, growing; NaN where there are fewer."""
        a, b = corners, np.roll(corners, -1, axis=0)
        x = offset[:, None]
        # an edge holds its smaller end and not its larger one: a corner counts once
        crossed = (x >= np.minimum(a[:, 0], b[:, 0])) & (x < np.maximum(a[:, 0], b[:, 0]))
        step = np.where(b[:, 0] == a[:, 0], 1.0, b[:, 0] - a[:, 0])
        t = np.where(crossed, a[:, 1] + (x - a[:, 0]) / step * (b[:, 1] - a[:, 1]), np.nan)
        t = np.sort(t, axis=1)
        most = int(crossed.sum(axis=1).max(initial=0))
        return t[:, :most]
