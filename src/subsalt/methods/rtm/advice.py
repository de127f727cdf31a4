"""Which directory the checkpoints of a job should go to, and how: predicted from its schedule and from measured rates.

Sizes, counts and schedules are those of the plan of the job; rates are those that `subsalt lab storage` measured, with
the flush to storage inside. A file system in memory is no disk: what lies there takes memory from the shot.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.checkpoint.choice.choose import Choice
from subsalt.checkpoint.choice.footprint import disk_traffic
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.io.publish import free_bytes
from subsalt.machine.machine_file import Machine
from subsalt.machine.storage import accesses_measured, mount_of
from subsalt.methods.rtm.grouping import Grouping, decide
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.node_inputs import NodeInputs
from subsalt.methods.rtm.scratch import checkpointing_of
from subsalt.plan.disk import existing
from subsalt.plan.world import World

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job


#: a shot that stands still for less than this part of its time steps does not notice its checkpoints
UNNOTICED = 0.01
#: more threads, or access past the page cache, must be faster by this part to be advised
WORTH = 0.02


@dataclass(frozen=True)
class ScratchPlace:
    """Prediction for the checkpoints of the largest shot in one directory.

    Parameters
    ----------
    directory : str
        As it was given.
    file_system : str
        Its kind.
    in_memory : bool
        It is no disk.
    free, needed : int
        Bytes that checkpoints may take there, and bytes of those that exist at the same time.
    threads : int
        Advised.
    direct : bool
        Past the page cache, advised.
    puts, gets : int
        Records (snapshots and states) of one rank for the largest shot.
    put_bytes, get_bytes : int
        Bytes of all ranks of the node that work at the same time, each counted as the one that has most.
    put_seconds, get_seconds : float
        Seconds of these bytes at the measured rates.
    kernel_seconds, waits, again : float
        Time steps of the shot, what it stands still for its checkpoints, and what of the steps computes samples again
        because the disk gives them no faster.
    strategy : str
        Taken there.
    problem : str
        Why it cannot be used; empty when it can.
    """

    directory: str
    file_system: str
    in_memory: bool
    free: int
    needed: int = 0
    threads: int = 0
    direct: bool = False
    puts: int = 0
    gets: int = 0
    put_bytes: int = 0
    get_bytes: int = 0
    put_seconds: float = 0.0
    get_seconds: float = 0.0
    kernel_seconds: float = 0.0
    waits: float = 0.0
    again: float = 0.0
    strategy: str = ""
    problem: str = ""

    @property
    def hides(self) -> bool:
        """Whether putting and getting hide behind the time steps of a shot that computes nothing twice."""
        return not self.problem and self.waits + self.again <= UNNOTICED * (self.kernel_seconds - self.again)

    @property
    def rank(self) -> tuple[bool, bool, float, float]:
        """Key that sorts places: usable, a disk, seconds that the shot loses, seconds of its transfers."""
        lost = 0.0 if self.hides else self.waits + self.again
        return bool(self.problem), self.in_memory, lost, self.put_seconds + self.get_seconds

    @property
    def reason(self) -> str:
        """One line."""
        if self.problem:
            return self.problem
        if self.in_memory:
            return f"{self.file_system} lies in memory, which the shot could use itself: no disk"
        if self.hides:
            return "puts and gets hide behind the time steps"
        reasons = []
        if self.waits:
            reasons.append(f"stands still for {self.waits:.3g} s")
        if self.again:
            reasons.append(f"computes samples again for {self.again:.3g} s")
        return f"the shot {' and '.join(reasons)} of {self.kernel_seconds + self.waits:.3g} s"


@dataclass(frozen=True)
class Advice:
    """Directories for the checkpoints of one job, the best first.

    Parameters
    ----------
    job : str
        Its name.
    as_it_stands : str
        Strategy and place that the job would take without any advice.
    needs_none : bool
        That keeps nothing on disk.
    kernels : str
        ``"measured"`` or ``"assumed"``: how fast the time steps are.
    places : list of ScratchPlace
        The best first.
    """

    job: str
    as_it_stands: str
    needs_none: bool
    kernels: str
    places: list[ScratchPlace]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        places = [vars(p) | {"hides": p.hides, "reason": p.reason} for p in self.places]
        return vars(self) | {"places": places, "lines": self.lines()}

    def lines(self) -> list[str]:
        """Return what belongs into the job file; nothing when no directory can be used."""
        best = next((p for p in self.places if not p.problem), None)
        if best is None or best.in_memory:
            return []
        folder = os.path.abspath(best.directory).replace("\\", "\\\\").replace('"', '\\"')
        out = ["[checkpoint]", f'directories = ["{folder}"]', f"threads = {best.threads}"]
        return out + (["direct = true"] if best.direct else [])


def advise(job: Job, directories: Sequence[Path], world: World, machine: Machine) -> Advice:
    """Rank directories for the checkpoints of a reverse time migration.

    Parameters
    ----------
    job : Job
        With `[data]`.
    directories : sequence of Path
        That exist.
    world : World
        Ranks of the run; they share this node.
    machine : Machine
        With the rates of the directories.
    """
    from subsalt.methods.rtm.plan import setup_of

    setup, survey, _ = setup_of(job)
    needs = Needs(setup, survey.shots, world.ranks, world.threads, streamed=job.parallel.stream_model)
    given, run_dir = job.checkpoint_options, job.default_run_dir
    plain = checkpointing_of(given, needs, world, run_dir, job.output.formats, machine)
    stands = decide(needs.choosing(plain), world, job.parallel.group, job.parallel.shots_at_once)
    now = stands.choice
    none = now is not None and now.fits and now.best.need.disk == 0
    wanted = replace(given, place="disk") if none and given.place == "auto" else given
    places = [_best(d, wanted, needs, world, job, machine) for d in dict.fromkeys(map(Path, directories))]
    kernels = "measured" if plain.rates.n else "assumed"
    taken = "nothing that fits" if now is None or not now.fits else now.best.name
    return Advice(job.name, taken, none, kernels, sorted(places, key=lambda p: p.rank))


def _best(
    directory: Path, options: CheckpointOptions, needs: Needs, world: World, job: Job, machine: Machine
) -> ScratchPlace:
    """Return a directory with the threads and the access that serve it best."""
    places = [
        _place(directory, replace(options, threads=threads, direct=direct), needs, world, job, machine)
        for threads, direct in accesses_measured(machine, directory)
    ]
    if not places:
        mount = mount_of(directory)
        free = free_bytes(directory)
        why = "not measured: leave --known out, or measure it with subsalt lab storage"
        return ScratchPlace(str(directory), mount.kind, mount.in_memory, free, problem=why)
    usable = [p for p in places if not p.problem]
    if not usable:
        return places[0]

    def cost(place: ScratchPlace) -> float:
        return place.kernel_seconds + place.waits + 1e-3 * (place.put_seconds + place.get_seconds)

    # simpler first: through the page cache, fewer threads
    simple = sorted(usable, key=lambda p: (p.direct, p.threads))
    least = min(map(cost, simple))
    return next(p for p in simple if cost(p) <= least * (1 + WORTH))


def _place(
    directory: Path, options: CheckpointOptions, needs: Needs, world: World, job: Job, machine: Machine
) -> ScratchPlace:
    """Return what the largest shot does in a directory in one way."""
    options = replace(options, directories=(str(directory),))
    how = checkpointing_of(options, needs, world, job.default_run_dir, job.output.formats, machine)
    mount = mount_of(existing(directory))
    base = ScratchPlace(
        str(directory),
        mount.kind,
        mount.in_memory,
        how.disk * world.ranks,
        threads=options.threads or 0,
        direct=options.direct,
    )
    chosen = needs.choosing(how)
    decision = decide(chosen, world, job.parallel.group, job.parallel.shots_at_once)
    choice = decision.choice
    if choice is None:
        return replace(base, problem="nothing is kept of this job")
    if not choice.fits:
        return replace(base, problem=choice.best.problem, needed=choice.best.need.disk * world.ranks)
    if decision.error is not None:
        return replace(base, problem=decision.error.message)
    return _counted(base, chosen, decision, choice, how.among(decision.at_once))


def _counted(
    base: ScratchPlace, needs: Needs, decision: Grouping, choice: Choice, how: NodeInputs
) -> ScratchPlace:
    """Return a place with the counts, bytes and seconds of the largest shot."""
    counts, sharing = choice.counts, how.sharing
    shot, group = needs.worst_shots[0], decision.group_size
    rates = how.for_shot(needs.parts(shot, group))
    scheme = choice.scheme
    plain = scheme.samples * scheme.image_step + scheme.steps
    written, read = disk_traffic(choice.scheme, counts, needs.sizes(shot, group))
    kernels = (counts.source_steps + counts.receiver_steps) * rates.step
    copied = (counts.states_stored_memory + counts.states_loaded_memory) * needs.sizes(shot, group).state
    return replace(
        base,
        needed=choice.best.need.disk * (decision.world.ranks - decision.idle) * decision.at_once,
        puts=counts.states_stored_disk + counts.snapshots_written,
        gets=counts.states_loaded_disk + counts.snapshots_read,
        put_bytes=written * sharing,
        get_bytes=read * sharing,
        put_seconds=written / rates.put,
        get_seconds=read / rates.get,
        kernel_seconds=kernels,
        # what the sums differ by in their last digits is no time
        waits=round(max(0.0, choice.best.seconds - kernels - copied / rates.copy), 9),
        again=(counts.source_steps + counts.receiver_steps - plain) * rates.step,
        strategy=choice.best.name,
    )
