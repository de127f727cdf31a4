"""Where snapshots and states would lie, how much room there is, and how fast that is; for `NodeInputs`.

Beside it: the bytes that a migration, or a modelling, writes.

Which directory the checkpoints of a job should go to, and how: predicted from its schedule and from measured rates.

Sizes, counts and schedules are those of the plan of the job; rates are those that `subsalt lab storage` measured, with
the flush to storage inside. A file system in memory is no disk: what lies there takes memory from the shot.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.checkpoint.choice.choose import Choice
from subsalt.checkpoint.choice.footprint import disk_traffic
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.storage.store import file_bytes
from subsalt.io.publish import free_bytes
from subsalt.io.volumes.plane_file import PlaneLayout
from subsalt.machine.machine_file import Machine
from subsalt.machine.storage import Rates as StorageRates
from subsalt.machine.storage import accesses_measured, mount_of, rates_of
from subsalt.methods.rtm.arrays import FLOAT
from subsalt.methods.rtm.conditions import condition_of
from subsalt.methods.rtm.grouping import Decision, decide
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.node_inputs import ASSUMED_DISK, NodeInputs
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.speed import rates_for
from subsalt.plan.disk import LATE, SEGY_HEADERS, TRACE_HEADER, Disk, beside, existing
from subsalt.plan.rates import assumed
from subsalt.plan.world import World

if TYPE_CHECKING:
    from subsalt.job.job import Job


def disk_of(needs: Needs, folder: Path, formats: Sequence[str] = ()) -> Disk:
    """Return what the survey writes into `folder`, which need not exist.

    Parameters
    ----------
    needs : Needs
        Setup and survey; its pictures count when it draws them.
    folder : Path
        Run directory, or folder of the modelled shots.
    formats : sequence of str
        Formats of the image beside SEG-Y.
    """
    where = existing(folder)
    parts = parts_of(needs, folder, formats)
    return Disk(parts, shutil.disk_usage(where).free, where)


def outputs_of(needs: Needs, folder: Path, formats: Sequence[str] = ()) -> int:
    """Return the bytes that a run still writes into `folder`, snapshots not counted."""
    return sum(parts_of(needs, folder, formats).values())


def parts_of(needs: Needs, folder: Path, formats: Sequence[str] = ()) -> dict[str, int]:
    """Return what the survey still writes into `folder`, by what it is."""
    setup = needs.setup
    if isinstance(setup, MigrationSetup):
        parts = _image(needs, setup, formats)
        parts["pictures, report, ledger"] = beside(
            len(needs.shots), setup.model.grid.ndim if needs.pictures else 0
        )
        # a run that goes on has some of its partial images there
        there = sum(f.stat().st_size for f in (folder / "images").glob("shot_*"))
        parts["partial images"] = max(0, parts["partial images"] - there)
        return parts
    trace = TRACE_HEADER + FLOAT * setup.record.nt
    return {"shots": sum(SEGY_HEADERS + len(s.rcv) * trace for s in needs.shots)}


def _image(needs: Needs, setup: MigrationSetup, formats: Sequence[str]) -> dict[str, int]:
    grid = setup.image_grid
    accumulators = condition_of(setup.imaging.condition).accumulators
    partial = partial_bytes(needs, len(needs.shots))
    segy = SEGY_HEADERS + grid.size // grid.shape[-1] * (TRACE_HEADER + FLOAT * grid.shape[-1])
    others = len([f for f in dict.fromkeys(formats) if f != "segy"])
    volumes = others + ("illumination" in accumulators and setup.imaging.illumination == "survey")
    return {
        "partial images": partial,
        "image": segy + volumes * FLOAT * grid.size,
    }


def partial_bytes(needs: Needs, shots: int) -> int:
    """Return the bytes of the partial images of so many shots, the largest."""
    setup = needs.setup
    assert isinstance(setup, MigrationSetup)
    accumulators = condition_of(setup.imaging.condition).accumulators
    sizes = sorted((PlaneLayout(needs.window(s), accumulators).size for s in needs.shots), reverse=True)
    return sum(sizes[:shots])


#: part of the free room that scratch fills: other programs write, too
SHARE = 0.9


def checkpointing_of(
    options: CheckpointOptions,
    needs: Needs,
    world: World,
    run_dir: Path,
    formats: Sequence[str] = (),
    machine: Machine | None = None,
) -> NodeInputs:
    """Return what decides between strategies for a run into `run_dir` on these ranks.

    Parameters
    ----------
    options : CheckpointOptions
        `[checkpoint]`.
    needs : Needs
        Setup and survey.
    world : World
        Ranks.
    run_dir : Path
        Need not exist.
    formats : sequence of str
        Of the image, which goes to the disk of the run directory.
    machine : Machine, optional
        With what was measured.
    """
    threads = world.threads * world.ranks_per_node
    found = rates_for(needs, world, machine or "")
    folders = [Path(d) for d in options.directories] or [run_dir]
    put, get = _speed(folders, options, machine)
    return NodeInputs(
        options,
        assumed(threads) if isinstance(found, str) else found,
        put,
        get,
        max(0, int(room_of(folders, run_dir, needs, options, formats)) // world.ranks),
        world.ranks_per_node,
        tuple(map(str, folders)),
        world.gpu,
    )


def _speed(
    folders: Sequence[Path], options: CheckpointOptions, machine: Machine | None
) -> tuple[float, float]:
    """Return bytes per second to and from folders that are filled in turn: the slowest file system rules."""
    if machine is None:
        return ASSUMED_DISK, ASSUMED_DISK
    rates: dict[int, StorageRates] = {}
    for folder in folders:
        found = rates_of(machine, folder, direct=options.direct, threads=options.threads)
        found = found or rates_of(machine, folder, direct=options.direct)
        if found is None:
            return ASSUMED_DISK, ASSUMED_DISK
        rates.setdefault(existing(folder).stat().st_dev, found)
    shares = _shares(folders)
    return (
        min(r.put / shares[device] for device, r in rates.items()),
        min(r.get / shares[device] for device, r in rates.items()),
    )


def _shares(folders: Sequence[Path]) -> dict[int, float]:
    """Return the part of all records that goes to each file system, by its device number."""
    count = Counter(existing(f).stat().st_dev for f in folders)
    return {device: n / len(folders) for device, n in count.items()}


def room_of(
    folders: Sequence[Path],
    run_dir: Path,
    needs: Needs,
    options: CheckpointOptions,
    formats: Sequence[str] = (),
) -> float:
    """Return the bytes of scratch that fit into folders filled in turn, beside what else the run writes there."""
    kept = wavefield_bytes_left(needs, options, run_dir)
    outputs = outputs_of(needs, run_dir, formats)
    home = existing(run_dir).stat().st_dev
    room = float("inf")
    for device, share in _shares(folders).items():
        folder = next(f for f in folders if existing(f).stat().st_dev == device)
        free = shutil.disk_usage(existing(folder)).free - share * kept - (outputs if device == home else 0)
        room = min(room, SHARE * free / share)
    return room


def disks_of(needs: Needs, decision: Decision, run_dir: Path, formats: Sequence[str] = ()) -> list[Disk]:
    """Return what a run writes by file system: that of its directory first, then those of its scratch.

    Notes
    -----
    Scratch is that of the shots that are done at the same time; wavefields that are kept stay for all shots.
    """
    first = disk_of(needs, run_dir, formats)
    how, choice = needs.checkpointing, decision.choice
    if how is None or choice is None:
        return [first]
    folders = [Path(w) for w in how.where] or [run_dir]
    ranks = decision.world.ranks - decision.idle
    parts = {
        "snapshots and states": ranks * choice.best.need.disk,
        "kept wavefields": wavefield_bytes_left(needs, how.options, run_dir, decision.group_size),
    }
    # the partial images of the last shots come when their snapshots have gone; restart points wait for them
    unborn = 0
    if not how.options.restart_every and isinstance(needs.setup, MigrationSetup):
        unborn = partial_bytes(needs, decision.groups)
    home, disks = existing(run_dir).stat().st_dev, [first]
    for device, share in _shares(folders).items():
        own = {name: round(share * size) for name, size in parts.items() if size}
        if device == home:
            passing = own.get("snapshots and states", 0)
            late = sum(first.parts[name] for name in LATE)
            disks[0] = replace(first, parts=first.parts | own, passing=passing, late=late + unborn)
        elif own:
            where = existing(next(f for f in folders if existing(f).stat().st_dev == device))
            disks.append(Disk(own, shutil.disk_usage(where).free, where))
    return disks


def wavefield_bytes(needs: Needs, options: CheckpointOptions, ranks: int = 1) -> dict[int, int]:
    """Return the bytes of the files of wavefields that stay after each shot, by its id, when `ranks` share a shot."""
    setup = needs.setup
    fields = {"none": 0, "source": 1, "both": 2}[options.keep]
    if not fields or not isinstance(setup, MigrationSetup):
        return {}
    samples = len(setup.imaged_samples)
    known: dict[object, int] = {}
    out = {}
    for shot in needs.shots:
        # shots whose windows are alike are cut alike
        domain = needs.domain(shot, (0, ranks))
        key = domain.grid.shape3, domain.pad
        if key not in known:
            parts = [needs.arrays(shot, (r, ranks)) for r in range(ranks)]
            records = [(p.snapshot16 if options.halved else p.snapshot) // FLOAT for p in parts]
            known[key] = fields * sum(file_bytes(n, samples) for n in records if n)
        out[shot.id] = known[key]
    return out


def wavefield_bytes_left(needs: Needs, options: CheckpointOptions, run_dir: Path, ranks: int = 1) -> int:
    """Return the bytes of wavefields that a run has still to keep: those in its directory are there already."""
    there = (
        0 if options.directories else sum(f.stat().st_size for f in run_dir.glob("snapshots/shot_*/*.snap"))
    )
    return max(0, sum(wavefield_bytes(needs, options, ranks).values()) - there)


#: a shot that stands still for less than this part of its time steps does not notice its checkpoints
UNNOTICED = 0.01
#: more threads, or access past the page cache, must be faster by this part to be advised
WORTH = 0.02


@dataclass(frozen=True)
class Place:
    """What the checkpoints of the largest shot would do in one directory.

    Parameters
    ----------
    directory : str
        As it was given.
    file_system : str
        Its kind.
    in_memory : bool
        It is no disk.
    free, needed : int
        Bytes that checkpoints may take there, and that those under way at the same time take.
    threads : int
        Advised.
    direct : bool
        Past the page cache, advised.
    puts, gets : int
        Records (snapshots and states) of one rank for the largest shot.
    put_bytes, get_bytes : int
        Of all ranks of the node that work at the same time, each taken as the one that has most.
    put_seconds, get_seconds : float
        Of these bytes at the measured rates.
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
        """What places are sorted by: usable, a disk, what the shot loses, how long its bytes are on their way."""
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
        told = []
        if self.waits:
            told.append(f"stands still for {self.waits:.3g} s")
        if self.again:
            told.append(f"computes samples again for {self.again:.3g} s")
        return f"the shot {' and '.join(told)} of {self.kernel_seconds + self.waits:.3g} s"


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
    places : list of Place
        The best first.
    """

    job: str
    as_it_stands: str
    needs_none: bool
    kernels: str
    places: list[Place]

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
    stands = decide(needs.choosing(plain), world, job.parallel.group)
    now = stands.choice
    none = now is not None and now.fits and now.best.need.disk == 0
    wanted = replace(given, place="disk") if none and given.place == "auto" else given
    places = [_best(d, wanted, needs, world, job, machine) for d in dict.fromkeys(map(Path, directories))]
    kernels = "measured" if plain.rates.n else "assumed"
    taken = "nothing that fits" if now is None or not now.fits else now.best.name
    return Advice(job.name, taken, none, kernels, sorted(places, key=lambda p: p.rank))


def _best(
    directory: Path, options: CheckpointOptions, needs: Needs, world: World, job: Job, machine: Machine
) -> Place:
    """Return a directory with the threads and the access that serve it best."""
    found = [
        _place(directory, replace(options, threads=threads, direct=direct), needs, world, job, machine)
        for threads, direct in accesses_measured(machine, directory)
    ]
    if not found:
        mount = mount_of(directory)
        free = free_bytes(directory)
        why = "not measured: leave --known out, or measure it with subsalt lab storage"
        return Place(str(directory), mount.kind, mount.in_memory, free, problem=why)
    usable = [p for p in found if not p.problem]
    if not usable:
        return found[0]

    def cost(place: Place) -> float:
        return place.kernel_seconds + place.waits + 1e-3 * (place.put_seconds + place.get_seconds)

    # simpler first: through the page cache, fewer threads
    simple = sorted(usable, key=lambda p: (p.direct, p.threads))
    least = min(map(cost, simple))
    return next(p for p in simple if cost(p) <= least * (1 + WORTH))


def _place(
    directory: Path, options: CheckpointOptions, needs: Needs, world: World, job: Job, machine: Machine
) -> Place:
    """Return what the largest shot does in a directory in one way."""
    options = replace(options, directories=(str(directory),))
    how = checkpointing_of(options, needs, world, job.default_run_dir, job.output.formats, machine)
    mount = mount_of(existing(directory))
    base = Place(
        str(directory),
        mount.kind,
        mount.in_memory,
        how.disk * world.ranks,
        threads=options.threads or 0,
        direct=options.direct,
    )
    chosen = needs.choosing(how)
    decision = decide(chosen, world, job.parallel.group)
    choice = decision.choice
    if choice is None:
        return replace(base, problem="nothing is kept of this job")
    if not choice.fits:
        return replace(base, problem=choice.best.problem, needed=choice.best.need.disk * world.ranks)
    if decision.error is not None:
        return replace(base, problem=decision.error.message)
    return _counted(base, chosen, decision, choice, how)


def _counted(base: Place, needs: Needs, decision: Decision, choice: Choice, how: NodeInputs) -> Place:
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
        needed=choice.best.need.disk * (decision.world.ranks - decision.idle),
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
