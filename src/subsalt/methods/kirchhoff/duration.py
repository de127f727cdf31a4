"""Seconds of a time migration, from rates measured on its own geometry; a model, never a result.

How fast is a time migration here: contributions of its sum, and samples of its traces prepared, per second?

A plan asks this for the job's own geometry, velocity and options: some locations in the middle of the image, and some
of the traces that reach them, take a second or two.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from subsalt import kernels
from subsalt.acquisition.image_grid import LocationBox
from subsalt.errors import SubsaltError
from subsalt.job.signal.traces import flow_of
from subsalt.kernels.cuda.kirchhoff import traces_bytes
from subsalt.kernels.kirchhoff import Medium, Where, block_sum
from subsalt.machine import machine_file as machines
from subsalt.machine.load import Watch
from subsalt.machine.machine_file import Machine
from subsalt.machine.shot_rates import start_seconds
from subsalt.methods.kirchhoff.block_reach import reach
from subsalt.methods.kirchhoff.contributions import Contributions
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.prepare import prepare, prepared_bytes
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.plan.model import CHECK, GATHER_PAGE, HERE, LEDGER_FILES, PICTURES, READ, REPORT, Surroundings
from subsalt.plan.prediction import Prediction, Writes
from subsalt.plan.rates import faster, machine_if_known, why_again, worth_again
from subsalt.plan.world import World

#: locations, and traces of a call, that are timed
LOCATIONS, TRACES = 192, 64
#: seconds of a timing, and timings; the fastest counts
SECONDS, REPEATS = 0.3, 3
#: classes that the traces of the timing fall into
CLASSES = 32


def kind(setup: KirchhoffSetup, threads: int) -> dict[str, Any]:
    """Return what a rate holds for, whatever the survey."""
    o = setup.options
    point = setup.grid.positions(LocationBox(0, 1, 0, 1))
    eta = setup.velocity.at(point, setup.grid.time)[1] is not None
    return {
        "amplitude": o.amplitude,
        "antialias": o.antialias,
        "bands": o.bands if o.antialias == "bands" else 1,
        "interpolation": o.interpolation,
        # legs from a surface take 1.4 times as long as those with eta
        "eta": eta if setup.datum is None else "surface",
        "gathers": setup.classes.kind != "image",
        "threads": threads,
    }


def measure(setup: KirchhoffSetup, threads: int) -> dict[str, Any] | None:
    """Return a row for the section ``kirchhoff`` of machine.json; None when no trace reaches the middle of the image.

    Returns
    -------
    dict
        The case; ``contributions_per_s`` of the sum, ``prepared_samples_per_s`` of the preparation,
        ``start_seconds`` of the program.
    """
    box = middle(setup)
    points = setup.grid.positions(box)
    near = reach(setup.table, points, setup.options.aperture)
    near = near[setup.group[near] >= 0]
    if not len(near):
        return None
    rng = np.random.default_rng(4)
    chosen = np.sort(near[rng.integers(0, len(near), TRACES)])
    record, options = setup.table.time, setup.options
    samples = rng.standard_normal((TRACES, record.nt), dtype=np.float32)
    medium = Medium(*setup.velocity.at(points, setup.grid.time), setup.below(points))
    count = min(CLASSES, setup.classes.count)
    slot = (setup.group[chosen] % count).astype(np.int32)
    geometry = setup.geometry(chosen, slot)
    image = np.zeros((len(points), count, setup.nt), np.float32)
    hits = np.zeros((len(points), setup.nt + 1), np.int32)
    fold = np.zeros((len(points), count), np.int32)
    axes, spacing = np.array(setup.grid.axes()), setup.grid.numbered_spacing
    with Watch(threads) as watch:
        prepared = prepare(samples, record, options, threads)
        preparing = _fastest(lambda: prepare(samples, record, options, threads))
        where = Where(image, hits, fold, points, axes, medium, setup.grid.time, options, spacing)
        with block_sum("cpu", where, record.dt, threads) as adder:
            done = adder.add(prepared, geometry)
            # its first calls try what is fastest here
            summing = _fastest(lambda: adder.add(prepared, geometry))
    if not done:
        return None
    return {
        **kind(setup, threads),
        "samples": setup.nt,
        "isa": kernels.get("cpu").describe().get("isa"),
        "contributions_per_s": done / summing,
        "prepared_samples_per_s": samples.size / preparing,
        "start_seconds": start_seconds(),
        **watch.stamp(),
    }


def middle(setup: KirchhoffSetup) -> LocationBox:
    """Return some locations in the middle of the image."""
    ni, nj = setup.grid.shape
    wide = min(nj, LOCATIONS)
    deep = min(ni, max(1, LOCATIONS // wide))
    i, j = (ni - deep) // 2, (nj - wide) // 2
    return LocationBox(i, i + deep, j, j + wide)


def _fastest(run: Any) -> float:
    """Return the seconds of one call, of the fastest of `REPEATS` timings of about `SECONDS`."""
    begin = time.perf_counter()
    run()
    calls = max(1, int(SECONDS / max(time.perf_counter() - begin, 1e-6)))
    timings = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        timings.append((time.perf_counter() - begin) / calls)
    return min(timings)


#: bytes of a trace header
HEADER = 240
#: seconds of a trace header that is read and turned into a row of the table, and of a velocity sample that is made
TRACE_ROW, VELOCITY_SAMPLE = 2e-6, 2e-8
#: contributions per second of a GPU for every byte per second that it copies: 150e9 of an H200, as its kernel predicts
PER_COPIED = 0.035
#: factor by which the samples of a measured image may be more or fewer
NEAR = 2.0
#: unit of the rate of a node
RATE_OF = "contributions"


@dataclass(frozen=True)
class Share:
    """Share of the busiest rank in the work on all blocks.

    Parameters
    ----------
    contributions : float
        Samples it adds.
    traces : int
        Traces it reads and prepares; a trace counts once for every block.
    all_traces : int
        The same of all ranks.
    """

    contributions: float
    traces: int
    all_traces: int


def share_of(setup: KirchhoffSetup, blocks: Sequence[Block], work: Contributions, ranks: int) -> Share:
    """Return what the busiest of `ranks` does when each takes the next block as soon as it is free."""
    groups = max(1.0, float(work.by_group.sum()))
    near: dict[object, Any] = {}
    load, traces = np.zeros(ranks), np.zeros(ranks, np.int64)
    for block in blocks:
        box = block.box
        if box not in near:
            rows = reach(setup.table, setup.grid.positions(box), setup.options.aperture)
            group = setup.group[rows]
            near[box] = np.bincount(group[group >= 0], minlength=setup.classes.groups)
        counts = near[box]
        part = float(work.by_location[box.i0 : box.i1, box.j0 : box.j1].sum())
        if setup.classes.kind != "image":
            counts = counts[block.c0 : block.c1]
            part *= float(work.by_group[block.c0 : block.c1].sum()) / groups
        rank = int(np.argmin(load))
        load[rank] += part
        traces[rank] += int(counts.sum())
    busiest = int(np.argmax(load))
    return Share(float(load[busiest]), int(traces[busiest]), int(traces.sum()))


def measured(setup: KirchhoffSetup, world: World, say: Callable[[str], None] = lambda text: None) -> None:
    """Measure the job's own sum for some seconds where this machine has no rate for it, and keep it."""
    if os.environ.get("SUBSALT_MEASURE") == "off":
        return
    threads = _threads(world)
    known = _row(setup, machine_if_known() or Machine.here(), threads)
    if known is not None and not worth_again(known):
        return
    say(f"measuring how fast traces are summed{why_again(known)}: a few seconds")
    try:
        row = measure(setup, threads)
        if row is not None:
            row = faster(row, known, "contributions_per_s")
            machines.save(machines.default_path(), "kirchhoff", [row])
    except (SubsaltError, OSError, MemoryError):
        # what cannot be measured or kept leaves the plan as it was
        return


def prediction_of(
    setup: KirchhoffSetup,
    world: World,
    share: Share,
    machine: Machine | str,
    writes: Writes = Writes(),
    around: Surroundings = HERE,
) -> Prediction:
    """Return the seconds of a run by phase.

    Parameters
    ----------
    setup : KirchhoffSetup
        Setup of the migration.
    world : World
        Ranks; those of a node share its rate.
    share : Share
        Share of the busiest rank.
    machine : Machine or str
        With rates; or why there is none.
    writes : Writes
        Files that the run writes at the end.
    around : Surroundings
        Files; what is assumed of them when left out.
    """
    if isinstance(machine, str):
        return Prediction(notes=[machine], rate_of=RATE_OF)
    threads = _threads(world, machine)
    row = _row(setup, machine, threads)
    if row is None:
        why_not = (
            f"no time: nothing was measured for such a sum with {threads} threads; "
            "subsalt plan without --no-measure does that on the machine it runs on"
        )
        return Prediction(notes=[why_not], rate_of=RATE_OF)
    sharing, nt = world.ranks_per_node, setup.table.time.nt
    files_at = around.files
    table = len(setup.table.number)
    gpu, note = world.gpu, _note(row, sharing)
    rate = float(row["contributions_per_s"])
    summing = sharing * share.contributions / rate
    if gpu is not None:
        rate = PER_COPIED * gpu.copy
        traces = share.traces * traces_bytes(1, prepared_bytes(nt, setup.options), setup.options)[1] / 2
        summing = gpu.sharing * (share.contributions / rate + traces / gpu.up)
        note = (
            f"model: {rate / 1e9:.0f} G contributions/s of {gpu.name}, assumed from its copies; traces are prepared on "
            f"the CPU at the rate measured with {int(row['threads'])} threads"
        )
    drawn = PICTURES[2 if 1 in setup.grid.shape else 3] + GATHER_PAGE * (setup.classes.kind != "image")
    preparing = sharing * share.traces * nt / float(row["prepared_samples_per_s"])
    flow, look = flow_of(setup.table), 0.0
    if flow is not None and flow.of_gathers:
        # conditions on samples: ranks share a look at all records before the first block
        look = table * (4 * nt / files_at.reading(world.ranks) + flow.first_look) / world.ranks
    if flow is not None:
        # a thread takes them through the steps while those before are summed, on the same cores
        preparing += sharing * share.traces * flow.per_trace / threads
    reading = share.traces * (HEADER + 4 * nt) / files_at.reading(world.ranks)
    # rank 0 writes headers and samples in order; the others bring theirs
    writers = min(world.ranks, 4)
    phases = {
        "start": float(row["start_seconds"]),
        "check": CHECK,
        "headers": table * (HEADER / READ + TRACE_ROW) / world.ranks,
        "ledger": LEDGER_FILES * around.publish,
        "velocity": setup.grid.size * setup.nt * VELOCITY_SAMPLE / world.ranks,
        # traces are read while those before are summed
        "trace input": look + max(0.0, reading - summing - preparing),
        "prepare": preparing,
        # a GPU sums a block of traces while the next one is prepared
        "sum": summing if gpu is None else max(0.0, summing - preparing),
        "output": 6 * around.publish + sum(writes.files.values()) / (writers * files_at.writing(writers)),
        "pictures": drawn if writes.pictures else 0.0,
        "report": REPORT,
    }
    return Prediction(phases, [note], rate, str(row.get("date", "")), RATE_OF)


def _threads(world: World, machine: Machine | None = None) -> int:
    """Return the threads of all ranks of a node of a machine, this one when None."""
    cores = int((machine or Machine.here()).machine.get("cores") or 1)
    return min(cores, world.threads * world.ranks_per_node)


def _row(setup: KirchhoffSetup, machine: Machine, threads: int) -> dict[str, Any] | None:
    """Return what was measured of such a sum, of about as many samples."""
    rows = machine.find("kirchhoff", **kind(setup, threads))
    near = [r for r in rows if setup.nt <= NEAR * r["samples"] and r["samples"] <= NEAR * setup.nt]
    if not near:
        return None
    return min(near, key=lambda r: (bool(r.get("noisy")), abs(math.log(r["samples"] / setup.nt))))


def _note(row: dict[str, Any], sharing: int) -> str:
    threads = int(row["threads"])
    return (
        f"model: {float(row['contributions_per_s']) / 1e9:.2f} G contributions/s, measured with "
        f"{threads} thread{'s' * (threads != 1)}"
        + (", marked noisy" if row.get("noisy") else "")
        + (f"; {sharing} ranks of a node share it" if sharing > 1 else "; a rank has a node for itself")
    )
