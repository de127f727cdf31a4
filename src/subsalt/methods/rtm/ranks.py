"""How the ranks of a run share its shots, decided before anything is allocated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.acquisition.survey import Survey
from subsalt.kernels import threads_to_use
from subsalt.methods.rtm.grouping import Grouping, group_size
from subsalt.methods.rtm.need import Needs, Setup, headers_of
from subsalt.methods.rtm.node_inputs import NodeInputs
from subsalt.methods.rtm.scratch import checkpointing_of, disks_of
from subsalt.parallel.comm import Comm
from subsalt.plan import World
from subsalt.plan import gpu as gpus
from subsalt.plan.disk import disk_error
from subsalt.plan.program import agreed
from subsalt.plan.rates import machine_if_known
from subsalt.run.identity import of_the_run
from subsalt.run.scheduler import threads_for

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job


def plan_ranks(job: Job, setup: Setup, survey: Survey, world: Comm, run_dir: Path | None = None) -> Grouping:
    """Return how many ranks share a shot and what it keeps, decided before anything is allocated. Collective.

    Parameters
    ----------
    job : Job
        With `[parallel]` and `[checkpoint]`.
    setup : MigrationSetup or ModellingSetup
        Setup of the computation.
    survey : Survey
        Its shots.
    world : Comm
        All ranks.
    run_dir : Path, optional
        Run directory of a migration: snapshots and states go there, unless [checkpoint] names folders.

    Raises
    ------
    MemoryPlanError
        When a rank has not the memory; with the smallest change that fits.
    DiskError
        When the disk has not the room for what [checkpoint] asks for.
    ConfigError
        When slabs would be thinner than their halo.
    """
    wanted_group = job.parallel.group
    threads = threads_for(world, job.propagation_options.threads)
    known = machine_if_known()
    with world.together():
        gpu = gpus.of_run(job.parallel.device, known)
    ranks_here = World.of(world, threads_to_use(threads), gpu)
    needs = Needs(
        setup,
        survey.shots,
        ranks_here.ranks,
        ranks_here.threads,
        streamed=job.parallel.stream_model,
        headers=headers_of(survey),
        program=agreed(world, "rtm"),
    )
    inputs = None
    with world.together():
        if world.is_root and run_dir is not None:
            formats = job.output.formats
            # rates and room as rank 0 finds them: all ranks must choose alike
            options = of_the_run(job.checkpoint_options, run_dir)
            how = checkpointing_of(options, needs, ranks_here, run_dir, formats, known)
            inputs = how.to_dict()
    inputs = world.bcast(inputs)
    with world.together():
        chosen = None if inputs is None else NodeInputs.from_dict(inputs)
        pictures = run_dir is not None and job.output.pictures
        needs = replace(needs, checkpointing=chosen, pictures=pictures)
        # ranks compute a shot each: only one thread of a process may call MPI
        at_once = job.parallel.shots_at_once if world.mpi is None else 1
        decision = group_size(needs, ranks_here, wanted_group, at_once)
    with world.together():
        if world.is_root and run_dir is not None and decision.needs is not None:
            refused = disk_error(disks_of(decision.needs, decision, run_dir, job.output.formats))
            if refused is not None:
                raise refused
    return decision
