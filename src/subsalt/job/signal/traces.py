"""The flow of a job on the traces of a survey: shot by shot, and block by block of a table of traces.

A step that looks at all traces of a shot (``rms > 20*median``) goes through that shot once, whatever part of it is
asked for, and remembers one byte per trace: neither ranks nor blocks change what it finds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.errors import ConfigError
from subsalt.job.signal.flow import Flow
from subsalt.job.signal.step import CHUNK, Headers

if TYPE_CHECKING:
    from subsalt.acquisition.survey import TraceSource
    from subsalt.io.prestack.table import TraceTable

#: heights that the positions of a shot say, whatever reads its traces
OF_POSITIONS = ("source_z", "receiver_z")
#: header values that a table of traces has whatever the steps ask for
OF_TABLES = ("ffid", "channel", "cdp")


def header_names(flow: Flow) -> tuple[str, ...]:
    """Return the header values that have to be read for a flow on shots."""
    return tuple(name for name in flow.needs() if name not in OF_POSITIONS)


@dataclass(frozen=True)
class TreatedReader:
    """Reads the traces of a shot and takes them through a flow; `inner` reads them as they are.

    Parameters
    ----------
    inner : TraceSource
        With `columns`, header values by name and trace number, where the flow needs some.
    flow : Flow
        Flow on its traces.
    """

    inner: TraceSource
    flow: Flow
    _marks: dict[int, dict[int, NDArray[np.int8]]] = field(default_factory=dict)

    @property
    def time(self) -> TimeAxis:
        """Samples of what `inner` returns."""
        return self.flow.time

    def headers(self, shot: Shot) -> Headers:
        """Return the header values of all traces of a shot, without marks."""
        n, values = len(shot.rcv), {}
        for name in self.flow.needs():
            if name == "source_z":
                values[name] = np.full(n, shot.src[2])
            elif name == "receiver_z":
                values[name] = shot.rcv[:, 2]
            else:
                values[name] = getattr(self.inner, "columns", {})[name][shot.trace_index]
        return Headers(np.full(n, shot.id, np.int64), shot.offset, values)

    def marked(self, shot: Shot) -> Headers:
        """Return the headers of a shot with the marks of its traces; the first call reads the shot where need be."""
        headers = self.headers(shot)
        if not self.flow.of_gathers:
            return headers
        if shot.id not in self._marks:
            self._marks[shot.id] = self.flow.marks(lambda rows: self.inner(shot, rows), headers)
        return replace(headers, marks=self._marks[shot.id])

    def looked_at(self, shot: Shot, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return traces (len(rows), time.nt) after the steps that move arrivals or change their band, and no other."""
        return self.treat(shot, rows, self.inner(shot, rows))

    def picked(self, shot: Shot, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the same with causal filters, in which first breaks are picked."""
        return self.treat(shot, rows, self.inner(shot, rows), causal=True)

    def treat(
        self,
        shot: Shot,
        rows: NDArray[np.int64] | None,
        traces: NDArray[np.float32],
        causal: bool = False,
    ) -> NDArray[np.float32]:
        """Return recorded traces (len(rows), time.nt) after the steps of `looked_at`, or of `picked`."""
        headers = self.headers(shot)
        return self.flow.looked_at(traces, headers if rows is None else headers.take(rows), causal)

    def moved_by(self, shot: Shot) -> NDArray[np.float64]:
        """Return by how much the steps move the traces (nr,) of a shot, s; positive to later times."""
        return self.flow.moved_by(self.headers(shot))

    def remember(self, shot: Shot, place: int, marks: NDArray[np.int8]) -> None:
        """Keep the marks that a step has for a shot."""
        self._marks.setdefault(shot.id, {})[place] = marks

    def __call__(self, shot: Shot, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the traces (len(rows), flow.out.nt) of a shot, of all its receivers when `rows` is None."""
        headers = self.marked(shot)
        return self.flow.apply(self.inner(shot, rows), headers if rows is None else headers.take(rows))


def treated(survey: Survey, flow: Flow) -> Survey:
    """Return the survey with a reader that takes traces through a flow, on the time axis that they then have.

    Raises
    ------
    FindingsError
        When steps do not fit the headers of its traces.
    """
    assert survey.reader is not None
    missing = [n for n in header_names(flow) if n not in getattr(survey.reader, "columns", {})]
    if missing:
        raise ConfigError(
            f"[[signal]] asks for header values, {', '.join(missing)}, and these files have no trace headers",
            "leave out the steps that look at headers",
            code="E799",
        )
    reader = TreatedReader(survey.reader, flow)
    flow.sample = reader.headers(survey.shots[0]).take(slice(CHUNK)) if survey.shots else None
    if flow.looks_at_headers:
        flow.require(_joined([reader.headers(shot) for shot in survey.shots], flow.needs()))
    return replace(survey, reader=reader, time=flow.out)


def recorded(survey: Survey) -> Survey:
    """Return the survey on the time axis of what was recorded, for those that read its traces by `reader.inner`."""
    reader = survey.reader
    return replace(survey, time=reader.time) if isinstance(reader, TreatedReader) else survey


def _joined(parts: list[Headers], names: Iterable[str]) -> Headers:
    """Return the headers of several shots as one."""
    if not parts:
        return Headers(np.empty(0, np.int64), np.empty(0), {name: np.empty(0) for name in names})
    return Headers(
        np.concatenate([h.shot for h in parts]),
        np.concatenate([h.offset for h in parts]),
        {name: np.concatenate([h.values[name] for h in parts]) for name in names},
    )


class TableTreatment:
    """A flow on the traces of a table; see `subsalt.io.prestack.table.Treatment`.

    Parameters
    ----------
    table : TraceTable
        Table with the header values that the flow needs.
    flow : Flow
        Flow on recorded traces.
    """

    def __init__(self, table: TraceTable, flow: Flow) -> None:
        self.table, self.flow = table, flow
        self.scratch = flow.scratch()
        n = len(table) if flow.of_gathers else 0
        # -1: nobody has looked at the shot yet
        self._marks = {made.place: np.full(n, -1, np.int8) for made in flow.of_gathers}
        self._order: NDArray[np.int64] | None = None

    def headers(self, rows: Any) -> Headers:
        """Return the header values of some rows of the table, without marks."""
        table = self.table
        values = {name: self._column(name)[rows] for name in self.flow.needs()}
        return Headers(table.ffid[rows].astype(np.int64), table.offset[rows], values)

    def _column(self, name: str) -> NDArray[Any]:
        column: NDArray[Any] = getattr(self.table, name) if name in OF_TABLES else self.table.headers[name]
        return column

    def marked(self, rows: NDArray[np.int64]) -> Headers:
        """Return the headers of rows with the marks of their traces; shots that have not been read yet are read."""
        headers = self.headers(rows)
        if not self._marks:
            return headers
        first = next(iter(self._marks.values()))
        for shot in np.unique(headers.shot[first[rows] < 0]):
            its = self.rows_of(int(shot))
            marked = self.flow.marks(partial(self._read_of, its), self.headers(its))
            for place, marks in marked.items():
                self._marks[place][its] = marks
        return replace(headers, marks={place: marks[rows] for place, marks in self._marks.items()})

    def remember(self, rows: NDArray[np.int64], place: int, marks: NDArray[np.int8]) -> None:
        """Keep the marks that a step has for all traces of a shot."""
        self._marks[place][rows] = marks

    def rows_of(self, shot: int) -> NDArray[np.int64]:
        """Return the rows of a field record, ascending."""
        if self._order is None:
            self._order = np.argsort(self.table.ffid, kind="stable")
        a, b = np.searchsorted(self.table.ffid, [shot, shot + 1], sorter=self._order)
        return np.sort(self._order[a:b])

    def _read_of(self, rows: NDArray[np.int64], some: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.table.files.read(self.table.number[rows[some]])

    def picked(self, rows: NDArray[np.int64], traces: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the traces of some rows after the steps that move arrivals or, causally, change their band."""
        return self.flow.looked_at(traces, self.headers(rows), causal=True)

    def __call__(self, rows: NDArray[np.int64], traces: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the traces of some rows, taken through the flow."""
        return self.flow.apply(traces, self.marked(rows))


def treated_table(table: TraceTable, flow: Flow) -> TraceTable:
    """Return the table with a flow as its treatment, on the time axis that traces then have.

    Raises
    ------
    FindingsError
        When steps do not fit the headers of its traces.
    """
    treatment = TableTreatment(table, flow)
    flow.sample = treatment.headers(slice(CHUNK))
    if flow.looks_at_headers:
        flow.require(treatment.headers(slice(None)))
    return replace(table, treatment=treatment, time=flow.out)


def flow_of(source: Any) -> Flow | None:
    """Return the flow of a survey or a table; None where traces are used as they are."""
    treat = getattr(source, "treatment", None) or getattr(source, "reader", None)
    return treat.flow if isinstance(treat, TreatedReader | TableTreatment) else None
