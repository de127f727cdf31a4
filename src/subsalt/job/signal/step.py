"""The contract of a step of `[[signal]]`, and the few forms of operator that steps are made of.

A step is a table of the job, checked when the file is read. `Step.operator` makes of it, once per survey, what acts on
blocks of traces. Operators know traces and their headers, and neither files, ranks nor clocks; a trace comes out the
same whatever traces are beside it, so that any cut into blocks and ranks gives the same bytes.

The transpose of an operator is `TraceOperator.adjoint`. A step that is not a linear map says why in `no_adjoint`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.job.units import Section
from subsalt.numerics.filters import Filter, convolve

Traces = NDArray[Any]
#: traces that go through steps together
CHUNK = 64
#: returns the path of a file that a step names under a key
Resolve = Callable[[str, str], Path]


@dataclass(frozen=True, eq=False)
class Headers:
    """Header values and marks of traces, beside their samples.

    Parameters
    ----------
    shot : ndarray, (n,), int64
        Shot of each trace: its id in a survey of shots, its field record number (byte 9) in a time migration.
    offset : ndarray, (n,), float64
        Horizontal distance of source and receiver, m.
    values : mapping of str to ndarray, (n,)
        Header values by name, those that the steps ask for (`Step.needs`); times in s, heights and depths in m.
    marks : mapping of int to ndarray, (n,), int8
        Marks that ``edit`` and ``swell``, which look at samples, gave to each trace, by the place of the step.
    """

    shot: NDArray[np.int64]
    offset: NDArray[np.float64]
    values: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    marks: Mapping[int, NDArray[np.int8]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.offset)

    def take(self, rows: Any) -> Headers:
        """Return those of some of the traces."""
        return Headers(
            self.shot[rows],
            self.offset[rows],
            {name: column[rows] for name, column in self.values.items()},
            {place: column[rows] for place, column in self.marks.items()},
        )


class TraceOperator(ABC):
    """The action of a step on traces.

    Attributes
    ----------
    time : TimeAxis
        Time axis of the traces that come in.
    out : TimeAxis
        Time axis of those that go out; the same unless the step resamples.
    levels : bool
        Whether it makes amplitudes alike that were not.
    no_adjoint : str
        Why there is no adjoint; empty where there is one.
    facts : dict
        Facts for report and plan beside the keys of the job.
    """

    levels: bool = False
    no_adjoint: str = ""

    def __init__(self, time: TimeAxis, out: TimeAxis | None = None) -> None:
        self.time, self.out = time, out or time
        self.facts: dict[str, Any] = {}

    def require(self, headers: Headers) -> None:  # noqa: B027
        """Raise when the step does not fit the headers of all traces of a survey, before any sample is read."""

    @abstractmethod
    def apply(self, traces: Traces, headers: Headers) -> Traces:
        """Return the traces (n, out.nt) of traces (n, time.nt), float32 or float64; `traces` is left as it is."""

    def adjoint(self, traces: Traces, headers: Headers) -> Traces:
        """Return the traces (n, time.nt) that the transpose makes of traces (n, out.nt).

        Raises
        ------
        ConfigError
            E790, when the step is no linear map.
        """
        raise ConfigError(
            f"this step has no adjoint: {self.no_adjoint}",
            "leave it out where an adjoint is needed",
            code="E790",
        )

    def taken(self) -> list[float]:
        """Return the input and the removed energy so far in this process; empty for steps that do not count it."""
        return []

    def curves(self, headers: Headers) -> list[NDArray[np.float64]]:
        """Return lines (n,) of times, s, that a picture draws over the traces before the step; NaN where none is."""
        return []


class Marked(TraceOperator):
    """An operator that looks at all traces of a shot before it acts on one, and keeps a number of each, its mark.

    Attributes
    ----------
    place : int
        Where the step stands among the others, by which its marks are known; the flow sets it.
    of_gathers : bool
        Whether it looks at samples: a shot is then looked at as a whole, once.
    does, reason : str
        Its action on the traces that it edits, and which these are, for the report.
    """

    place: int = 0
    of_gathers: bool = False
    does: str
    reason: str

    @abstractmethod
    def measure(self, traces: Traces) -> dict[str, NDArray[np.float64]]:
        """Return the measures of each trace that `marks` needs, (n,) each; they do not depend on other traces."""

    @abstractmethod
    def marks(self, measured: dict[str, NDArray[np.float64]], headers: Headers) -> NDArray[np.int8]:
        """Return the marks of the traces of one shot, by the measures of all of them."""

    @abstractmethod
    def edited(self, headers: Headers) -> NDArray[np.bool_]:
        """Return which traces are edited, (n,)."""


class Weighted(TraceOperator):
    """Samples times weights that do not depend on them: its own adjoint."""

    @abstractmethod
    def weights(self, headers: Headers) -> NDArray[np.float64]:
        """Return the factors, (n, nt) or (1, nt)."""

    def apply(self, traces: Traces, headers: Headers) -> Traces:
        """Return the traces times the weights."""
        return (traces * self.weights(headers)).astype(traces.dtype)

    adjoint = apply


class Scaled(Weighted):
    """Samples times a function of time, the same for all traces, which has an inverse where it is not zero."""

    def __init__(self, time: TimeAxis, factor: NDArray[np.float64]) -> None:
        super().__init__(time)
        self.factor = factor

    def weights(self, headers: Headers) -> NDArray[np.float64]:
        """Return the factors, (1, nt)."""
        return self.factor[None]

    def inverse(self, traces: Traces) -> Traces:
        """Return traces over the factors; where these are zero, zero."""
        over = np.divide(1.0, self.factor, out=np.zeros_like(self.factor), where=self.factor != 0)
        return (traces * over).astype(traces.dtype)


class Filtered(TraceOperator):
    """Traces convolved with one filter."""

    def __init__(self, time: TimeAxis, filter_: Filter) -> None:
        super().__init__(time)
        self.filter = filter_

    def apply(self, traces: Traces, headers: Headers) -> Traces:
        """Return the traces, convolved."""
        return convolve(traces, self.filter)

    def adjoint(self, traces: Traces, headers: Headers) -> Traces:
        """Return the traces, convolved with the filter reversed in time."""
        return convolve(traces, self.filter.reversed())


class Step(Section, ABC):
    """A table of `[[signal]]`: the keys of one step."""

    #: action of the step in a few words, for plan, report and pictures
    title: ClassVar[str]
    #: whether it moves arrivals or changes their band, so that first breaks and echoes are those of what leaves it
    moves: ClassVar[bool] = False

    @abstractmethod
    def operator(self, time: TimeAxis, resolve: Resolve) -> TraceOperator:
        """Return the operator on traces of this time axis.

        Raises
        ------
        ConfigError
            When the keys do not fit the time axis, or a file cannot be used.
        """

    def needs(self) -> tuple[str, ...]:
        """Return the names of the header values that the step needs."""
        return ()

    def files(self) -> dict[str, str]:
        """Return the files that the step reads, by key."""
        return {}

    @abstractmethod
    def label(self) -> str:
        """Return the action with its parameters, for pictures."""
