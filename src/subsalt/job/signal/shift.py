"""`shift`: traces in time; positive is later.

One of

- `time`: the same for all;
- `headers`: the sum of statics in the trace headers, ``source_static``, ``receiver_static`` and ``total_static``
  (bytes 99,
  101, 103; ms times the scalar of byte 215), which are added to the times of a trace;
- `table`: a CSV with the columns shot,time or shot,channel,time, in s; shot is the field record number;
- `statics`: those of source and receiver in the files of `[data.geometry]` (SPS), added to the times of a trace;
- `datum` and `velocity`: sources and receivers are moved to one elevation by a replacement velocity,
  ``-((E_s - datum) + (E_r - datum)) / velocity``; a source counts at its depth below the surface.

Fractions of a sample are interpolated by a windowed sinc, exact to 1e-5 below 0.9 of the Nyquist frequency. Samples
that are shifted out of the record are lost, and zeros are shifted in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.io.segy.geometry import GEOMETRY_STATIC
from subsalt.job.csv_tables import read_table, table_names
from subsalt.job.signal.step import Headers, Resolve, Step, TraceOperator, Traces
from subsalt.job.units import Length, Time, Velocity
from subsalt.numerics.interpolation import shifted

#: missing shots that a message names
NAMED = 5

Static = Literal["source_static", "receiver_static", "total_static"]


class Shift(Step):
    """Shift traces in time."""

    title = "shift"
    moves = True

    step: Literal["shift"] = Field(description="shift of traces in time, positive: later")
    time: Time | None = Field(None, description="the same for all traces")
    headers: list[Static] | None = Field(
        None, description="sum of these statics in the trace headers (bytes 99, 101, 103)"
    )
    table: str | None = Field(None, description="CSV with the columns shot,time or shot,channel,time, in s")
    statics: Literal["geometry"] | None = Field(
        None, description="static corrections of sources and receivers in the files of [data.geometry]"
    )
    datum: Length | None = Field(
        None, description="elevation, positive up, to which sources and receivers are moved"
    )
    velocity: Velocity | None = Field(None, description="with datum: replacement velocity")

    @model_validator(mode="after")
    def _one_source(self) -> Shift:
        sources = {
            "time": self.time,
            "headers": self.headers,
            "table": self.table,
            "statics": self.statics,
            "datum": self.datum,
        }
        given = [name for name, value in sources.items() if value is not None]
        if len(given) != 1:
            raise ConfigError(
                f"shift has {' and '.join(given) or 'nothing to shift by'}",
                "give exactly one of time, headers, table, statics, datum; for two shifts write two steps",
                code="E104",
            )
        if (self.datum is None) != (self.velocity is None):
            raise ConfigError(
                "shift has "
                + ("datum, but no velocity" if self.velocity is None else "velocity, but no datum"),
                "a datum is reached by a replacement velocity: give both",
                code="E104",
            )
        if self.headers is not None and (not self.headers or len(set(self.headers)) < len(self.headers)):
            raise ConfigError(f"headers = {self.headers}", "name each static once", code="E104")
        if self.headers is not None and "total_static" in self.headers and len(self.headers) > 1:
            raise ConfigError(
                f"headers = {self.headers}: the total static holds those of source and receiver",
                'use ["total_static"], or ["source_static", "receiver_static"]',
                code="E104",
            )
        return self

    def operator(self, time: TimeAxis, resolve: Resolve) -> TraceOperator:
        """Return the shift of these records."""
        return Shifted(time, self, None if self.table is None else ShiftTable(resolve(self.table, "table")))

    def needs(self) -> tuple[str, ...]:
        """Return statics, heights, or what the columns of a table may need."""
        if self.headers is not None:
            return tuple(self.headers)
        if self.statics is not None:
            return (GEOMETRY_STATIC,)
        if self.datum is not None:
            return ("source_z", "receiver_z")
        return ("ffid", "channel") if self.table is not None else ()

    def files(self) -> dict[str, str]:
        """Return the table."""
        return {} if self.table is None else {"table": self.table}

    def label(self) -> str:
        """Return by what traces are shifted."""
        if self.time is not None:
            return f"shift {1e3 * self.time:+g} ms"
        if self.headers is not None:
            return f"shift by {' + '.join(self.headers)}"
        if self.statics is not None:
            return "shift by statics of the geometry files"
        if self.datum is not None:
            return f"shift to {self.datum:g} m at {self.velocity:g} m/s"
        return f"shift by {self.table}"


class ShiftTable:
    """Times by field record number, or by field record and channel number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.by_channel = "channel" in table_names(path)
        names = ("shot", "channel", "time") if self.by_channel else ("shot", "time")
        rows = read_table(path, names)
        key = self._key(rows[:, 0], rows[:, 1] if self.by_channel else np.zeros(len(rows)))
        order = np.argsort(key, kind="stable")
        self.key, self.time = key[order], rows[order, -1]
        twice = np.flatnonzero(np.diff(self.key) == 0)
        if len(twice):
            row = rows[order[twice[0] + 1]]
            raise ConfigError(
                f"{path}: {', '.join(f'{n} {v:g}' for n, v in zip(names[:-1], row, strict=False))} is there twice",
                "leave one line",
                code="E107",
            )

    @staticmethod
    def _key(shot: NDArray[Any], channel: NDArray[Any]) -> NDArray[np.int64]:
        return (shot.astype(np.int64) << 32) + channel.astype(np.int64)

    def _of(self, headers: Headers) -> NDArray[np.int64]:
        shot = headers.values["ffid"]
        return self._key(shot, headers.values["channel"] if self.by_channel else np.zeros(len(shot)))

    def shifts(self, headers: Headers) -> NDArray[np.float64]:
        """Return the times of traces, s."""
        return self.time[np.searchsorted(self.key, self._of(headers))]

    def refuse_missing(self, headers: Headers) -> None:
        """Raise when a trace has no line."""
        missing = ~np.isin(self._of(headers), self.key)
        if not missing.any():
            return
        if self.by_channel:
            pairs = np.unique(
                np.stack([headers.values["ffid"][missing], headers.values["channel"][missing]], axis=1),
                axis=0,
            )
            names, many = [f"shot {a:.0f} channel {b:.0f}" for a, b in pairs[:NAMED]], len(pairs)
            what = "pair" + "s" * (many != 1) + " of shot and channel"
        else:
            shots = np.unique(headers.values["ffid"][missing])
            names, many = [f"{s:.0f}" for s in shots[:NAMED]], len(shots)
            what = "shot" + "s" * (many != 1)
        more = f" and {many - NAMED} more" if many > NAMED else ""
        raise ConfigError(
            f"{self.path} lacks {many} {what} of the survey: {', '.join(names)}{more}",
            "add their lines, or leave these shots out",
            code="E795",
        )


class Shifted(TraceOperator):
    """Traces shifted, each by its own time."""

    def __init__(self, time: TimeAxis, step: Shift, table: ShiftTable | None) -> None:
        super().__init__(time)
        self.step, self.table = step, table

    def require(self, headers: Headers) -> None:
        """Raise when a table has no line for a trace of the survey, or no sample of a trace stays in the record."""
        if self.table is not None:
            self.table.refuse_missing(headers)
        by = self.seconds(headers)
        if not len(by):
            return
        low, high = float(by.min()), float(by.max())
        self.facts = {"from_s": low, "to_s": high}
        length = self.time.duration - self.time.t0
        if max(-low, high) > length:
            far = low if -low > high else high
            raise ConfigError(
                f"a trace is shifted by {far:.4g} s, out of its record of {length:.4g} s",
                "times of tables are in seconds; statics in headers are in ms times the scalar of byte 215: set "
                "[data.fix] time_scalar if that is wrong",
                code="E797",
            )
        if self.step.statics is not None and low == high == 0:
            raise ConfigError(
                "the files of [data.geometry] have no static corrections, or zero for all of these traces",
                "leave the step out, or give a table",
                code="E797",
            )
        if self.step.headers is not None and low == high == 0:
            raise ConfigError(
                f"{' and '.join(self.step.headers)} are zero in all headers (bytes 99, 101, 103)",
                "leave the step out, give a table, or say where the headers have them in [data.bytes]",
                code="E797",
            )

    def seconds(self, headers: Headers) -> NDArray[np.float64]:
        """Return by how much traces are shifted, s."""
        step = self.step
        if self.table is not None:
            return self.table.shifts(headers)
        out = np.zeros(len(headers))
        if step.time is not None:
            return out + step.time
        if step.headers is not None:
            for name in step.headers:
                out = out + headers.values[name]
            return out
        if step.statics is not None:
            return out + headers.values[GEOMETRY_STATIC]
        assert step.datum is not None
        assert step.velocity is not None
        # z is positive down: elevations are -z
        above = (-headers.values["source_z"] - step.datum) + (-headers.values["receiver_z"] - step.datum)
        return -above / step.velocity

    def apply(self, traces: Traces, headers: Headers) -> Traces:
        """Return the traces, shifted."""
        return shifted(traces, self.seconds(headers) / self.time.dt)

    def adjoint(self, traces: Traces, headers: Headers) -> Traces:
        """Return the transpose."""
        return shifted(traces, self.seconds(headers) / self.time.dt, transpose=True)
