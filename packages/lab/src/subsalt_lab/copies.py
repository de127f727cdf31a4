"""How much do independent copies of a kernel do together: throughput, as rate benchmarks count it.

A survey of many shots keeps a node busy with as many shots as it has cores, or with one shot on all of them. Here N
processes with arrays of their own run the same time steps at the same time, each on cores of its own, beside one
process alone and one process with N threads. Only the window in which all of them ran is counted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from subsalt.errors import MemoryPlanError
from subsalt.host import machine_facts
from subsalt.machine import programs
from subsalt.machine.load import Watch
from subsalt.machine.records import wrong_answer
from subsalt.machine.stats import ratio, summary
from subsalt.report.table import Column, render
from subsalt_lab.copies_worker import ANSWER, CopyWork
from subsalt_lab.kernel_bench import bytes_needed
from subsalt_lab.result import Result, Say
from subsalt_lab.topology import Topology

Row = dict[str, Any]

#: part of the memory that all arrays may take
MEMORY_SHARE = 0.8
#: names of the cases
ALONE, TOGETHER, THREADS = "one copy", "copies", "one process"

UNITS = {
    "points_per_s": "point-steps/s of all copies together, layer included, in the window in which all ran",
    "least_per_s": "point-steps/s of the slowest copy",
    "most_per_s": "point-steps/s of the fastest copy",
    "of_copies_alone": "rate over that of one copy alone times the copies, by rounds",
    "of_one_process": "rate over that of one process with as many threads, by rounds",
    "spread": "half the interquartile range over the median",
}

COLUMNS = (
    Column("case", ""),
    Column("copies", "copies", "d"),
    Column("threads", "threads each", "d"),
    Column("points_per_s", "Gpt-steps/s", ".3f", 1e-9),
    Column("spread", "± %", ".1f", 100),
    Column("least_per_s", "slowest copy", ".3f", 1e-9),
    Column("most_per_s", "fastest", ".3f", 1e-9),
    Column("of_copies_alone", "x copies alone", ".3f"),
    Column("of_one_process", "x one process", ".3f"),
    Column("marks", "note"),
)


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement.

    Parameters
    ----------
    media, orders, isas : sequence
        Every combination is measured.
    copies : sequence of int
        Numbers of copies.
    threads : int
        Threads of each copy.
    n : int
        Points per axis, absorbing layer included.
    rounds : int
        Samples of each case.
    seconds : float
        Length of a sample.
    timeout : float
        Seconds that all samples of one combination may take.
    """

    media: Sequence[str]
    orders: Sequence[int]
    isas: Sequence[str]
    copies: Sequence[int]
    threads: int = 1
    n: int = 256
    rounds: int = 5
    seconds: float = 1.0
    timeout: float = 3600.0


def run(work: CopyWork, timeout: float) -> dict[str, Any]:
    """Return the answer of one start of the copies.

    Raises
    ------
    SubsaltError
        When one fails (E781).
    """
    words = [sys.executable, "-m", "subsalt_lab.copies_worker", work.text()]
    ran = programs.run(words, what=f"the run of {len(work.threads)} copies", timeout=timeout)
    answers = [line[len(ANSWER) :] for line in ran.stdout.splitlines() if line.startswith(ANSWER)]
    if len(answers) != 1:
        raise programs.failed("the run of copies printed no answer", ran.stderr)
    answer: dict[str, Any] = json.loads(answers[0])
    return answer


def measure(
    settings: Settings,
    *,
    say: Say = lambda text: None,
    run: Callable[[CopyWork, float], dict[str, Any]] = run,
    topology: Topology | None = None,
) -> Result:
    """Measure every combination.

    Parameters
    ----------
    settings : Settings
        Settings of the measurement.
    say : callable
        Callback for progress text.
    run : callable
        Gives the answer of one start.
    topology : Topology, optional
        Cores; those of this process when None.

    Raises
    ------
    MemoryPlanError
        When the arrays of all copies take more than `MEMORY_SHARE` of the memory.
    SubsaltError
        When two copies did not compute the same (E710).
    """
    _refuse_too_large(settings)
    there = topology or Topology.here()
    rows: list[Row] = []
    with Watch(min(len(there.cores), max(settings.copies) * settings.threads)) as watch:
        for medium in settings.media:
            for order in settings.orders:
                for isa in settings.isas:
                    for count in settings.copies:
                        say(
                            f"kernels: {count} cop{'ies' if count != 1 else 'y'} of {medium}, order {order}, {isa}"
                        )
                        work = _work(settings, medium, order, isa, count, there)
                        rows += _rows(work, settings, count, run(work, settings.timeout), there)
    notes = ["counted is the window in which all copies ran; all copies gave the same bits"]
    if any(r["marks"] for r in rows):
        notes.append("oversubscribed: more threads than cores, which take turns; not kept in machine.json")
    return Result(
        "copies", asdict(settings), rows, UNITS, watch.facts(), [*notes, *filter(None, [watch.text()])]
    )


def _refuse_too_large(settings: Settings) -> None:
    """Refuse arrays that the machine does not hold."""
    each = max(bytes_needed(settings.n, m, o, False) for m in settings.media for o in settings.orders)
    # one process more, with as many threads as the copies have together
    most = max(settings.copies) + 1
    memory = machine_facts()["ram_bytes"]
    if most * each > MEMORY_SHARE * memory:
        raise MemoryPlanError(
            f"{most} processes of {each / 1e9:.2f} GB take more than {MEMORY_SHARE:.0%} of the {memory / 1e9:.1f} GB "
            "of memory",
            "use a smaller -n, or fewer --copies",
            code="E612",
        )


def _work(settings: Settings, medium: str, order: int, isa: str, count: int, there: Topology) -> CopyWork:
    """Return what one start runs: the copies, and behind them one process with the threads of all."""
    each, together = settings.threads, count * settings.threads
    places = there.place(count, each) or [[] for _ in range(count)]
    threads, cases = [each] * count, {ALONE: [0]}
    if count > 1:
        cases |= {TOGETHER: list(range(count)), THREADS: [count]}
        threads.append(together)
        places = [*places, sorted(c for p in places for c in p)]
    return CopyWork(medium, order, isa, settings.n, threads, places, cases, settings.rounds, settings.seconds)


def window_rates(answers: Sequence[Mapping[str, Any]], point_steps: float) -> list[float]:
    """Return the rate of each copy in the window in which all of them ran.

    Parameters
    ----------
    answers : sequence of mapping
        Answers of the copies of one sample: when the ``first`` call began, and when each of them ``ends``.
    point_steps : float
        Point steps of one call.

    Notes
    -----
    A call that lies partly in the window counts by that part.
    """
    begin = max(a["first"] for a in answers)
    end = min(a["ends"][-1] for a in answers)
    rates = []
    for a in answers:
        calls, start = 0.0, a["first"]
        for stop in a["ends"]:
            calls += max(0.0, min(stop, end) - max(start, begin)) / (stop - start)
            start = stop
        rates.append(calls * point_steps / (end - begin))
    return rates


def _rows(
    work: CopyWork, settings: Settings, count: int, answer: Mapping[str, Any], there: Topology
) -> list[Row]:
    """Return a row for each case of one start."""
    facts = answer["facts"]
    if len({f["field"] for f in facts}) != 1:
        raise wrong_answer(f"{work.medium}, order {work.order}, {work.isa}: copies gave different fields")
    steps = facts[0]["point_steps"]
    rates = {name: [window_rates(a, steps) for a in given] for name, given in answer["cases"].items()}
    sums = {name: [sum(r) for r in given] for name, given in rates.items()}
    out = []
    for name, samples in sums.items():
        copies, threads = (
            (1, work.threads[-1]) if name == THREADS else (len(work.cases[name]), settings.threads)
        )
        middle = summary(samples)
        crowded = copies * threads > len(there.cores)
        row: Row = {
            "case": name,
            "medium": work.medium,
            "dim": 3,
            "order": work.order,
            "boundary": "pml",
            "model_storage": "f32",
            "isa": work.isa,
            "copies": copies,
            "threads": threads,
            "n": work.n,
            "points_per_s": middle.median,
            "spread": middle.spread,
            "samples": samples,
            "marks": "oversubscribed" if crowded else "",
        }
        if name == TOGETHER:
            row |= {
                "least_per_s": summary([min(r) for r in rates[name]]).median,
                "most_per_s": summary([max(r) for r in rates[name]]).median,
                "of_copies_alone": ratio(samples, [count * s for s in sums[ALONE]]).median,
                "of_one_process": ratio(samples, sums[THREADS]).median,
            }
        out.append(row)
    return out


def for_machine(result: Result) -> list[Row]:
    """Return the rows for machine.json: without samples, none of more threads than cores."""
    return result.for_machine("samples", "case", "marks", where=lambda row: not row["marks"])


def tables(rows: Sequence[Mapping[str, Any]], how: str) -> list[str]:
    """Return one table per medium, order, instruction set and number of copies; one for all as CSV."""
    identity = ("medium", "order", "isa", "n")
    if how == "csv":
        return [render(rows, [*(Column(k, k) for k in identity), *COLUMNS], how)]
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for r in rows:
        groups.setdefault(tuple(r[k] for k in identity), []).append(r)
    out = []
    for (medium, order, isa, n), some in groups.items():
        head = f"independent copies: {medium}, order {order}, PML, {n}^3 points each, {isa}"
        text = render(some, COLUMNS, how)
        out.append(f"{head}\n{text}" if how == "text" else f"**{head}**\n\n{text}")
    return out
