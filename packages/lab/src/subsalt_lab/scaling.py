"""How do time steps, and whole migrations, scale over ranks and threads?

Every layout is a start of its own (`subsalt_lab.scaling_worker`, or ``subsalt migrate`` of a made-up survey), the
layouts take turns, and nothing is reported before all of them gave the same bits.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from subsalt.errors import SubsaltError
from subsalt.machine import launcher
from subsalt.machine.launcher import ALONE, Launcher
from subsalt.machine.load import Watch
from subsalt.machine.records import wrong_answer
from subsalt_lab.campaign import interleaved
from subsalt_lab.layouts import Layout
from subsalt_lab.result import Result
from subsalt_lab.scaling_rows import Timed, add_rates, add_sockets, rows
from subsalt_lab.scaling_worker import ANSWER, Work
from subsalt_lab.topology import Topology

Say = Callable[[str], None]

#: steps before the timed ones: the cut into tiles is chosen by trial in them
WARM = 12
#: resolution of the monotonic clock with room for its call, s
CLOCK = 1e-6

UNITS = {
    "time": "s, median",
    "seconds": "s",
    "resolution": "s",
    "spread": "half the interquartile range over the median",
    "speed_up": "cores of the smallest run times its time over this time (weak: rates)",
    "efficiency": "speed-up over cores",
    "efficiency_low": "lower end of the 95 % interval of the efficiency",
    "efficiency_high": "upper end of the 95 % interval of the efficiency",
    "against_fewest_ranks": "speed over that of the layout with the fewest ranks on as many cores, by rounds",
    "rate": "point-steps/s, one wavefield, layer included",
    "rate_per_rank": "point-steps/s",
    "rate_per_core": "point-steps/s",
    "rating": "runs per day",
    "rating_per_core": "runs per day and core, each counted as its share of work",
    "rating_per_socket": "runs per day and socket, each counted as its share of work",
    "socket_gain": "speed over that of the fewest cores on as many sockets, by rounds",
    "total": "s, from the start of the command to its end",
    "kernel_share": "seconds of time steps over total",
}


@dataclass(frozen=True)
class Settings:
    """What is measured of time steps.

    Parameters
    ----------
    layouts : sequence of Layout
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

    layouts: Sequence[Layout]
    medium: str = "vti"
    grid: tuple[int, int, int] = (256, 256, 256)
    steps: int = 40
    repeats: int = 5
    weak: bool = False
    timeout: float = 3600.0
    launcher: Launcher = ALONE

    def grid_of(self, layout: Layout) -> tuple[int, int, int]:
        """Return the grid that a layout computes."""
        nx, ny, nz = self.grid
        return (nx * layout.ranks if self.weak else nx, ny, nz)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a result."""
        plain = asdict(self) | {"launcher": self.launcher.name}
        return plain | {"layouts": [asdict(x) | {"name": x.name} for x in self.layouts]}


class Started(Protocol):
    """Settings of measurements that start ranks."""

    @property
    def launcher(self) -> Launcher:
        """What starts them."""

    @property
    def timeout(self) -> float:
        """Seconds that one start may take."""

    @property
    def layouts(self) -> Sequence[Layout]:
        """Layouts that are compared."""


def start(settings: Started, layout: Layout, work: Work) -> dict[str, Any]:
    """Run the worker with a layout and return its answer.

    Raises
    ------
    SubsaltError
        When it fails (E781), or when the launcher started ranks that do not see each other (E782).
    """
    program = [sys.executable, "-m", "subsalt_lab.pinned", layout.pin_lists, "subsalt_lab.scaling_worker"]
    words = [*program, work.text()]
    if layout.ranks > 1 or "{ranks}" in " ".join(settings.launcher.words):
        words = settings.launcher.start(layout.ranks, words)
    ran = launcher.run(
        words,
        what=f"the run of {layout.ranks} ranks x {layout.threads} threads",
        extra={"OMP_NUM_THREADS": str(layout.threads)},
        timeout=settings.timeout,
    )
    answers = [line[len(ANSWER) :] for line in ran.stdout.splitlines() if line.startswith(ANSWER)]
    if not answers:
        raise launcher.failed(f"the run of layout {layout.name} printed no answer", ran.stderr)
    found: dict[str, Any] = json.loads(answers[-1])
    if len(answers) > 1 or found["ranks"] != layout.ranks:
        raise not_together(layout.ranks, len(answers), settings.launcher.name)
    return found


def not_together(ranks: int, worlds: int, name: str) -> SubsaltError:
    """Return the error of ranks that do not see each other."""
    error = SubsaltError(
        f"{name} started {worlds} separate runs in place of one with {ranks} ranks",
        "launcher and MPI library do not belong together: set MPI4PY_LIBMPI to the library of the launcher's MPI, "
        "or give srun the --mpi that the library knows (docs/howto/cluster.md)",
        code="E782",
    )
    error.exit_code = 69
    return error


def located(settings: Started, say: Say) -> list[Layout]:
    """Return the layouts with the cores and nodes on which their ranks were found; starts each once."""
    out = []
    for layout in settings.layouts:
        say(f"scaling: where do {layout.name} run")
        facts = start(settings, layout, Work((0, 0, 0), "", 0, 0, layout.threads))
        out.append(layout.where(facts["where"]))
    return out


def key_of(layout: Layout, grid: Sequence[int]) -> dict[str, Any]:
    """Return what of a layout stands in its row."""
    return {
        "ranks": layout.ranks,
        "threads": layout.threads,
        "per_core": layout.per_core,
        "nodes": layout.nodes,
        "pinned": layout.pin_lists if layout.pins else "no",
        "grid": " x ".join(map(str, grid)),
    }


def marks_of(layout: Layout) -> list[str]:
    """Return what a reader must know of a layout."""
    found = ["oversubscribed"] if layout.oversubscribed else []
    return found + (["hyperthreads"] if layout.per_core > 1 else [])


def measure(settings: Settings, *, say: Say = lambda text: None, run: Callable[..., Any] = start) -> Result:
    """Measure time steps, without any input or output, with every layout.

    Parameters
    ----------
    settings : Settings
        What is measured.
    say : callable
        Told what is being measured.
    run : callable
        Gives the answer of one start: ``run(settings, layout, work)``.

    Raises
    ------
    SubsaltError
        When layouts give different fields (E710): nothing is reported then.
    """
    found = located(settings, say) if run is start else list(settings.layouts)

    def once(layout: Layout, number: int) -> dict[str, Any]:
        say(f"scaling: {layout.name}, round {number + 1} of {settings.repeats}")
        grid = settings.grid_of(layout)
        answer: dict[str, Any] = run(
            settings, layout, Work(grid, settings.medium, settings.steps, WARM, layout.threads)
        )
        return answer

    with Watch(max(x.cores for x in found)) as watch:
        answers = interleaved(found, settings.repeats, once)
    same_bits(
        [(settings.grid_of(x), [a["field"] for a in given]) for x, given in zip(found, answers, strict=True)]
    )
    timed = [
        Timed(
            key_of(layout, settings.grid_of(layout)) | {"point_steps": given[0]["point_steps"]},
            layout.cores,
            [a["seconds"] for a in given],
            given[0]["point_steps"],
            CLOCK,
            marks_of(layout),
        )
        for layout, given in zip(found, answers, strict=True)
    ]
    table = rows(timed)
    add_rates(table)
    add_sockets(table, timed, Topology.here().per_socket)
    what = "weak" if settings.weak else "strong"
    return Result(
        "scaling",
        settings.to_dict() | {"what": "kernel", "scaling": what},
        table,
        UNITS,
        watch.facts(),
        [*notes(found), *filter(None, [watch.text()])],
    )


def same_bits(fields: Sequence[tuple[tuple[int, ...], Sequence[str]]]) -> None:
    """Refuse hashes that differ although the grid is the same; an empty grid is one that nobody named.

    Raises
    ------
    SubsaltError
        E710; nothing may be reported then.
    """
    by_grid: dict[tuple[int, ...], set[str]] = {}
    for grid, hashes in fields:
        by_grid.setdefault(grid, set()).update(hashes)
    for grid, different in by_grid.items():
        if len(different) > 1:
            where = f" on {' x '.join(map(str, grid))} points" if grid else ""
            raise wrong_answer(f"layouts gave {len(different)} different results{where}")


def notes(found: Sequence[Layout]) -> list[str]:
    """Return the lines that a reader of the table must know."""
    out = ["all layouts gave the same bits"]
    if any(x.oversubscribed for x in found):
        out.append("oversubscribed: more threads than hardware threads; they take turns on the cores counted")
    if not any(x.pins for x in found):
        out.append("not pinned: launcher and system place the threads")
    if not any(x.per_core > 1 for x in found):
        out.append("no hyperthreads in this table")
    return out
