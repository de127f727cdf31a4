"""`edit`: zero traces that meet a condition, or change their sign.

A condition is one or several of these, joined by ``and``:

- ``ffid in 12,17,20-25``: a header value in a list of numbers and ranges. `NAMES` are known, and ``offset`` (m).
- ``offset > 3000``, ``channel = 7``, ``cdp != 12``: a header value against a number.
- ``rms > 0.5``, ``peak < 1e-9``: the root of the mean square, or the largest absolute value, of the trace as it comes
  in.
  With `band`, of the trace between two frequencies.
- ``rms > 20*median``: against that of its shot: the median over all traces of the shot (of the survey; of the field
  record
  in a time migration) that are not zero throughout, as they come into this step.

A trace that is zeroed stays in the survey. What is edited is listed with its reason in the report.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.job.data_sections import parse_ranges
from subsalt.job.signal.step import Headers, Marked, Resolve, Step, TraceOperator, Traces
from subsalt.job.units import NonNegativeFrequency
from subsalt.numerics import fixedmath
from subsalt.numerics.filters import Filter, convolve, zero_phase

#: header values that a condition may name
NAMES = ("ffid", "channel", "source_point", "cdp", "trace_id", "inline", "crossline", "offset")
MEASURES = ("rms", "peak")
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_IN = re.compile(r"^(\w+)\s+in\s+([\d\s,:-]+)$", re.IGNORECASE)
_COMPARE = re.compile(
    r"^(\w+)\s*(<=|>=|!=|<|>|==?)\s*([-+]?[\d.]+(?:e[-+]?\d+)?)\s*(\*\s*median)?$", re.IGNORECASE
)


@dataclass(frozen=True)
class Term:
    """One comparison of a condition.

    Parameters
    ----------
    name : str
        Header value or measure.
    sign : str
        Key of `COMPARED`; ``in`` for `ranges`.
    number : float
        Number to compare with, a factor of the median where `median`.
    ranges : tuple of (first, last, step)
        Ranges of ``in``.
    """

    name: str
    sign: str
    number: float = 0.0
    median: bool = False
    ranges: tuple[tuple[int, int, int], ...] = ()

    @property
    def of_samples(self) -> bool:
        """Whether it looks at the samples of traces."""
        return self.name in MEASURES

    def met(self, values: NDArray[Any], median: float = 1.0) -> NDArray[np.bool_]:
        """Return for which values it holds."""
        if self.sign == "in":
            holds = np.zeros(len(values), bool)
            for first, last, step in self.ranges:
                holds |= (values >= first) & (values <= last) & ((values - first) % step == 0)
            return holds
        against = self.number * median if self.median else self.number
        found_: NDArray[np.bool_] = COMPARED[self.sign](values, against)
        return found_


def parse(text: str) -> tuple[Term, ...]:
    """Return the comparisons of a condition.

    Raises
    ------
    ConfigError
        When it cannot be understood.
    """
    return tuple(
        _term(part.strip(), text) for part in re.split(r"\s+and\s+", text.strip(), flags=re.IGNORECASE)
    )


def _term(part: str, text: str) -> Term:
    listed, compared = _IN.match(part), _COMPARE.match(part)
    name = (listed or compared or re.match(r"(\w*)", part))[1].lower()  # type: ignore[index]
    if name and name not in NAMES + MEASURES:
        raise ConfigError(
            f"condition {text!r}: {name!r} is neither a header value nor a measure of samples",
            f"known here: {', '.join(NAMES + MEASURES)}",
            code="E796",
        )
    if listed and name in NAMES:
        return Term(name, "in", ranges=tuple(parse_ranges(listed[2])))
    if compared:
        median = compared[4] is not None
        if not median or name in MEASURES:
            return Term(name, compared[2].replace("==", "="), float(compared[3]), median)
    raise ConfigError(
        f"condition {text!r} cannot be understood" + (f" at {part!r}" if part != text.strip() else ""),
        'write "ffid in 12,17", "offset > 3000", "rms > 20*median", or several joined by "and"',
        code="E796",
    )


class Edit(Step):
    """Zero traces that meet a condition, or change their sign."""

    title = "edit"

    step: Literal["edit"] = Field(description="zero traces, or change their sign, by a condition")
    do: Literal["kill", "reverse"] = Field("kill", description="zero these traces, or change their sign")
    where: str = Field(
        description='which: "ffid in 12,17", "offset > 3000", "rms > 20*median" (of the shot); joined by "and"'
    )

    band: list[NonNegativeFrequency] | None = Field(
        None,
        description="compute rms and peak between these two frequencies, Hz; default: the whole band",
    )

    @model_validator(mode="after")
    def _readable(self) -> Edit:
        terms = parse(self.where)
        band = self.band
        if band is not None and (len(band) != 2 or not band[0] < band[1]):
            raise ConfigError(
                f"band = {band} Hz", "give two frequencies that grow, such as [0, 5]", code="E796"
            )
        if band is not None and not any(t.of_samples for t in terms):
            raise ConfigError(
                f"band = {band} Hz, and {self.where!r} does not look at samples",
                'leave band out, or write a condition such as "rms > 5*median"',
                code="E796",
            )
        return self

    @property
    def in_band(self) -> str:
        """The band in words; empty without one."""
        return "" if self.band is None else f" from {self.band[0]:g} to {self.band[1]:g} Hz"

    @property
    def terms(self) -> tuple[Term, ...]:
        """The comparisons of the condition."""
        return parse(self.where)

    def operator(self, time: TimeAxis, resolve: Resolve) -> TraceOperator:
        """Return the edit of these records."""
        if self.band is not None and self.band[1] > 0.5 / time.dt:
            raise ConfigError(
                f"band = {self.band} Hz reaches above the Nyquist frequency of {0.5 / time.dt:g} Hz "
                f"(samples every {1e3 * time.dt:g} ms)",
                f"use frequencies up to {0.5 / time.dt:g} Hz",
                code="E796",
            )
        return Edited(time, self)

    def needs(self) -> tuple[str, ...]:
        """Return the header values of the condition."""
        return tuple(dict.fromkeys(t.name for t in self.terms if not t.of_samples and t.name != "offset"))

    def label(self) -> str:
        """Return the action and its condition."""
        does = "zero traces" if self.do == "kill" else "reverse traces"
        return f"{does} where {self.where}{self.in_band}"


class Edited(Marked):
    """Traces that meet a condition, zeroed or with their sign changed."""

    def __init__(self, time: TimeAxis, step: Edit) -> None:
        super().__init__(time)
        self.step, self.terms = step, step.terms
        self.of_gathers = any(t.of_samples for t in self.terms)
        self.does, self.reason = step.do, step.where + step.in_band

    @cached_property
    def _band(self) -> Filter | None:
        """The filter before traces are measured, None without one."""
        if self.step.band is None:
            return None
        low, high = self.step.band

        def amplitude(f: NDArray[np.float64]) -> NDArray[np.float64]:
            """Return one in the band, and half cosines over a quarter of its corners beside it."""
            up = np.ones_like(f) if low == 0 else np.clip((f / low - 0.75) / 0.25, 0.0, 1.0)
            down = np.clip((f / high - 1.0) / 0.25, 0.0, 1.0)
            return (0.5 - 0.5 * fixedmath.cos(fixedmath.PI * up)) * (
                0.5 + 0.5 * fixedmath.cos(fixedmath.PI * down)
            )

        return zero_phase(amplitude, self.time.nt, self.time.dt)

    def by_headers(self, headers: Headers) -> NDArray[np.bool_]:
        """Return which traces meet what the condition says of headers."""
        met = np.ones(len(headers), bool)
        for term in self.terms:
            if not term.of_samples:
                met &= term.met(headers.offset if term.name == "offset" else headers.values[term.name])
        return met

    def require(self, headers: Headers) -> None:
        """Raise when no trace of the survey, or every one, meets what the condition says of headers."""
        if all(t.of_samples for t in self.terms) or not len(headers):
            return
        met = self.by_headers(headers)
        what = f"{self.step.where!r}"
        if not met.any():
            raise ConfigError(
                f"{what} is true of no trace", "correct the condition, or leave the step out", code="E796"
            )
        if met.all() and self.step.do == "kill" and not self.of_gathers:
            raise ConfigError(
                f"{what} is true of all {len(met)} traces: nothing would be left",
                "correct the condition",
                code="E796",
            )

    def measure(self, traces: Traces) -> dict[str, NDArray[np.float64]]:
        """Return rms and peak of each trace, or of its band, (n,) each."""
        nt = traces.shape[1]
        if self._band is not None:
            traces = convolve(traces.astype(np.float64), self._band)
        rms = np.array([np.sqrt(fixedmath.dot(x, x) / nt) for x in traces.astype(np.float64)])
        return {"rms": rms, "peak": np.abs(traces).max(axis=1, initial=0.0).astype(np.float64)}

    def marks(self, measured: dict[str, NDArray[np.float64]], headers: Headers) -> NDArray[np.int8]:
        """Return 1 for the traces of one shot that meet the condition, 0 for the others.

        Parameters
        ----------
        measured : dict
            Result of `measure` for all its traces.
        headers : Headers
            Headers of all its traces.
        """
        met = self.by_headers(headers)
        live = measured["peak"] > 0
        for term in self.terms:
            if term.of_samples:
                values = measured[term.name]
                median = float(np.median(values[live])) if live.any() else 0.0
                met &= term.met(values, median)
        return met.astype(np.int8)

    def edited(self, headers: Headers) -> NDArray[np.bool_]:
        """Return which traces are edited, by the marks of the step where samples decide."""
        return headers.marks[self.place] > 0 if self.of_gathers else self.by_headers(headers)

    def apply(self, traces: Traces, headers: Headers) -> Traces:
        """Return the traces, edited."""
        met = self.edited(headers)
        out = traces.copy()
        if self.step.do == "kill":
            out[met] = 0
        else:
            np.negative(out, out=out, where=met[:, None])
        return out

    def adjoint(self, traces: Traces, headers: Headers) -> Traces:
        """Return the transpose: the edit itself, at the marks that the samples of the data gave."""
        return self.apply(traces, headers)
