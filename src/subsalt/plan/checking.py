"""Every check of a job, of what this machine has for it included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from subsalt import kernels
from subsalt.check.context import Context
from subsalt.errors import Finding
from subsalt.job.check_result import CheckResult, Loader, Resources
from subsalt.job.checking import inspect
from subsalt.job.types import auto_to_none
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import single, world
from subsalt.plan import gpu as gpus
from subsalt.plan.grouping import Decision, group_size
from subsalt.plan.need import Needs
from subsalt.plan.rates import machine_if_known
from subsalt.plan.scratch import checkpointing_of
from subsalt.plan.world import World

if TYPE_CHECKING:
    from subsalt.check.kirchhoff import KirchhoffContext
    from subsalt.checkpoint.choice import Choice
    from subsalt.job.base import BaseJob
    from subsalt.job.job import Job
    from subsalt.job.kirchhoff_job import KirchhoffJob


def check_job(job: BaseJob) -> CheckResult:
    """Apply every rule to a job of any method; the result is kept with the job until it forgets what was read.

    Notes
    -----
    Reads the models, all trace headers, and some traces. In a run of several ranks the call is collective: rank 0
    applies the rules, and all return the same findings.
    """
    return inspect(job, RESOURCES[job.method])


def _of_a_shot(job: Job, context: Context, findings: list[Finding], load: Loader) -> None:
    """Add the memory the largest shot needs to the facts; refuse what cannot fit."""
    # a run of several ranks plans for its groups, right after the checks
    if job.data is None or job.streaming or any(f.level == "error" for f in findings):
        return
    assert context.model is not None
    assert context.wavelet is not None
    assert context.survey is not None
    survey, model, wavelet = context.survey, context.model, context.wavelet

    def plan() -> Decision:
        setup = MigrationSetup.build(model, wavelet, survey.time, context.propagation, context.imaging)
        context.facts |= {"nt": setup.axis.nt, "image_step": setup.image_step}
        gpu = gpus.of_run(job.parallel.device, machine_if_known())
        world = World.of(single(), kernels.threads_to_use(context.propagation.threads), gpu)
        how = checkpointing_of(
            job.checkpoint_options,
            Needs(setup, survey.shots, 1, world.threads),
            world,
            job.default_run_dir,
            job.output.formats,
            machine_if_known(),
        )
        return group_size(setup, survey.shots, world, checkpointing=how, pictures=job.output.pictures)

    found = load(plan)
    if found is not None:
        context.facts["memory_bytes"] = found.need.total
        load.findings += recomputing(found.choice)


def _size(job: KirchhoffJob, c: KirchhoffContext) -> None:
    """Keep memory and contributions with the facts; raise when a run of this process alone cannot fit."""
    from subsalt.plan.kirchhoff_layout import layout_of
    from subsalt.plan.kirchhoff_work import work_of

    setup, section = job.setup(), job.kirchhoff
    work = job.remember("work", lambda: work_of(setup))
    c.facts["work"] = work.to_dict()
    if world().size > 1:
        # a run of several ranks plans for them, right after the checks
        return
    threads = kernels.threads_to_use(auto_to_none(job.parallel.threads))
    layout = layout_of(
        setup,
        World.of(single(), threads, gpus.of_run(job.parallel.device)),
        traces_at_a_time=auto_to_none(section.trace_block),
        memory=auto_to_none(section.memory),
        work=work,
        pictures=job.output.pictures,
    )
    c.facts["memory_bytes"] = layout.total
    if layout.error is not None:
        raise layout.error


def _of_an_image(job: KirchhoffJob, c: KirchhoffContext, findings: list[Finding], load: Loader) -> None:
    """Add the memory of a time migration and its work to the facts; refuse what cannot fit."""
    load(lambda: _size(job, c))


#: by method
RESOURCES: dict[str, Resources] = {"rtm": _of_a_shot, "kirchhoff": _of_an_image}


def recomputing(choice: Choice | None) -> list[Finding]:
    """Return what a reader should know of a shot whose snapshots do not all fit into memory."""
    if choice is None or choice.best.name == "store, memory":
        return []
    store = choice.alternatives[0]
    done = choice.counts.source_steps + choice.counts.receiver_steps
    more = done / max(1, choice.scheme.steps + choice.scheme.samples * choice.scheme.image_step)
    return [
        Finding(
            "W665",
            "ok",
            f"{choice.best.name}: the snapshots of a shot would take {store.need.memory / 1e9:.2f} GB, "
            f"{max(0, choice.limits.memory) / 1e9:.2f} GB are there for them; {more:.2f} times the time steps",
            "subsalt plan shows the alternatives",
            {"strategy": choice.best.name, "steps_ratio": more},
        )
    ]
