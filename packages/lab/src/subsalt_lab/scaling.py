"""How do time steps scale over ranks and threads, without any input or output?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from subsalt.machine.launcher import ALONE, Launcher
from subsalt_lab.campaign import CLOCK, UNITS, Campaign, key_of, marks_of, notes, plain, same_bits
from subsalt_lab.layouts import RankLayout
from subsalt_lab.rank_programs import located, start
from subsalt_lab.result import Result, Say
from subsalt_lab.scaling_rows import Timed, add_rates, add_sockets, rows
from subsalt_lab.scaling_worker import RankWork
from subsalt_lab.topology import Topology

#: steps before the timed ones: the cut into tiles is chosen by trial in them
WARM = 12


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement of time steps.

    Parameters
    ----------
    layouts : sequence of RankLayout
        In the order of the table.
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"``.
    grid : tuple of int
        Points along x, y, z, layer included; in weak scaling those of one rank.
    steps : int
        Time steps of a sample.
    repeats : int
        Samples of each layout.
    weak : bool
        The grid grows along x with the ranks.
    timeout : float
        Seconds that one start may take.
    """

    layouts: Sequence[RankLayout]
    medium: str = "vti"
    grid: tuple[int, int, int] = (256, 256, 256)
    steps: int = 40
    repeats: int = 5
    weak: bool = False
    timeout: float = 3600.0
    launcher: Launcher = ALONE

    def grid_of(self, layout: RankLayout) -> tuple[int, int, int]:
        """Return the grid that a layout computes."""
        nx, ny, nz = self.grid
        return (nx * layout.ranks if self.weak else nx, ny, nz)


def measure(settings: Settings, *, say: Say = lambda text: None, run: Callable[..., Any] = start) -> Result:
    """Measure time steps with every layout.

    Parameters
    ----------
    settings : Settings
        Settings of the measurement.
    say : callable
        Callback for progress text.
    run : callable
        Gives the answer of one start: ``run(settings, layout, work)``.

    Raises
    ------
    SubsaltError
        When layouts give different fields (E710): nothing is reported then.
    """
    layouts = located(settings, say) if run is start else list(settings.layouts)
    campaign = Campaign(settings.repeats, max(x.cores for x in layouts), say)

    def once(layout: RankLayout) -> dict[str, Any]:
        work = RankWork(settings.grid_of(layout), settings.medium, settings.steps, WARM, layout.threads)
        answer: dict[str, Any] = run(settings, layout, work)
        return answer

    answers = campaign.samples(layouts, once, lambda layout: layout.name)
    timed = [
        Timed(
            key_of(layout, settings.grid_of(layout)) | {"point_steps": given[0]["point_steps"]},
            layout.cores,
            [a["seconds"] for a in given],
            given[0]["point_steps"],
            CLOCK,
            marks_of(layout),
        )
        for layout, given in zip(layouts, answers, strict=True)
    ]
    same_bits([(t.key["grid"], [a["field"] for a in given]) for t, given in zip(timed, answers, strict=True)])
    table = rows(timed)
    add_rates(table)
    add_sockets(table, timed, Topology.here().per_socket)
    facts = {"what": "kernel", "scaling": "weak" if settings.weak else "strong"}
    return campaign.result(plain(settings) | facts, table, UNITS, notes(layouts))
