"""The rows of `lab network`: medians over blocks, the line through the times of messages, and where it has a step.

How fast do messages go between ranks, how does that compare with other benchmarks and other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.host import machine_facts, usable_cores
from subsalt.machine.load import Watch
from subsalt.machine.stats import fit_line, summary
from subsalt_lab.network import balance, hpcc, imb
from subsalt_lab.network.lines import MessageBlock, MessageTimes
from subsalt_lab.network.messages import Settings, Start, messages, starts
from subsalt_lab.network.places import Pairs, of_all
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.result import Result, Say


@dataclass(frozen=True)
class Beside:
    """Programs to run in addition to our own messages.

    Parameters
    ----------
    hpcc : float
        Part of the memory for the matrix of HPC Challenge; 0: not run.
    imb : bool
        Run IMB-MPI1 with the largest number of ranks.
    """

    hpcc: float = 0.0
    imb: bool = False

    def check(self, mpi: MpiInUse | None) -> None:
        """Refuse what is not installed, or does not fit the MPI in use, before anything is measured."""
        if self.hpcc:
            hpcc.starts(2)
        if self.imb and mpi is not None:
            imb.executable(mpi)


def measure(
    settings: Settings,
    beside: Beside = Beside(),
    *,
    say: Say = lambda text: None,
    start: Start | None = None,
    peak: Callable[[], float] = balance.peak_rate,
    measured: list[Row] | None = None,
) -> Result:
    """Measure messages, then the other programs of the request, and compare this machine with others.

    Parameters
    ----------
    settings : Settings
        Settings of the messages.
    beside : Beside
        Other benchmarks.
    say : callable
        Callback for progress text.
    start : callable, optional
        In place of what starts the ranks.
    peak : callable
        Gives the peak rate of all cores, GFLOP/s.
    measured : list, optional
        List that gets the rows of messages as they come, so that they remain after a stop.
    """
    mpi: MpiInUse | None = None
    if start is None:
        mpi, start = starts(settings)
    beside.check(mpi)
    with Watch(min(max(settings.ranks), usable_cores())) as watch:
        measured_messages = messages(settings, start, say, measured)
        all_rows, notes = [*measured_messages.rows], [*measured_messages.notes]
        if beside.imb:
            run = imb.Run(max(settings.ranks), tuple(settings.sizes), settings.threads)
            say(f"network: IMB-MPI1, {run.ranks} ranks")
            all_rows += imb.check(
                measured_messages.rows, run, mpi or MpiInUse.find(settings.launcher, library=settings.library)
            )
        dgemm = None
        if beside.hpcc:
            challenge = hpcc.measure(beside.hpcc, say=say)
            all_rows += challenge.rows
            notes += challenge.notes
            dgemm = challenge.dgemm
        usable = [r for r in measured_messages.rows if not r.get("oversubscribed")]
        name = str(machine_facts()["cpu"])
        all_rows += balance.founding() + balance.this_machine(usable, peak(), dgemm, name)
    return Result(
        "network",
        asdict(settings)
        | asdict(beside)
        | {
            "mpi": measured_messages.mpi,
            "launcher": settings.launcher or "of this environment",
            "library": settings.library.name if settings.library else None,
        },
        all_rows,
        UNITS,
        watch.facts(),
        [*notes, *filter(None, [watch.text()])],
    )


def for_machine(result: Result) -> list[dict[str, Any]]:
    """Return the rows a plan may use, without samples: of ranks with a core each, at the thread level of our runs."""
    return result.for_machine("seconds", "oversubscribed", "threads", where=_is_usable)


def _is_usable(row: Mapping[str, Any]) -> bool:
    return row.get("threads") == "multiple" and not row.get("oversubscribed", True)


Row = dict[str, Any]

#: messages in flight at a time, as in `net.c`
WINDOW = 64
#: what is measured between two ranks
BETWEEN_TWO = ("latency", "stream", "bidirectional", "message_rate")
#: operations of all ranks
COLLECTIVES = ("allreduce", "reduce", "bcast", "allgather", "alltoall", "barrier")
#: the largest message that tells how many a second there are, rather than how many bytes
SMALL = 8
#: points that a piece of a broken line needs: two for the line, one to be wrong by
PIECE = 3
#: logarithm of a ratio from where on a time counts as far off
FAR = 0.2
#: times as long as the shortest message the longest must take for a line through both
LONGER = 2.0
#: a step is one when it is this part of the time there
STEP = 0.1

UNITS = {
    "bytes": "B",
    "value": "unit of the row",
    "a_s": "s",
    "bytes_per_s": "B/s",
    "spread": "1",
    "worst": "1",
    "seconds": "s",
}


def between_two(answer: MessageTimes, sets: Sequence[Pairs], **more: object) -> list[Row]:
    """Return the rows of messages between two ranks.

    Parameters
    ----------
    answer : MessageTimes
        Times that the ranks measured.
    sets : sequence of Pairs
        In the order of their numbers.
    **more
        Entries of every row.
    """
    table: list[Row] = []
    for (group, test, nbytes), blocks in _cases(answer.blocks):
        if group < 0:
            continue
        pairs = sets[group]
        taken = [b.seconds for b in blocks]
        common = {"where": pairs.where, "bytes": nbytes, "ranks": pairs.ranks, **more}
        if test == "latency":
            table.append(_row("latency", [s / 2 for s in taken], "s", common))
            continue
        directions = 2 if test == "both" else 1
        messages = directions * WINDOW * len(pairs.pairs)
        if nbytes:
            rates = [messages * nbytes / s / 1e9 for s in taken]
            table.append(_row("bidirectional" if directions == 2 else "stream", rates, "GB/s", common, taken))
        if directions == 1 and 0 < nbytes <= SMALL:
            table.append(_row("message_rate", [messages / s for s in taken], "1/s", common, taken))
    return table


def among_all(answer: MessageTimes, **more: object) -> list[Row]:
    """Return the rows of operations of all ranks; bytes are those of one rank, of alltoall those for one other."""
    where = of_all(answer.ranks)
    return [
        _row(
            test,
            [b.seconds for b in blocks],
            "s",
            {"where": where, "bytes": nbytes, "ranks": len(answer.ranks), **more},
        )
        for (group, test, nbytes), blocks in _cases(answer.blocks)
        if group < 0
    ]


def _cases(blocks: Sequence[MessageBlock]) -> list[tuple[tuple[int, str, int], list[MessageBlock]]]:
    def key(b: MessageBlock) -> tuple[int, str, int]:
        return b.group, b.test, b.nbytes

    return [(k, list(some)) for k, some in groupby(sorted(blocks, key=key), key)]


def _row(
    what: str,
    values: Sequence[float],
    unit: str,
    common: Mapping[str, object],
    seconds: Sequence[float] | None = None,
) -> Row:
    middle = summary(values)
    return {
        "what": what,
        **common,
        "value": middle.median,
        "unit": unit,
        "spread": middle.spread,
        "seconds": list(values if seconds is None else seconds),
    }


@dataclass(frozen=True)
class TimeJump:
    """Where the time of a message jumps.

    Parameters
    ----------
    below, above : int
        Bytes of the last message before and of the first after.
    seconds : float
        By how much, beyond what the bytes between them take.
    """

    below: int
    above: int
    seconds: float


def line(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float, float]:
    """Fit t = a + s / b; return a in s, b in B/s, both positive, and the largest relative error.

    Notes
    -----
    Least squares of log(a + s / b) - log(t), so that 8 bytes count as much as 4 MiB, and a time that is half of what it
    should be as much as one that is twice that; one far off counts little (the loss grows like its distance).
    """
    s, t = np.asarray(sizes, dtype=np.float64), np.asarray(seconds, dtype=np.float64)

    def off(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        a, slope = np.exp(logs)
        return np.asarray(np.log((a + s * slope) / t), dtype=np.float64)

    from scipy.optimize import least_squares

    begin = np.log([t.min(), t[s.argmax()] / s.max()])
    fit = least_squares(off, begin, loss="soft_l1", f_scale=FAR, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    a, slope = np.exp(fit.x)
    return float(a), float(1.0 / slope), float(np.abs(np.expm1(off(fit.x))).max())


def step(sizes: Sequence[int], seconds: Sequence[float]) -> TimeJump | None:
    """Return where two lines fit so much better than one that there is a jump between them, None where there is none.

    A library sends short messages at once, and asks first before it sends long ones (eager, rendezvous): that shows as
    a jump of the time at one size. A bend without a jump, as from a cache, is none.
    """
    best: tuple[float, TimeJump] | None = None
    for k in range(PIECE, len(sizes) - PIECE + 1):
        low, high = fit_line(sizes[:k], seconds[:k]), fit_line(sizes[k:], seconds[k:])
        worst = max(low.worst, high.worst)
        # a bend between both sizes has no jump at one of them
        jump = min(
            high.intercept - low.intercept + s * (high.slope - low.slope) for s in (sizes[k - 1], sizes[k])
        )
        before = low.intercept + sizes[k] * low.slope
        if before > 0 and jump > STEP * before and (best is None or worst < best[0]):
            best = worst, TimeJump(sizes[k - 1], sizes[k], jump)
    if best is None or best[0] > line(sizes, seconds)[2] / 2:
        return None
    return best[1]


def fits(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the line through the half round trips of each place, pairs at a time and MPI."""
    keys = ("where", "ranks", "mpi", "threads", "oversubscribed")
    by_place: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for r in rows:
        if r["what"] == "latency":
            by_place.setdefault(tuple(r.get(k) for k in keys), []).append(r)
    out = []
    for values, some in by_place.items():
        some = sorted(some, key=lambda r: r["bytes"])
        sizes, seconds = [r["bytes"] for r in some], [r["value"] for r in some]
        # where the longest takes about as long as the shortest, nothing is known of bytes per second
        if len({*sizes}) < PIECE or max(seconds) < LONGER * min(seconds):
            continue
        a, b, worst = line(sizes, seconds)
        jump = step(sizes, seconds)
        row: Row = {"what": "point_to_point", "bytes": 0, **dict(zip(keys, values, strict=True))}
        row |= {"a_s": a, "bytes_per_s": b, "worst": worst}
        if jump is not None:
            row |= {"step_from": jump.above, "step_s": jump.seconds}
        out.append(row)
    return out
