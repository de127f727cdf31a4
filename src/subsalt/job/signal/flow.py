"""The flow of a job: the steps of `[[signal]]` in the order written, made ready for one time axis.

Traces go through all steps a few at a time, so that what is between two steps stays small whatever block was read.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError, Finding, FindingsError, SubsaltError
from subsalt.job.signal.bandpass import Bandpass
from subsalt.job.signal.mute import Mute, Muting
from subsalt.job.signal.shift import Shifted
from subsalt.job.signal.step import CHUNK, Headers, Marked, Resolve, Step, TraceOperator, Traces

#: bytes of working memory per sample and trace of a chunk: a few arrays in double precision, and those of a transform
SCRATCH = 64
#: units of facts, by the end of their names
UNITS = {"s": "s", "hz": "Hz", "db": "dB"}
#: reads samples of traces by their place in a shot
Read = Callable[[NDArray[np.int64]], Traces]


def in_words(facts: Mapping[str, float]) -> str:
    """Return facts of a step as text: the end of a name is the unit of its value, as in ``largest_gain_db``."""
    out = []
    for name, value in facts.items():
        words, _, unit = name.rpartition("_")
        out.append(f"{words.replace('_', ' ')} {value:.4g} {UNITS[unit]}")
    return ", ".join(out)


class Flow:
    """Steps for traces of one time axis.

    Parameters
    ----------
    steps : sequence of Step
        Steps in order.
    time : TimeAxis
        Time axis of the traces as recorded.
    resolve : callable
        Returns the path of a file that a step names.
    short : bool
        The one step is that of `[data.mute]`.
    lines : sequence of int
        Where the steps are in the job file, for messages; 0 where that is not known.

    Attributes
    ----------
    out : TimeAxis
        Time axis of the traces that leave the last step.
    seconds : ndarray, (steps,)
        Processor time of each step so far in this process.
    sample : Headers or None
        Headers of a few traces of the survey, for `per_trace`.

    Raises
    ------
    FindingsError
        With all mismatches.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        time: TimeAxis,
        resolve: Resolve,
        *,
        short: bool = False,
        lines: Sequence[int] = (),
    ) -> None:
        self.steps, self.time, self.short, self.lines = tuple(steps), time, short, tuple(lines)
        self.resolve = resolve
        self.operators: list[TraceOperator] = []
        findings: list[Finding] = []
        for place, step in enumerate(self.steps):
            try:
                made = step.operator(time, resolve)
            except SubsaltError as error:
                findings.append(self._finding(place, error))
                continue
            if isinstance(made, Marked):
                made.place = place
            self.operators.append(made)
            time = made.out
        if findings:
            raise FindingsError(findings, exit_code=ConfigError.exit_code)
        self.out = time
        self.seconds = np.zeros(len(self.steps))
        self.sample: Headers | None = None

    def name(self, place: int) -> str:
        """Return the name of a step in messages."""
        return "[data.mute]" if self.short else f"[[signal]] {place + 1} ({self.steps[place].title})"

    def _finding(self, place: int, error: SubsaltError) -> Finding:
        line = self.lines[place] if place < len(self.lines) else 0
        where = self.name(place) + (f", line {line}" if line else "")
        evidence: dict[str, object] = {"step": place + 1, "line": line or None}
        return Finding(error.code, "error", f"{where}: {error.message}", error.fix, evidence)

    def needs(self) -> tuple[str, ...]:
        """Return the names of the header values that the steps need."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step.needs()))

    @property
    def looks_at_headers(self) -> bool:
        """Whether a step has something to refuse once it knows the headers of all traces."""
        return any(type(made).require is not TraceOperator.require for made in self.operators)

    def require(self, headers: Headers) -> None:
        """Raise `FindingsError` when steps do not fit the headers of all traces of a survey."""
        findings = []
        for place, made in enumerate(self.operators):
            try:
                made.require(headers)
            except SubsaltError as error:
                findings.append(self._finding(place, error))
        if findings:
            raise FindingsError(findings, exit_code=ConfigError.exit_code)

    @property
    def of_gathers(self) -> list[Marked]:
        """The steps that look at a shot as a whole before they act on its traces."""
        return [made for made in self.operators if isinstance(made, Marked) and made.of_gathers]

    @property
    def band_end(self) -> float | None:
        """Frequency above which a band-pass with corners lets nothing pass, Hz; None without one."""
        ends = [s.corners[3] for s in self.steps if isinstance(s, Bandpass) and s.corners is not None]
        return min(ends, default=None)

    @cached_property
    def moving(self) -> Flow | None:
        """The steps that move arrivals or change their band, on the time axis of the records; None for none."""
        steps = [step for step in self.steps if step.moves]
        try:
            return Flow(steps, self.time, self.resolve) if steps else None
        except FindingsError:
            # a band that only resampled traces have
            return None

    @cached_property
    def causal(self) -> Flow | None:
        """As `moving`, with causal filters for bands: those of zero phase begin before the arrival."""
        if self.moving is None:
            return None
        steps = [
            step.model_copy(update={"phase": "minimum"}) if isinstance(step, Bandpass) else step
            for step in self.moving.steps
        ]
        return Flow(steps, self.time, self.resolve)

    def looked_at(self, traces: Traces, headers: Headers, causal: bool = False) -> Traces:
        """Return traces (n, time.nt) after the steps that move arrivals or change their band, and no other.

        Notes
        -----
        Echoes are judged on them, and first breaks with `causal` filters. Where a trace begins with zeros, as a mute
        leaves them, it still does: what a filter of zero phase puts there is no arrival.
        """
        flow = self.causal if causal else self.moving
        if flow is None:
            return traces
        made = flow.apply(traces, headers)
        silent = (traces != 0).argmax(axis=1) + np.ceil(self.moved_by(headers) / self.time.dt).astype(
            np.int64
        )
        made[np.arange(self.time.nt) < silent[:, None]] = 0
        return made

    def moved_by(self, headers: Headers) -> NDArray[np.float64]:
        """Return by how much the steps move traces (n,), s; positive to later times."""
        shifts = [
            made for made in (self.moving.operators if self.moving else []) if isinstance(made, Shifted)
        ]
        return (
            np.sum([made.seconds(headers) for made in shifts], axis=0) if shifts else np.zeros(len(headers))
        )

    def banded(self, samples: NDArray[np.float64], dt: float) -> NDArray[np.float64]:
        """Return a wavelet (nt,) of an interval of its own, s, after the `causal` filters of bands."""
        out = samples[None]
        time, none = TimeAxis(len(samples), dt), Headers(np.zeros(1, np.int64), np.zeros(1))
        for step in [] if self.causal is None else self.causal.steps:
            if isinstance(step, Bandpass):
                out = step.operator(time, self.resolve).apply(out, none)
        return np.asarray(out[0])

    def mutes(self) -> Iterator[tuple[str, Mute, Muting]]:
        """Yield name, keys and operator of the steps that mute."""
        for place, (step, made) in enumerate(zip(self.steps, self.operators, strict=True)):
            if isinstance(step, Mute) and isinstance(made, Muting):
                yield self.name(place), step, made

    def apply(self, traces: Traces, headers: Headers, steps: int | None = None) -> Traces:
        """Return traces (n, out.nt) of traces (n, time.nt), after the first `steps` of the steps, after all when None.

        Notes
        -----
        A trace comes out the same whatever traces are beside it.
        """
        made = self.operators[:steps]
        last = made[-1].out if made else self.time
        out = np.empty((len(traces), last.nt), traces.dtype)
        for a in range(0, len(traces), CHUNK):
            rows = slice(a, a + CHUNK)
            part, its = traces[rows], headers.take(rows)
            for place, one in enumerate(made):
                begin = clock.thread_time()
                part = one.apply(part, its)
                self.seconds[place] += clock.thread_time() - begin
            out[rows] = part
        return out

    def adjoint(self, traces: Traces, headers: Headers) -> Traces:
        """Return traces (n, time.nt) of traces (n, out.nt): the transposes of all steps in reverse order.

        Raises
        ------
        ConfigError
            E790, when a step is no linear map.
        """
        for made in self.operators[::-1]:
            traces = made.adjoint(traces, headers)
        return traces

    def marks(self, read: Read, headers: Headers) -> dict[int, NDArray[np.int8]]:
        """Return the marks of the steps that look at a whole shot.

        Parameters
        ----------
        read : callable
            Returns some traces of the shot, as recorded.
        headers : Headers
            Headers of all its traces.
        """
        marks: dict[int, NDArray[np.int8]] = {}
        n = len(headers)
        for made in self.of_gathers:
            known = Headers(headers.shot, headers.offset, headers.values, marks)
            parts: list[dict[str, NDArray[np.float64]]] = []
            for a in range(0, n, CHUNK):
                rows = np.arange(a, min(a + CHUNK, n))
                part = self.apply(read(rows), known.take(rows), made.place)
                parts.append(made.measure(part))
            measured = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]} if n else {}
            marks[made.place] = made.marks(measured, known) if n else np.zeros(0, np.int8)
        return marks

    def facts(self) -> list[dict[str, Any]]:
        """Return the steps as plan and report have them."""
        return [
            {"step": step.title, "label": step.label(), "said": in_words(made.facts), **made.facts}
            for step, made in zip(self.steps, self.operators, strict=True)
        ]

    def scratch(self) -> int:
        """Return the bytes that the steps take beside the traces that come in and go out."""
        return SCRATCH * CHUNK * max([self.time.nt, *(made.out.nt for made in self.operators)])

    @cached_property
    def per_trace(self) -> float:
        """Processor time of all steps per trace here, s, measured on noise with headers of the survey (`sample`)."""
        return self._measured(lambda noise, headers: self.apply(noise, headers))

    @cached_property
    def first_look(self) -> float:
        """Processor time per trace, s, of the look at all shots before a run, for conditions on samples."""

        def look(noise: Traces, headers: Headers) -> None:
            for made in self.of_gathers:
                made.measure(self.apply(noise, headers, made.place))

        return self._measured(look) if self.of_gathers else 0.0

    def _measured(self, work: Callable[[Traces, Headers], object]) -> float:
        """Return the processor time per trace of what is done to a block of noise, s, the least of three times."""
        headers = self.sample
        if headers is None or not len(headers):
            return 0.0
        noise = np.random.default_rng(0).standard_normal((len(headers), self.time.nt)).astype(np.float32)
        marks = {made.place: np.ones(len(headers), np.int8) for made in self.of_gathers}
        headers = replace(headers, marks=marks)
        before, spent = self.seconds.copy(), []
        for _ in range(3):
            begin = clock.thread_time()
            work(noise, headers)
            spent.append((clock.thread_time() - begin) / len(headers))
        self.seconds = before
        return min(spent)
