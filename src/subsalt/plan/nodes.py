"""A survey on many nodes: what the model says beyond the machine that was measured. Never a result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import ConfigError, SubsaltError
from subsalt.lab.machine import Machine
from subsalt.lab.model.measured import Point, largest_error, points_of
from subsalt.lab.model.network import Link
from subsalt.plan.duration import Duration, duration_of
from subsalt.plan.grouping import decide
from subsalt.plan.measuring import measured
from subsalt.plan.need import Needs
from subsalt.plan.phases import KERNELS, Surroundings
from subsalt.plan.plan import lost_part, setup_of
from subsalt.plan.rates import machine_of
from subsalt.plan.scratch import checkpointing_of, disks_of
from subsalt.plan.world import World

if TYPE_CHECKING:
    from subsalt.job.job import Job

#: part of a node's memory that a run takes: the page cache, and with it input, lives on the rest (document 000)
MEMORY_SHARE = 0.7
#: what phases belong to, in a table of nodes; the others are the rest
IO = ("trace input", "partial image", "output")
CHECKPOINTS = ("snapshots", "states")


@dataclass(frozen=True)
class Cluster:
    """The nodes that somebody asks about.

    Parameters
    ----------
    counts : sequence of int
        Nodes, ascending.
    ranks_per_node, threads : int
        Of each node, of each rank.
    memory_per_rank : int
        Bytes.
    given : bool
        The memory is what somebody asked to keep to.
    link : Link or None
        Between nodes, where somebody says it.
    files : float
        Bytes per second that files take and give to all nodes together; infinite when nobody says it.
    """

    counts: Sequence[int]
    ranks_per_node: int
    threads: int
    memory_per_rank: int
    given: bool
    link: Link | None = None
    files: float = math.inf

    def world(self, nodes: int) -> World:
        """Return the ranks of so many nodes."""
        return World(
            nodes * self.ranks_per_node, self.memory_per_rank, self.threads, self.ranks_per_node, given=True
        )

    def around(self, machine: Machine | None, folder: Path) -> Surroundings:
        """Return network and files; `folder` is where the run would write."""
        return Surroundings.of(machine, folder, self.link, self.files)


@dataclass(frozen=True)
class Row:
    """What the model says of one number of nodes.

    Parameters
    ----------
    nodes, ranks, per_shot, groups : int
        How many, ranks that share a shot (1 where blocks are dealt), and what is under way at the same time.
    lost : float
        Part of the ranks' time that is lost behind the last shots, and of ranks without any.
    kernel, halo, checkpoint, io, image_sum, rest : float or None
        Seconds; the halo is what no computation hides, None where the network is not known.
    wall : float or None
        All together; None when no rate is known.
    efficiency : float or None
        Against the fewest nodes of the table.
    problem : str
        Why it would not run.
    """

    nodes: int
    ranks: int
    per_shot: int = 0
    groups: int = 0
    lost: float = 0.0
    kernel: float | None = None
    halo: float | None = None
    checkpoint: float | None = None
    io: float | None = None
    image_sum: float | None = None
    rest: float | None = None
    wall: float | None = None
    efficiency: float | None = None
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class NodesPlan:
    """The table of a job.

    Parameters
    ----------
    job, method, units : str
        Which job, by which method, and what is dealt to the nodes.
    rows : list of Row
        By nodes.
    assumptions : list of str
        What the figures rest on.
    points : list of Point
        The model against what was measured.
    """

    job: str
    method: str
    units: str
    rows: list[Row]
    assumptions: list[str]
    points: list[Point] = field(default_factory=list)

    @property
    def error(self) -> None:
        """A model refuses nothing: rows that would not run say why."""
        return None

    def lines(self) -> list[str]:
        """Return the table as lines that people read."""
        from subsalt.plan.nodes_text import lines

        return lines(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "kind": "model",
            "job": self.job,
            "method": self.method,
            "rows": [r.to_dict() for r in self.rows],
            "assumptions": self.assumptions,
            "measured": [p.to_dict() for p in self.points],
            "largest_error": largest_error(self.points),
        }


def cluster_of(
    counts: Sequence[int],
    machine: Machine | None,
    ranks_per_node: int = 1,
    threads: int | None = None,
    memory_per_rank: int | None = None,
    link: Link | None = None,
    files: float = math.inf,
) -> Cluster:
    """Return nodes like the machine that was measured, this one when none was.

    Raises
    ------
    ConfigError
        When a number is not positive, or a node has fewer cores than ranks.
    """
    for name, value in (
        ("--ranks-per-node", ranks_per_node),
        ("--threads", threads),
        ("--memory-per-rank", memory_per_rank),
    ):
        if value is not None and value < 1:
            raise ConfigError(f"{name} {value} is not positive", "give 1 or more", code="E125")
    facts = (machine or Machine.here()).machine
    cores = int(facts.get("cores") or 1)
    if ranks_per_node > cores:
        raise ConfigError(
            f"--ranks-per-node {ranks_per_node}: the machine that was measured has {cores} cores",
            f"use {cores} or fewer, or give --machine of a larger one",
            code="E971",
        )
    each = threads or max(1, cores // ranks_per_node)
    memory = memory_per_rank or int(MEMORY_SHARE * int(facts.get("ram_bytes") or 0) / ranks_per_node)
    return Cluster(
        sorted(set(counts)), ranks_per_node, each, memory, memory_per_rank is not None, link, files
    )


def plan_nodes(
    job: Job,
    counts: Sequence[int],
    *,
    machine: Path | None = None,
    run_dir: Path | None = None,
    measure: bool = False,
    seen: Sequence[Path] = (),
    say: Callable[[str], None] = lambda text: None,
    **cluster: Any,
) -> NodesPlan:
    """Return what the model says of a reverse time migration, or of modelling, on some numbers of nodes.

    Parameters
    ----------
    job : Job
        Validated.
    counts : sequence of int
        Nodes.
    machine, run_dir, measure, say
        As of `subsalt.plan.plan_job`.
    seen : sequence of Path
        Runs and results that the model is held against.
    **cluster
        As of `cluster_of`.
    """
    setup, survey, _ = setup_of(job)
    folder = run_dir or (job.default_run_dir if job.data is not None else job.base / f"{job.name}.shots")
    points = measured_points(seen, folder)
    known, why_not = machine_of(machine)
    own = job.propagation_options.threads
    nodes = cluster_of(counts, known, **{**cluster, "threads": cluster.get("threads") or own})
    if measure and machine is None and kernels.chosen(job.parallel.device).name == "cpu":
        one = nodes.world(1)
        places = [Path(d) for d in job.checkpoint_options.directories] or [folder]
        measured(
            Needs(setup, survey.shots, one.ranks, one.threads),
            one,
            job.checkpoint_options,
            places,
            say,
            folder,
        )
        known, why_not = machine_of(machine)
    rows: list[Row] = []
    notes: list[str] = []
    for n in nodes.counts:
        try:
            row, notes = _row(job, setup, survey, nodes, n, known, why_not, folder)
        except SubsaltError as error:
            row = Row(n, nodes.world(n).ranks, problem=error.message)
        rows.append(row)
    return NodesPlan(
        job.name,
        "rtm",
        f"{len(survey)} shots",
        with_efficiency(rows),
        [*notes, *assumptions(nodes, nodes.around(known, folder))],
        points,
    )


def _row(
    job: Job,
    setup: Any,
    survey: Any,
    nodes: Cluster,
    n: int,
    known: Machine | None,
    why_not: str,
    folder: Path,
) -> tuple[Row, list[str]]:
    """Return the row of `n` nodes, and what the figures rest on."""
    world = nodes.world(n)
    needs = Needs(setup, survey.shots, world.ranks, world.threads, streamed=job.parallel.stream_model)
    formats = job.output.formats
    if job.data is not None:
        how = checkpointing_of(job.checkpoint_options, needs, world, folder, formats, known)
        # each node has scratch like this machine
        needs = needs.choosing(replace(how, disk=how.disk * n))
    decision = decide(needs, world, job.parallel.ranks_per_shot)
    size, groups = decision.group_size, decision.groups
    lost = lost_part(len(survey), decision)
    if decision.error is not None:
        return Row(n, world.ranks, size, groups, lost, problem=decision.error.message), []
    disk, *_ = disks_of(needs, decision, folder, formats)
    pictures = job.data is not None and job.output.pictures
    spent = duration_of(
        needs, decision, known, why_not, disk.parts, pictures=pictures, around=nodes.around(known, folder)
    )
    return with_seconds(Row(n, world.ranks, size, groups, lost), spent), spent.notes


def with_seconds(row: Row, spent: Duration) -> Row:
    """Return a row with seconds by what they are for."""
    if spent.wall is None:
        return row
    phases = dict(spent.phases)

    def taken(names: Sequence[str]) -> float:
        return sum(phases.pop(n, 0.0) for n in names)

    return replace(
        row,
        kernel=taken((*KERNELS, "propagation")) - (spent.halo or 0.0),
        halo=spent.halo,
        checkpoint=taken(CHECKPOINTS),
        io=taken(IO),
        image_sum=taken(("image sum",)),
        rest=sum(phases.values()),
        wall=spent.wall,
    )


def with_efficiency(rows: Sequence[Row]) -> list[Row]:
    """Return rows with their efficiency against the first that has a time."""
    first = next((r for r in rows if r.wall), None)
    if first is None or first.wall is None:
        return list(rows)
    spent = first.wall * first.nodes
    return [replace(r, efficiency=spent / (r.wall * r.nodes)) if r.wall else r for r in rows]


def measured_points(seen: Sequence[Path], folder: Path) -> list[Point]:
    """Return the model's error on runs and results that are named, and on the run of the job where there is one."""
    points = [p for path in seen for p in points_of(path)]
    if not seen and (folder / "run.json").is_file():
        try:
            points = points_of(folder)
        except SubsaltError:
            points = []  # nobody asked for it
    return points


def assumptions(nodes: Cluster, around: Surroundings) -> list[str]:
    """Return what holds for all nodes, in words."""
    each = f"{nodes.memory_per_rank / 1e9:.3g} GB for each of {nodes.ranks_per_node} ranks"
    share = "" if nodes.given else f", {MEMORY_SHARE:.0%} of its memory"
    together = (
        f"all nodes together read and write {nodes.files / 1e9:.3g} GB/s at most"
        if math.isfinite(nodes.files)
        else "no limit of a shared file system (give --files)"
    )
    return [
        f"all nodes are like the measured one and nothing else runs on them: {nodes.threads} "
        f"thread{'s' * (nodes.threads != 1)} and {each}{share}",
        f"every rank reads at {around.files.read / 1e9:.2g} GB/s and writes at {around.files.write / 1e9:.2g} GB/s, "
        f"a file takes {1e3 * around.publish:.2g} ms beside that; {together}",
        "every node has scratch like this machine",
        "one shot takes as long as its slowest rank; shots wait for no one but the last ones",
    ]
