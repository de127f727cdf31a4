"""The flow of a job on the traces of a survey: shot by shot, and block by block of a table of traces.

A step that looks at all traces of a shot (``rms > 20*median``) goes through that shot once, whatever part of it is
asked for, and remembers one byte per trace: neither ranks nor blocks change what it finds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.errors import ConfigError, GeometryError
from subsalt.job.signal.edit import Edited
from subsalt.job.signal.flow import CHUNK, Flow
from subsalt.job.signal.step import Headers, Traces

if TYPE_CHECKING:
    from subsalt.acquisition.survey import TraceSource
    from subsalt.io.prestack.table import TraceTable
    from subsalt.parallel.comm import Comm
    from subsalt.timing import Phases

#: heights that the positions of a shot say, whatever reads its traces
OF_POSITIONS = ("source_z", "receiver_z")
#: header values that a table of traces has whatever the steps ask for
OF_TABLES = ("ffid", "channel", "cdp")
#: traces of a table that are looked at together where no step looks at shots
PIECE = 1 << 16
#: traces whose edit a report lists one by one
LISTED = 1000


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
        On its traces.
    """

    inner: TraceSource
    flow: Flow
    _marks: dict[int, dict[int, NDArray[np.int8]]] = field(default_factory=dict)

    @property
    def time(self) -> TimeAxis:
        """Samples of what `inner` returns."""
        return self.flow.time

    def headers(self, shot: Shot) -> Headers:
        """Return what is known of all traces of a shot, without marks."""
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
        With the header values that the flow needs.
    flow : Flow
        On traces as recorded.
    """

    def __init__(self, table: TraceTable, flow: Flow) -> None:
        self.table, self.flow = table, flow
        self.scratch = flow.scratch()
        n = len(table) if flow.of_gathers else 0
        # -1: nobody has looked at the shot yet
        self._marks = {made.place: np.full(n, -1, np.int8) for made in flow.of_gathers}
        self._order: NDArray[np.int64] | None = None

    def headers(self, rows: Any) -> Headers:
        """Return what is known of some rows of the table, without marks."""
        table = self.table
        values = {name: self._column(name)[rows] for name in self.flow.needs()}
        return Headers(table.ffid[rows].astype(np.int64), table.offset[rows], values)

    def _column(self, name: str) -> NDArray[Any]:
        column: NDArray[Any] = getattr(self.table, name) if name in OF_TABLES else self.table.headers[name]
        return column

    def marked(self, rows: NDArray[np.int64]) -> Headers:
        """Return the headers of rows with the marks of their traces; shots that nobody has looked at are read."""
        headers = self.headers(rows)
        if not self._marks:
            return headers
        first = next(iter(self._marks.values()))
        for shot in np.unique(headers.shot[first[rows] < 0]):
            its = self.rows_of(int(shot))
            found = self.flow.marks(partial(self._read_of, its), self.headers(its))
            for place, marks in found.items():
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


def signal_facts(source: Survey | TraceTable, comm: Comm, clock: Phases) -> dict[str, Any]:
    """Return what run.json says of `[[signal]]` before anything is imaged, empty without steps. Collective."""
    flow = flow_of(source)
    if flow is None or flow.short:
        return {}
    with clock("trace input"):
        return {"signal": {"steps": flow.facts(), "edited": edited(source, comm), "time": vars(flow.out)}}


def signal_spent(source: Survey | TraceTable, comm: Comm) -> list[float]:
    """Return the processor time of each step in this start, s, the sum over all ranks. Collective."""
    flow = flow_of(source)
    if flow is None or flow.short:
        return []
    return [float(sum(parts)) for parts in zip(*comm.allgather(flow.seconds.tolist()), strict=True)]


def signal_plan(source: Survey | TraceTable, traces: int) -> dict[str, Any]:
    """Return what a plan says of `[[signal]]`, empty without steps.

    Parameters
    ----------
    traces : int
        Traces that go through the steps, each as often as it is read.
    """
    flow = flow_of(source)
    if flow is None or flow.short:
        return {}
    return {"steps": flow.facts(), "seconds_per_trace": flow.per_trace, "seconds": traces * flow.per_trace}


def signal_row(plan: dict[str, Any]) -> str:
    """Return the line of a plan on the steps."""
    return (
        f"{', '.join(step['step'] for step in plan['steps'])}; {1e3 * plan['seconds_per_trace']:.2g} ms of processor "
        f"time a trace, {plan['seconds']:.3g} s in all"
    )


@dataclass(frozen=True)
class Between:
    """The traces of a shot between two steps: what came before them, samples, axis, and where the next step cuts."""

    label: str
    traces: Traces
    time: TimeAxis
    curves: list[NDArray[np.float64]]


def stages(source: Survey | TraceTable, shot: int | None = None) -> tuple[int, Headers, list[Between]]:
    """Return a shot's number, the headers of its traces, and these as recorded and after every step.

    Parameters
    ----------
    shot : int, optional
        Id of a shot of a survey, field record number in a table; the one in the middle when None.

    Raises
    ------
    ConfigError
        When there are no steps, or no such shot.
    """
    flow = flow_of(source)
    if flow is None:
        raise ConfigError(
            "the job has no steps on its traces", "add [[signal]] tables, or [data.mute]", code="E102"
        )
    its = _Shots(source, by_shot=True)
    numbers = [s.id if its.of_survey else s for s in its.pieces]
    number = numbers[len(numbers) // 2] if shot is None else shot
    if number not in numbers:
        raise GeometryError(
            f"there is no shot {number}; shots run from {min(numbers)} to {max(numbers)}",
            "choose one of those: `subsalt scan` lists them",
            code="E304",
        )
    chosen = its.pieces[numbers.index(number)]
    headers, data = its.marked(chosen), its.recorded(chosen)
    operators = flow.operators
    out = [Between("as recorded", data, flow.time, operators[0].curves(headers))]
    for place, (step, made) in enumerate(zip(flow.steps, operators, strict=True)):
        data = made.apply(data, headers)
        curves = operators[place + 1].curves(headers) if place + 1 < len(operators) else []
        out.append(Between(step.label(), data, made.out, curves))
    return number, headers, out


def edited(source: Survey | TraceTable, comm: Comm) -> list[dict[str, Any]]:
    """Return what the steps of type ``edit`` do: step, condition, number of traces, and which. Collective.

    Shots that have to be looked at are shared among the ranks, and every rank knows their marks at the end.
    """
    flow = flow_of(source)
    steps = [] if flow is None else [made for made in flow.operators if isinstance(made, Edited)]
    if not steps:
        return []
    its = _Shots(source)
    pieces = its.pieces[comm.rank :: comm.size]
    with comm.together():
        own = [its.marked(piece) for piece in pieces]
    found = []
    for made in steps:
        if made.of_gathers:
            marks = [headers.marks[made.place] for headers in own]
            everywhere = comm.allgather_array(np.concatenate([np.empty(0, np.int8), *marks]))
            its.remember(made.place, everywhere, comm.size)
        rows = [(piece, np.flatnonzero(made.edited(h))) for piece, h in zip(pieces, own, strict=True)]
        count = comm.sum(sum(len(some) for _, some in rows))
        listed = [its.named(piece, int(row)) for piece, some in rows for row in some[:LISTED]][:LISTED]
        together = sorted(
            (one for part in comm.allgather(listed) for one in part), key=lambda one: tuple(one.values())
        )
        found.append(
            {
                "step": made.place + 1,
                "do": made.step.do,
                "reason": made.step.where,
                "traces": count,
                "listed": together[:LISTED],
            }
        )
    return found


class _Shots:
    """The shots of a survey or of a table, one like the other; traces in pieces where no step looks at shots.

    Parameters
    ----------
    source : Survey or TraceTable
        With a flow.
    by_shot : bool
        Pieces of a table are its field records, whatever the steps look at.
    """

    def __init__(self, source: Any, by_shot: bool = False) -> None:
        self.source = source
        self.of_survey = isinstance(source, Survey)
        if self.of_survey:
            self.pieces: list[Any] = list(source.shots)
        elif by_shot or source.treatment.flow.of_gathers:
            self.pieces = np.unique(source.ffid).tolist()
        else:
            self.pieces = [np.arange(a, min(a + PIECE, len(source))) for a in range(0, len(source), PIECE)]

    def _rows(self, piece: Any) -> NDArray[np.int64]:
        """Return the rows of a table that a piece has."""
        found: NDArray[np.int64] = piece
        return found if isinstance(piece, np.ndarray) else self.source.treatment.rows_of(piece)

    def marked(self, piece: Any) -> Headers:
        """Return the headers of a piece with the marks of its traces."""
        if self.of_survey:
            return self.source.reader.marked(piece)
        return self.source.treatment.marked(self._rows(piece))

    def recorded(self, piece: Any) -> Traces:
        """Return the traces of a piece as they are in the files."""
        if self.of_survey:
            return self.source.reader.inner(piece)
        return self.source.files.read(self.source.number[self._rows(piece)])

    def remember(self, place: int, marks: NDArray[np.int8], ranks: int) -> None:
        """Keep the marks of all shots, those of one rank after those of another."""
        at = 0
        for rank in range(ranks):
            for piece in self.pieces[rank::ranks]:
                if self.of_survey:
                    end = at + len(piece.rcv)
                    self.source.reader.remember(piece, place, marks[at:end])
                else:
                    rows = self._rows(piece)
                    end = at + len(rows)
                    self.source.treatment.remember(rows, place, marks[at:end])
                at = end

    def named(self, piece: Any, row: int) -> dict[str, Any]:
        """Return shot, file and trace in the file of one trace."""
        if self.of_survey:
            shot, files = piece.id, self.source.reader.inner
            number = None if piece.trace_index is None else int(piece.trace_index[row])
        else:
            at = int(self._rows(piece)[row])
            shot, number, files = int(self.source.ffid[at]), int(self.source.number[at]), self.source.files
        if number is None or not hasattr(files, "where"):
            return {"shot": shot, "file": "", "trace": row + 1}
        path, trace = files.where(number)
        return {"shot": shot, "file": Path(path).name, "trace": trace}
