"""The last check of reverse time migration: whether the largest shot fits into this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from subsalt import kernels
from subsalt.check.context import Context
from subsalt.errors import Finding
from subsalt.job.checking import Loader
from subsalt.methods.rtm.grouping import Decision, group_size
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.scratch import checkpointing_of
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import single
from subsalt.plan import gpu as gpus
from subsalt.plan.rates import machine_if_known
from subsalt.plan.world import World

if TYPE_CHECKING:
    from subsalt.checkpoint.choice import Choice
    from subsalt.job.job import Job


def check_memory(job: Job, context: Context, findings: list[Finding], load: Loader) -> None:
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
