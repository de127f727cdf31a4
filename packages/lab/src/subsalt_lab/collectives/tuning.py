"""Which algorithm of each collective is fastest here: the measurement from its request to its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from subsalt.host import usable_cores
from subsalt.machine.load import Watch
from subsalt.report.table import Column
from subsalt_lab.collectives.choice import Algorithm, Choice
from subsalt_lab.collectives.decide import LEAST_RATIO, Verdict, choices, verdicts
from subsalt_lab.collectives.request import Request
from subsalt_lab.collectives.sweep import Say, Sweep, sweep
from subsalt_lab.result import Result

if TYPE_CHECKING:
    from subsalt_lab.pmpi.mpi_in_use import MpiInUse

COLUMNS = (
    Column("collective", "collective"),
    Column("ranks", "ranks", "d"),
    Column("size", "bytes"),
    Column("default_us", "default us", ".4g"),
    Column("best", "best other"),
    Column("best_us", "us", ".4g"),
    Column("ratio", "ratio", ".2f"),
    Column("interval", "95 % interval"),
    Column("verdict", "verdict"),
)
UNITS = {
    "bytes": "B of one rank; of alltoall for one other rank",
    "default_us": "us, median, of the slowest rank",
    "best_us": "us, median, of the slowest rank",
    "ratio": "default / best, median over rounds",
    "ratio_low": "lower end of the 95 % interval of the ratio, over rounds and starts",
    "ratio_high": "upper end of it",
    "p": "chance of such a difference, corrected after Holm for all algorithms",
    "seconds": "s of a call, one line per start",
}


@dataclass
class Tuning(Result):
    """What was measured and decided.

    Parameters
    ----------
    choices : sequence of Choice
        The switches that the measurements carry.
    applicable : bool
        Whether they may be applied: every rank had a core, and nothing else used it.
    left_out : sequence of str
        What was not timed, and why.
    """

    choices: Sequence[Choice] = ()
    applicable: bool = True
    left_out: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON, every sample included."""
        return super().to_dict() | {
            "choices": [c.to_dict() for c in self.choices],
            "applicable": self.applicable,
            "left_out": list(self.left_out),
        }

    def short(self) -> dict[str, Any]:
        """Return plain values without the samples."""
        plain = self.to_dict()
        return plain | {
            "rows": [{k: v for k, v in row.items() if k != "algorithms"} for row in plain["rows"]]
        }


def tune(
    mpi: MpiInUse,
    request: Request,
    *,
    writable: Callable[[Algorithm], str] = lambda algorithm: "",
    measure: Callable[..., Sweep] = sweep,
    say: Say = lambda text: None,
) -> Tuning:
    """Measure the algorithms of an MPI and decide which of them to use.

    Parameters
    ----------
    mpi : MpiInUse
        The MPI.
    request : Request
        What is measured.
    writable : callable
        Says why an algorithm cannot be chosen for a program; empty: it can.
    measure : callable
        As `sweep.sweep`.
    say : callable
        Told what is being done.
    """
    with Watch(min(request.ranks[-1], usable_cores())) as watch:
        found = measure(mpi, request, say=say)
    decided = verdicts(found.samples, found.floor, writable)
    noisy = found.crowded or watch.text()
    switches = choices(decided)
    left_out = [x.text() for x in found.left_out]
    return Tuning(
        "collectives",
        request.to_dict() | {"mpi": mpi.name, "launcher": mpi.launcher.name, "floor": found.floor},
        rows(found, decided),
        UNITS,
        watch.facts() | ({"noisy": True, "oversubscribed": found.crowded} if found.crowded else {}),
        [
            f"{mpi.name}; {request.starts} starts of {request.rounds} rounds; algorithms in random order in each round",
            *left_out,
            *_said(mpi.name, switches, noisy),
        ],
        choices=switches,
        applicable=not noisy,
        left_out=left_out,
    )


def rows(found: Sweep, decided: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Return one row per place, with the samples of all of its algorithms."""
    out = []
    for v in decided:
        here = [s for s in found.samples if s.place == (v.collective, v.comm_size, v.nbytes)]
        out.append(
            v.row()
            | {
                "size": f"{v.nbytes:,}" if v.collective != "barrier" else "-",
                "algorithms": [
                    s.algorithm.to_dict() | {"us": s.us, "seconds": [list(line) for line in s.seconds]}
                    for s in here
                ],
            }
        )
    return out


def _said(name: str, switches: Sequence[Choice], noisy: str) -> list[str]:
    """Return the lines that sum up."""
    if not switches:
        said = [
            f"no change: nothing is surely more than {LEAST_RATIO - 1:.0%} faster than what {name} does by itself"
        ]
    else:
        said = [switch_text(c) for c in switches]
        if any(c.collective in ("reduce", "allreduce") for c in switches):
            said.append(
                "ATTENTION: another reduce or allreduce adds in another order: results of programs that use it change "
                "in their last bits"
            )
    if noisy:
        said.append(f"{noisy}: none of this is applied")
    return said


def switch_text(c: Choice) -> str:
    """Return a line about one switch."""
    sizes = "" if c.bytes_below is None else f" from {c.bytes_from:,} to {c.bytes_below - 1:,} bytes"
    return (
        f"switch {c.collective} on {c.comm_size} ranks{sizes} to {c.algorithm.name}: {c.default_us:.4g} us become "
        f"{c.chosen_us:.4g} us, ratio {c.ratio_low:.2f} to {c.ratio_high:.2f}"
    )
