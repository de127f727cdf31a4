"""A short measurement before a plan, where this machine was not measured for such a job: a few seconds, saved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from subsalt.checkpoint.options import CheckpointOptions
from subsalt.errors import SubsaltError
from subsalt.machine import machine_file as machines
from subsalt.machine import shot_rates, storage
from subsalt.machine.machine_file import Machine
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.plan import program
from subsalt.plan.disk import existing
from subsalt.plan.rates import faster, machine_if_known, shot_row, why_again, worth_again
from subsalt.plan.world import World

#: bytes put and got in a folder
FOLDER_BYTES = 96 << 20


def measured(
    needs: Needs,
    world: World,
    options: CheckpointOptions,
    folders: Sequence[Path],
    say: Callable[[str], None] = lambda text: None,
    run_dir: Path | None = None,
) -> Machine | None:
    """Return this machine with the rates of such a shot and of the folders of its snapshots, measured where unknown.

    Parameters
    ----------
    needs : Needs
        Setup and survey.
    world : World
        Ranks, for the threads of a node.
    options : CheckpointOptions
        How files are written.
    folders : sequence of Path
        Where snapshots go; the nearest folder above that exists is measured.
    say : callable
        Told what is measured.
    run_dir : Path, optional
        Where images are published.
    """
    known = machine_if_known()
    if os.environ.get("SUBSALT_MEASURE") == "off":
        return known
    machine = known or Machine.here()
    case = case_of(needs, world)
    options_ = needs.setup.propagation
    row = shot_row(needs.medium, len(case.shape), options_, machine, case.threads, needs.points)
    if row is None or worth_again(row):
        say(
            f"measuring how long a time step takes ({needs.medium}, order {case.order}){why_again(row)}: a few seconds"
        )
        _measured("shots", lambda: [faster(shot_rates.measure(case), row, "step_points_per_s")])
    for folder in folders:
        place = existing(folder)
        if storage.rates_of(machine, place, direct=options.direct) is None:
            say(f"measuring {place}: {FOLDER_BYTES / 1e6:.0f} MB written and read")
            threads = options.threads or 2
            _measured(
                "storage",
                lambda p=place, t=threads: storage.measure_directory(p, FOLDER_BYTES, t, options.direct),  # type: ignore[misc]
            )
            machine = machine_if_known() or machine
    if run_dir is not None and storage.publishing_known(machine, home := existing(run_dir)) is None:
        _measured("storage", lambda: storage.measure_publishing(home))
    program.measured("rtm", say)
    return machine_if_known()


def case_of(needs: Needs, world: World) -> shot_rates.ShotCase:
    """Return the largest shot of a survey as something to be timed on a node."""
    setup, options = needs.setup, needs.setup.propagation
    shot = needs.worst_shots[0]
    shape = needs.window(shot).shape
    return shot_rates.ShotCase(
        needs.medium,
        shape if setup.model.grid.ndim == 3 else (shape[0], shape[2]),
        options.order,
        options.boundary,
        options.layer_cells,
        options.free_surface,
        options.model_storage,
        setup.image_step if isinstance(setup, MigrationSetup) else 4,
        min(len(shot.rcv), 2000),
        min(int(Machine.here().machine.get("cores") or 1), world.threads * world.ranks_per_node),
    )


def _measured(section: str, measure: Callable[[], Iterable[dict[str, Any]]]) -> None:
    """Measure and keep the rows; what cannot be measured or kept leaves the plan as it was."""
    try:
        machines.save(machines.default_path(), section, measure())
    except (SubsaltError, OSError, MemoryError):
        return
