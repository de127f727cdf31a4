"""Facts about the steps for plan, run.json, report and pictures: cost, edited traces, a shot between two steps."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Survey, TimeAxis
from subsalt.errors import ConfigError, GeometryError
from subsalt.io.stored_marks import StoredMarks, nothing
from subsalt.job.signal.step import Headers, Marked, Traces
from subsalt.job.signal.traces import flow_of

if TYPE_CHECKING:
    from subsalt.io.prestack.table import TraceTable
    from subsalt.parallel.comm import Comm
    from subsalt.timing import Phases

#: traces of a table that are looked at together where no step looks at shots
PIECE = 1 << 16
#: seconds between two words on how far the look at all shots is
TELL = 10.0
#: traces whose edit a report lists one by one
LISTED = 1000


def signal_facts(
    source: Survey | TraceTable,
    comm: Comm,
    phases: Phases,
    stored: StoredMarks | None = None,
    say: Callable[[str], None] = nothing,
) -> dict[str, Any]:
    """Return the facts of `[[signal]]` for run.json before imaging, empty without steps. Collective.

    `stored`, on rank 0, holds the marks of an earlier start, or takes those of this one. `say` is a callback for
    progress text while all shots are read.
    """
    flow = flow_of(source)
    if flow is None or flow.short:
        return {}
    with phases("trace input"):
        return {
            "signal": {
                "steps": flow.facts(),
                "edited": edited(source, comm, stored, say),
                "time": vars(flow.out),
            }
        }


def signal_ended(source: Survey | TraceTable, comm: Comm) -> dict[str, Any]:
    """Return the facts of `[[signal]]` for run.json after imaging, empty without steps. Collective."""
    seconds, taken = signal_spent(source, comm), signal_taken(source, comm)
    counted = {"signal_taken": taken} if any(t is not None for t in taken) else {}
    return ({"signal_seconds": seconds} if seconds else {}) | counted


def signal_spent(source: Survey | TraceTable, comm: Comm) -> list[float]:
    """Return the processor time of each step in this start, s, the sum over all ranks. Collective."""
    flow = flow_of(source)
    if flow is None or flow.short:
        return []
    return [float(sum(parts)) for parts in zip(*comm.allgather(flow.seconds.tolist()), strict=True)]


def signal_taken(source: Survey | TraceTable, comm: Comm) -> list[float | None]:
    """Return the share of the energy that each step took of the traces of this start, over all ranks. Collective.

    None of steps that do not count it; all of a step whose traces were zero is 0.
    """
    flow = flow_of(source)
    if flow is None or flow.short:
        return []
    by_rank = comm.allgather([made.taken() for made in flow.operators])
    sums = [np.sum([t for t in parts if t] or [np.zeros(0)], axis=0) for parts in zip(*by_rank, strict=True)]
    return [float(s[1] / s[0]) if len(s) and s[0] > 0 else 0.0 if len(s) else None for s in sums]


def signal_plan(source: Survey | TraceTable, traces: int) -> dict[str, Any]:
    """Return the facts of `[[signal]]` for plans, empty without steps.

    Parameters
    ----------
    traces : int
        Traces that go through the steps, each as often as it is read.
    """
    flow = flow_of(source)
    if flow is None or flow.short:
        return {}
    plan = {"steps": flow.facts(), "seconds_per_trace": flow.per_trace, "seconds": traces * flow.per_trace}
    if flow.of_gathers:
        once = _Shots(source).traces
        plan["first_look"] = {"traces": once, "seconds": once * flow.first_look}
    return plan


def signal_row(plan: dict[str, Any]) -> str:
    """Return the line of a plan on the steps."""
    look = ""
    if first := plan.get("first_look"):
        look = f"; before that {first['traces']} traces are read for conditions on samples, {first['seconds']:.3g} s"
    return (
        f"{', '.join(step['step'] for step in plan['steps'])}; {1e3 * plan['seconds_per_trace']:.2g} ms of processor "
        f"time a trace, {plan['seconds']:.3g} s in all{look}"
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


def edited(
    source: Survey | TraceTable,
    comm: Comm,
    stored: StoredMarks | None = None,
    say: Callable[[str], None] = nothing,
) -> list[dict[str, Any]]:
    """Return the effects of ``edit`` and ``swell``: step, condition, number of traces, and which. Collective.

    Shots that must be read are shared among the ranks, and every rank knows their marks at the end.
    """
    flow = flow_of(source)
    steps = [] if flow is None else [made for made in flow.operators if isinstance(made, Marked)]
    if not steps:
        return []
    its = _Shots(source)
    gathers = [made.place for made in steps if made.of_gathers]
    known = bool(gathers) and _known(its, gathers, comm, stored)
    pieces = its.pieces[comm.rank :: comm.size]
    with comm.together():
        own = list(_looked_at(its, pieces, say if gathers and not known else nothing))
    if gathers and not known:
        for place in gathers:
            marks = [headers.marks[place] for headers in own]
            everywhere = comm.allgather_array(np.concatenate([np.empty(0, np.int8), *marks]))
            its.remember(place, everywhere, comm.size)
        with comm.together():
            if stored is not None:
                stored.save(np.stack([its.remembered(place) for place in gathers]))
    actions = []
    for made in steps:
        rows = [(piece, np.flatnonzero(made.edited(h))) for piece, h in zip(pieces, own, strict=True)]
        count = comm.sum(sum(len(some) for _, some in rows))
        listed = [its.named(piece, int(row)) for piece, some in rows for row in some[:LISTED]][:LISTED]
        together = sorted(
            (one for part in comm.allgather(listed) for one in part), key=lambda one: tuple(one.values())
        )
        actions.append(
            {
                "step": made.place + 1,
                "do": made.does,
                "reason": made.reason,
                "traces": count,
                "listed": together[:LISTED],
            }
        )
    return actions


def _known(its: _Shots, places: list[int], comm: Comm, stored: StoredMarks | None) -> bool:
    """Give all ranks the marks of an earlier start; return whether there are any. Collective."""
    with comm.together():
        marks = None if stored is None else stored.load((len(places), its.traces))
    if not comm.bcast(marks is not None):
        return False
    everywhere = (
        np.empty((len(places), its.traces), np.int8) if marks is None else np.ascontiguousarray(marks)
    )
    comm.bcast_array(everywhere)
    for place, row in zip(places, everywhere, strict=True):
        its.remember(place, row, 1)
    return True


def _looked_at(its: _Shots, pieces: list[Any], say: Callable[[str], None]) -> Iterator[Headers]:
    """Yield the headers of pieces with their marks; report progress from time to time."""
    last_report = clock.monotonic()
    for n, piece in enumerate(pieces):
        if clock.monotonic() - last_report > TELL:
            last_report = clock.monotonic()
            say(f"[[signal]] looks at all shots, for conditions on samples: {n} of {len(pieces)}")
        yield its.marked(piece)


class _Shots:
    """The shots of a survey or of a table, one like the other; traces in pieces where no step looks at shots.

    Parameters
    ----------
    source : Survey or TraceTable
        Traces with a flow.
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
        rows: NDArray[np.int64] = piece
        return rows if isinstance(piece, np.ndarray) else self.source.treatment.rows_of(piece)

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

    @property
    def traces(self) -> int:
        """Traces of all pieces."""
        return sum(len(s.rcv) for s in self.pieces) if self.of_survey else len(self.source)

    def remembered(self, place: int) -> NDArray[np.int8]:
        """Return the marks of all traces, those of one piece after those of another."""
        return np.concatenate(
            [np.empty(0, np.int8), *(self.marked(piece).marks[place] for piece in self.pieces)]
        )

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
