"""A survey on many nodes: what the model says beyond the machine that was measured. Never a result.

Where something was measured (results of `subsalt lab scaling`, runs with a prediction), `MeasuredPoint` says how far
the model is off.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.errors import ConfigError, DataError, MissingInputError, SubsaltError
from subsalt.machine.machine_file import RESULT_SCHEMA as SCHEMA
from subsalt.machine.machine_file import Machine
from subsalt.methods import method_of
from subsalt.plan.cuts import COLUMNS as STEP_COLUMNS
from subsalt.plan.cuts import StepModel, StepRow, step_assumptions, steps_of
from subsalt.plan.model import KERNELS, Blocks, Shape, Surroundings, kernel_seconds, slabs
from subsalt.plan.network import Link
from subsalt.plan.planning import NodesRequest
from subsalt.plan.prediction import Prediction
from subsalt.plan.rates import machine_of
from subsalt.plan.world import World, refuse_below_one
from subsalt.report.comparison import compare
from subsalt.report.table import Column, render

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


@dataclass(frozen=True)
class MeasuredPoint:
    """One measured run beside what the model says of it.

    Parameters
    ----------
    what : str
        Which run, in words.
    ranks : int
        Number of ranks of the run.
    predicted, measured : float
        Seconds.
    rescaled : float or None
        `predicted` at the rate of the run's own time steps; None where the rate was fitted already.
    """

    what: str
    ranks: int
    predicted: float
    measured: float
    rescaled: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "what": self.what,
            "ranks": self.ranks,
            "predicted_seconds": self.predicted,
            "measured_seconds": self.measured,
            "ratio": self.predicted / self.measured,
            "rescaled_ratio": None if self.rescaled is None else self.rescaled / self.measured,
        }

    def text(self) -> str:
        """Return it as a line."""
        known = self.to_dict()
        at_own = known["rescaled_ratio"]
        own = "" if at_own is None else f", {at_own:.2f} at the run's own rate"
        return (
            f"{self.what}, {self.ranks} rank{'s' * (self.ranks != 1)}: {self.predicted:.3g} s predicted, "
            f"{self.measured:.3g} s measured (ratio {known['ratio']:.2f}{own})"
        )


def points_of(path: Path) -> list[MeasuredPoint]:
    """Return the points that a file holds: a run directory, its run.json, or a result of `subsalt lab scaling`.

    Raises
    ------
    MissingInputError
        When it is not there.
    DataError
        When it is none of these, or holds nothing that the model could be compared with (E972).
    """
    file = path / "run.json" if path.is_dir() else path
    content = _read(file)
    if content.get("schema") == SCHEMA and content.get("measurement") == "scaling":
        points = of_scaling(content)
        why = "no two layouts of time steps that differ in cores and are not oversubscribed"
    elif "phases" in content and "parallel" in content:
        points = of_run(content, file.absolute().parent.name)
        why = "its run made no prediction: the machine was not measured when it began"
    else:
        points, why = [], "neither the run.json of a finished run nor a result of subsalt lab scaling"
    if not points:
        raise DataError(
            f"{path} cannot be compared with the prediction: {why}",
            "give a run directory made by subsalt migrate behind subsalt plan, or subsalt lab scaling --out FILE",
            code="E972",
        )
    return points


def of_run(content: Mapping[str, Any], name: str) -> list[MeasuredPoint]:
    """Return the wall time of a run against the prediction it began with; none when it has none."""
    said = content.get("predicted")
    said = said.get("phases") if isinstance(said, dict) else None
    spent = content.get("phases")
    if not isinstance(said, dict) or not isinstance(spent, dict) or not said or not spent.get("wall"):
        return []
    compared = compare(said, spent)
    ranks = int(content["parallel"].get("ranks", 1)) if isinstance(content["parallel"], dict) else 1
    assert compared.wall.predicted is not None
    assert compared.wall.measured is not None
    return [
        MeasuredPoint(
            f"run {name}", ranks, compared.wall.predicted, compared.wall.measured, compared.wall.rescaled
        )
    ]


def of_scaling(content: Mapping[str, Any]) -> list[MeasuredPoint]:
    """Return the layouts of a table of time steps against the one on the fewest cores, which gives the rate.

    A slab of whole planes for every rank, the halo hidden: what threads and memory share on a node is not in it.
    """
    rows = [r for r in content.get("rows", []) if isinstance(r, dict) and _is_steps(r)]
    if content.get("settings", {}).get("what") != "kernel" or not rows:
        return []
    first = min(rows, key=lambda r: (r["cores"], r["ranks"]))
    blocks, steps = _slabs(first), first["point_steps"] / _points(first)
    rate = kernel_seconds(blocks, steps, 1.0) / first["time"] / (first["cores"] / first["ranks"])
    out = []
    for r in rows:
        if r is first or r["cores"] == first["cores"]:
            continue
        blocks, steps = _slabs(r), r["point_steps"] / _points(r)
        seconds = kernel_seconds(blocks, steps, rate * r["cores"] / r["ranks"])
        out.append(
            MeasuredPoint(f"time steps, {r['grid']}, {r['threads']} threads", r["ranks"], seconds, r["time"])
        )
    return out


def _is_steps(row: Mapping[str, Any]) -> bool:
    numbers = ("ranks", "threads", "cores", "time", "point_steps")
    return (
        all(isinstance(row.get(k), int | float) and row[k] > 0 for k in numbers)
        and re.fullmatch(r"\d+( x \d+){2}", str(row.get("grid"))) is not None
        and "oversubscribed" not in str(row.get("marks", ""))
    )


def _grid(row: Mapping[str, Any]) -> Shape:
    x, y, z = (int(n) for n in str(row["grid"]).split(" x "))
    return x, y, z


def _points(row: Mapping[str, Any]) -> int:
    x, y, z = _grid(row)
    return x * y * z


def _slabs(row: Mapping[str, Any]) -> Blocks:
    return slabs(_grid(row), int(row["ranks"]))


def largest_error(points: Sequence[MeasuredPoint]) -> float | None:
    """Return the largest relative error, of those at the run's own rate where they have one; None without points."""
    ratios = [(p.rescaled if p.rescaled is not None else p.predicted) / p.measured for p in points]
    return max((abs(r - 1) for r in ratios), default=None)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingInputError(f"{path} does not exist", "check the name", code="E110") from None
    except OSError as error:
        raise MissingInputError(
            f"{path} cannot be read: {error.strerror}", "check its permissions", code="E111"
        ) from error
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise DataError(f"{path} is no result: it is not a JSON object", "check the name", code="E972")
    return content


#: in front of everything: what is extrapolated is no result
LABEL = "MODEL, no measurement: what rates of one machine say of many like it"

COLUMNS = (
    Column("nodes", "nodes", "d"),
    Column("ranks", "ranks", "d"),
    Column("per_shot", "per shot", "d"),
    Column("groups", "groups", "d"),
    Column("kernel", "kernel s", ".1f"),
    Column("halo", "halo s", ".2f"),
    Column("checkpoint", "checkpoint s", ".1f"),
    Column("io", "I/O s", ".1f"),
    Column("image_sum", "image sum s", ".1f"),
    Column("rest", "rest s", ".1f"),
    Column("lost", "lost %", ".0f", 100),
    Column("wall", "wall s", ".1f"),
    Column("efficiency", "efficiency", ".2f"),
    Column("problem", "would not run"),
)

#: columns with a name of their own, or without meaning (None), by what is distributed among the nodes
HEADS: dict[str, dict[str, str | None]] = {
    "block": {"per_shot": None, "groups": "blocks", "kernel": "sum s", "halo": None}
}


def lines(plan: NodesPlan) -> list[str]:
    """Return label, table, assumptions, and the error where something was measured."""
    heads = HEADS.get(method_of(plan.method).unit, {})
    columns = [
        c if c.key not in heads else Column(c.key, str(heads[c.key]), c.form, c.scale)
        for c in COLUMNS
        if heads.get(c.key, "") is not None
    ]
    rows = [r.to_dict() | {k: None for k in ("per_shot", "groups") if not vars(r)[k]} for r in plan.rows]
    out = [LABEL, f"{plan.method} {plan.job}: {plan.units}", "", *render(rows, columns).splitlines(), ""]
    if plan.steps:
        steps = [r.to_dict() for r in plan.steps]
        out += [
            "one time step of the largest shot, all ranks on it:",
            *render(steps, STEP_COLUMNS).splitlines(),
            "",
        ]
    out += [f"assumed: {a}" for a in plan.assumptions]
    out += _error(plan)
    return out


def _error(plan: NodesPlan) -> list[str]:
    """Return what the model is off where something was measured."""
    worst = largest_error(plan.points)
    if worst is None:
        return ["error on measured points: not known: migrate the job here first, or give --measured FILE"]
    return [f"error on measured points: {worst:.0%} at most", *(f"  {p.text()}" for p in plan.points)]


#: part of a node's memory that a run takes: the page cache, and with it input, lives on the rest (document 000)
MEMORY_SHARE = 0.7
#: groups of phases in a table of nodes; all other phases are the rest
IO = ("trace input", "partial image", "output")
CHECKPOINTS = ("snapshots", "states")


@dataclass(frozen=True)
class PlannedNodes:
    """The nodes that a table is made for.

    Parameters
    ----------
    counts : sequence of int
        Nodes, ascending.
    ranks_per_node, threads : int
        Ranks on each node, and threads of each rank.
    memory_per_rank : int
        Bytes.
    given : bool
        The memory is a limit that the user gave.
    link : Link or None
        Link between nodes, where it is given.
    files : float
        Bytes per second that files take and give to all nodes together; infinite when it is not given.
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
    """Prediction for one number of nodes.

    Parameters
    ----------
    nodes, ranks, per_shot, groups : int
        How many, ranks that share a shot (1 where blocks are distributed), and groups that work at the same time.
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
        Which job, by which method, and the units that are distributed to the nodes.
    rows : list of Row
        By nodes.
    assumptions : list of str
        Sentences that name the assumptions behind the figures.
    points : list of MeasuredPoint
        The model against what was measured.
    steps : list of StepRow
        One time step of the largest shot that all ranks share, by nodes and cut; none where nothing is propagated.
    """

    job: str
    method: str
    units: str
    rows: list[Row]
    assumptions: list[str]
    points: list[MeasuredPoint] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)

    @property
    def error(self) -> None:
        """A model refuses nothing: rows that would not run say why."""
        return None

    def lines(self) -> list[str]:
        """Return the table as lines that people read."""
        return lines(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "kind": "model",
            "job": self.job,
            "method": self.method,
            "rows": [r.to_dict() for r in self.rows],
            "steps": [r.to_dict() for r in self.steps],
            "assumptions": self.assumptions,
            "measured": [p.to_dict() for p in self.points],
            "largest_error": largest_error(self.points),
        }


def cluster_of(request: NodesRequest, machine: Machine | None, threads: int | None) -> PlannedNodes:
    """Return nodes like the machine that was measured, this one when none was; `threads` where none are given.

    Raises
    ------
    ConfigError
        When a number is not positive, or a node has fewer cores than ranks.
    """
    ranks_per_node, threads = request.ranks_per_node, request.threads or threads
    memory = request.memory_per_rank
    refuse_below_one({"--ranks-per-node": ranks_per_node, "--threads": threads, "--memory-per-rank": memory})
    facts = (machine or Machine.here()).machine
    cores = int(facts.get("cores") or 1)
    if ranks_per_node > cores:
        raise ConfigError(
            f"--ranks-per-node {ranks_per_node}: the machine that was measured has {cores} cores",
            f"use {cores} or fewer, or give --machine of a larger one",
            code="E971",
        )
    each = threads or max(1, cores // ranks_per_node)
    memory = memory or int(MEMORY_SHARE * int(facts.get("ram_bytes") or 0) / ranks_per_node)
    given = request.memory_per_rank is not None
    return PlannedNodes(
        sorted(set(request.counts)), ranks_per_node, each, memory, given, request.link, request.files
    )


def with_seconds(row: Row, spent: Prediction) -> Row:
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


def measured_points(seen: Sequence[Path], folder: Path) -> list[MeasuredPoint]:
    """Return the model's error on runs and results that are named, and on the run of the job where there is one."""
    points = [p for path in seen for p in points_of(path)]
    if not seen and (folder / "run.json").is_file():
        try:
            points = points_of(folder)
        except SubsaltError:
            points = []  # not needed
    return points


def assumptions(nodes: PlannedNodes, around: Surroundings) -> list[str]:
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


class NodesModel(ABC):
    """Predictions of a method for a job on many nodes; the table of the predictions is the same for all methods.

    Attributes
    ----------
    units : str
        Name and number of the units that are distributed among the nodes.
    folder : Path
        Where a run would write.
    threads : int or None
        Threads of each rank, where the job gives them.
    """

    units: str
    folder: Path
    threads: int | None

    @abstractmethod
    def measure(self, world: World, say: Callable[[str], None]) -> None:
        """Measure what this machine was not measured for, where the job computes on processors."""

    @abstractmethod
    def row(
        self, nodes: PlannedNodes, n: int, machine: Machine | None, why_not: str
    ) -> tuple[Row, list[str]]:
        """Return the row of `n` nodes, and what its figures rest on; a `SubsaltError` where it would not run."""

    def step(self, nodes: PlannedNodes, n: int, machine: Machine | None) -> StepModel | None:
        """Return the model of a time step that the ranks of `n` nodes share; None where there is none."""
        return None


def tabulate(job: BaseJob, request: NodesRequest) -> NodesPlan:
    """Return the table of a job: the model of its method for every number of nodes; see `plan_job_on_nodes`."""
    method = method_of(job.method)
    model: NodesModel = method.nodes_model(job, request.run_dir)
    points = measured_points(request.seen, model.folder)
    known, why_not = machine_of(request.machine)
    nodes = cluster_of(request, known, model.threads)
    if request.measure and request.machine is None:
        model.measure(nodes.world(1), request.say)
        known, why_not = machine_of(request.machine)
    rows: list[Row] = []
    notes: list[str] = []
    for n in nodes.counts:
        try:
            row, notes = model.row(nodes, n, known, why_not)
        except SubsaltError as error:
            row = Row(n, nodes.world(n).ranks, problem=error.message)
        rows.append(row)
    assumed = [*notes, *assumptions(nodes, nodes.around(known, model.folder))]
    steps: list[StepRow] = []
    for n in nodes.counts:
        shared = model.step(nodes, n, known)
        if shared is not None:
            steps += steps_of(shared, n, nodes.world(n).ranks, nodes.threads)
    if steps and shared is not None:
        assumed += step_assumptions(shared)
    return NodesPlan(job.name, method.name, model.units, with_efficiency(rows), assumed, points, steps)
