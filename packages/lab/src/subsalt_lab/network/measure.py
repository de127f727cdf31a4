"""How fast do messages go between ranks, how does that compare with other benchmarks and other machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from subsalt.host import machine_facts, usable_cores
from subsalt.machine.load import Watch
from subsalt_lab.network import balance, hpcc, imb, rows
from subsalt_lab.network.messages import Say, Settings, Start, messages, starts
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.result import Result


@dataclass(frozen=True)
class Beside:
    """What is measured beside our own messages.

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
    measured: list[rows.Row] | None = None,
) -> Result:
    """Measure messages, then what was asked for beside them, and set this machine among others.

    Parameters
    ----------
    settings : Settings
        Of the messages.
    beside : Beside
        Other benchmarks.
    say : callable
        Told what is being measured.
    start : callable, optional
        In place of what starts the ranks.
    peak : callable
        Gives the peak rate of all cores, GFLOP/s.
    measured : list, optional
        Gets the rows of messages as they come, for whoever is stopped on the way.
    """
    mpi: MpiInUse | None = None
    if start is None:
        mpi, start = starts(settings)
    beside.check(mpi)
    with Watch(min(max(settings.ranks), usable_cores())) as watch:
        found = messages(settings, start, say, measured)
        all_rows, notes = [*found.rows], [*found.notes]
        if beside.imb:
            run = imb.Run(max(settings.ranks), tuple(settings.sizes), settings.threads)
            say(f"network: IMB-MPI1, {run.ranks} ranks")
            all_rows += imb.check(
                found.rows, run, mpi or MpiInUse.find(settings.launcher, library=settings.library)
            )
        dgemm = None
        if beside.hpcc:
            challenge = hpcc.measure(beside.hpcc, say=say)
            all_rows += challenge.rows
            notes += challenge.notes
            dgemm = challenge.dgemm
        usable = [r for r in found.rows if not r.get("oversubscribed")]
        name = str(machine_facts()["cpu"])
        all_rows += balance.founding() + balance.this_machine(usable, peak(), dgemm, name)
    return Result(
        "network",
        asdict(settings)
        | asdict(beside)
        | {
            "mpi": found.mpi,
            "launcher": settings.launcher or "of this environment",
            "library": settings.library.name if settings.library else None,
        },
        all_rows,
        rows.UNITS,
        watch.facts(),
        [*notes, *filter(None, [watch.text()])],
    )


def for_machine(result: Result) -> list[dict[str, Any]]:
    """Return the rows a plan may use, without samples: of ranks with a core each, at the thread level of our runs."""
    common = {"date": result.date, "version": result.version, "noisy": result.noisy}
    return [
        {k: v for k, v in row.items() if k not in ("seconds", "oversubscribed", "threads")} | common
        for row in result.rows
        if _is_usable(row)
    ]


def _is_usable(row: Mapping[str, Any]) -> bool:
    return row.get("threads") == "multiple" and not row.get("oversubscribed", True)
