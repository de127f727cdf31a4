"""Does the model give the times of founding document 001? Everything is fitted at the smallest number of nodes.

The rate is that of the kernel column on the fewest nodes of each grid; what the other rows say is then a prediction.
Beside the kernel stand input and total where the documents have them: no phase of theirs explains the rest of a total,
and no model of ours does.

Tables of founding documents 000 and 001 on reverse time migration: seconds by number of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from subsalt.plan.model import (
    FileRates,
    Shape,
    ShotProblem,
    core_seconds,
    exposed,
    halo_seconds,
    init_seconds,
    kernel_seconds,
    slabs,
    trace_bytes,
)
from subsalt.plan.network import Link
from subsalt.report.table import Column, render
from subsalt_lab.result import Result

#: time samples of a run; a point-step is a point advanced by one of them, source and receiver wavefield together
STEPS = 800
#: planes beyond a cut that a node holds of its neighbour
GHOST = 4


@dataclass(frozen=True)
class FoundingTime:
    """Document 001, Lustre columns: seconds of a run on some nodes."""

    nodes: int
    init: float
    total: float
    kernel: float


@dataclass(frozen=True)
class Rewritten:
    """Document 000: seconds of the run with the rewritten input, and of the traces before and after."""

    nodes: int
    total: float
    init: float
    trace_before: float
    trace: float


GRIDS: dict[str, Shape] = {
    "125": (125, 1151, 1231),
    "1243": (1243, 1151, 1231),
    "2486": (2486, 1151, 1231),
}

MEASURED: dict[str, tuple[FoundingTime, ...]] = {
    "125": (
        FoundingTime(1, 4.54, 892.4, 484.89),
        FoundingTime(2, 2.54, 605.62, 238.8),
        FoundingTime(4, 1.57, 341.14, 124.66),
        FoundingTime(8, 1.4, 223.38, 62.34),
        FoundingTime(12, 1.54, 217.77, 49.53),
        FoundingTime(16, 1.58, 227.91, 41.76),
        FoundingTime(20, 1.6, 232.0, 35.02),
        FoundingTime(24, 1.59, 251.48, 35.38),
    ),
    "1243": (
        FoundingTime(8, 10.02, 1200.71, 645.27),
        FoundingTime(12, 9.35, 884.27, 422.17),
        FoundingTime(16, 8.97, 826.37, 317.96),
        FoundingTime(20, 8.93, 658.54, 255.27),
        FoundingTime(24, 8.9, 553.75, 210.82),
    ),
    "2486": (
        FoundingTime(12, 22.5, 1579.95, 853.37),
        FoundingTime(16, 17.39, 1309.32, 646.22),
        FoundingTime(20, 16.91, 1143.47, 517.03),
        FoundingTime(24, 15.63, 1107.66, 427.4),
    ),
}

REWRITTEN: dict[str, tuple[Rewritten, ...]] = {
    "1243": (
        Rewritten(12, 792.0, 3.3, 69.9, 4.2),
        Rewritten(16, 582.0, 2.5, 64.2, 2.7),
        Rewritten(20, 480.0, 1.5, 67.7, 2.4),
        Rewritten(24, 378.0, 1.2, 71.5, 2.2),
    ),
    "2486": (
        Rewritten(12, 1386.0, 14.9, 296.3, 14.6),
        Rewritten(16, 1080.0, 11.3, 110.7, 4.6),
        Rewritten(20, 924.0, 3.9, 118.3, 3.9),
        Rewritten(24, 810.0, 4.9, 121.5, 3.2),
    ),
}


#: bytes per second between two of the nodes in one direction: assumed (QDR InfiniBand), no document says it
LINK = Link(0.0, 3.2e9, "across", "assumed")
#: grids whose slabs are thicker than their halo on all nodes, and how close their kernel column must be met
LARGE, BAR = ("1243", "2486"), 0.05

ASSUMPTIONS = (
    "rate of a node: that of the kernel column on the fewest nodes of the grid; slabs along x; the slab with most "
    "planes rules",
    "halo: 4 planes of 2 wavefields to each neighbour at 3.2 GB/s (assumed), one message after the other, nothing "
    "hidden; the published kernel column has no room for it: it lies outside, or under the time steps",
    "init (Lustre): all nodes together read no faster than the fewest did; trace: the master sends all in "
    "the same time to any number of nodes (before), each node reads its own part at its own rate (after)",
    "2486 on 12 nodes reads its traces at a third of the rate of the other published rows: fitted there, theirs "
    "come out twice as long as they were",
    "not in a phase: what total leaves beside the predicted kernel and init; no study says what it is",
)

UNITS = {
    "kernel": "s, model",
    "kernel_measured": "s, published",
    "halo": "s, all exchanges one after the other",
    "exposed": "s, what of the halo the core of a slab could not hide",
    "init": "s, model",
    "init_measured": "s, published",
    "total_measured": "s, published",
    "unexplained": "s, published total less the phases of the model",
    "rate": "point-steps/s of a node, both wavefields as one",
    "trace_before": "s, model",
    "trace_before_measured": "s, published",
    "trace": "s, model",
    "trace_measured": "s, document",
}

KERNEL = (
    Column("grid", "grid"),
    Column("nodes", "nodes", "d"),
    Column("planes", "planes", "d"),
    Column("imbalance", "most/mean", ".3f"),
    Column("kernel", "kernel s, model", ".1f"),
    Column("kernel_measured", "document", ".1f"),
    Column("kernel_ratio", "ratio", ".3f"),
    Column("halo", "halo s", ".1f"),
    Column("halo_share", "of kernel %", ".0f", 100),
    Column("exposed", "exposed s", ".1f"),
    Column("init", "init s, model", ".1f"),
    Column("init_measured", "document", ".1f"),
    Column("total_measured", "total s", ".0f"),
    Column("unexplained", "not in a phase s", ".0f"),
    Column("unexplained_share", "%", ".0f", 100),
    Column("note", "note"),
)

INPUT = (
    Column("grid", "grid"),
    Column("nodes", "nodes", "d"),
    Column("trace_before", "trace before s, model", ".1f"),
    Column("trace_before_measured", "document", ".1f"),
    Column("trace", "trace after s, model", ".1f"),
    Column("trace_measured", "document", ".1f"),
    Column("init", "init after s, model", ".1f"),
    Column("init_measured", "document", ".1f"),
    Column("kernel", "kernel s, model", ".1f"),
    Column("total_measured", "total s", ".0f"),
    Column("unexplained", "not in a phase s", ".0f"),
    Column("unexplained_share", "%", ".0f", 100),
    Column("note", "note"),
)


@dataclass(frozen=True)
class Fit:
    """Fit of the model to the fewest nodes of a grid.

    Parameters
    ----------
    nodes : int
        How many they are.
    rate : float
        Point-steps per second of a node.
    """

    nodes: int
    rate: float


def problem_of(grid: str) -> ShotProblem:
    """Return a run of the documents."""
    return ShotProblem(GRIDS[grid], STEPS, wavefields=2, ghost=GHOST)


def fit(grid: str) -> Fit:
    """Return the rate of a node on the fewest nodes of a grid."""
    first = MEASURED[grid][0]
    blocks = slabs(GRIDS[grid], first.nodes)
    # seconds of a rate of one point per second, over those measured
    return Fit(first.nodes, kernel_seconds(blocks, STEPS, 1.0) / first.kernel)


def kernel_rows() -> list[dict[str, Any]]:
    """Return document 001's rows beside what the model says of them."""
    out = []
    for grid, measured in MEASURED.items():
        problem, known, first = problem_of(grid), fit(grid), measured[0]
        for m in measured:
            blocks = slabs(problem.shape, m.nodes)
            kernel = kernel_seconds(blocks, STEPS, known.rate)
            halo = halo_seconds(blocks, problem, LINK) if m.nodes > 1 else 0.0
            hidden = core_seconds(blocks, problem, known.rate)
            rest = m.total - kernel - first.init
            out.append(
                {
                    "grid": grid,
                    "nodes": m.nodes,
                    "planes": blocks.largest[0],
                    "imbalance": blocks.imbalance,
                    "rate": known.rate,
                    "kernel": kernel,
                    "kernel_measured": m.kernel,
                    "kernel_ratio": kernel / m.kernel,
                    "halo": halo,
                    "halo_share": halo / kernel,
                    "exposed": exposed(halo, hidden),
                    "init": first.init,
                    "init_measured": m.init,
                    "total_measured": m.total,
                    "unexplained": rest,
                    "unexplained_share": rest / m.total,
                    "note": "fitted" if m is first else "",
                }
            )
    return out


def input_rows() -> list[dict[str, Any]]:
    """Return document 000's input beside what the model says of it, fitted at its fewest nodes."""
    out = []
    for grid, measured in REWRITTEN.items():
        problem, rate, first = problem_of(grid), fit(grid).rate, measured[0]
        at_first = slabs(problem.shape, first.nodes)
        read = trace_bytes(at_first, problem) / first.trace
        init_read = _init_bytes(problem, first.nodes) / first.init
        for m in measured:
            blocks = slabs(problem.shape, m.nodes)
            kernel = kernel_seconds(blocks, STEPS, rate)
            trace = trace_bytes(blocks, problem) / read
            init = _init_bytes(problem, m.nodes) / init_read
            rest = m.total - kernel - trace - init
            out.append(
                {
                    "grid": grid,
                    "nodes": m.nodes,
                    "trace_before": first.trace_before,
                    "trace_before_measured": m.trace_before,
                    "trace": trace,
                    "trace_measured": m.trace,
                    "init": init,
                    "init_measured": m.init,
                    "kernel": kernel,
                    "total_measured": m.total,
                    "unexplained": rest,
                    "unexplained_share": rest / m.total,
                    "note": "fitted" if m is first else "",
                }
            )
    return out


def _init_bytes(problem: ShotProblem, nodes: int) -> float:
    """Return the bytes of the model arrays that the busiest node reads."""
    return init_seconds(slabs(problem.shape, nodes), problem, FileRates(1.0, 1.0))


def largest_miss(rows: list[dict[str, Any]]) -> float:
    """Return how far the kernel column of the large grids is missed, the fitted rows aside."""
    return max(abs(r["kernel_ratio"] - 1) for r in rows if r["grid"] in LARGE and r["note"] != "fitted")


def thin_slabs(rows: list[dict[str, Any]]) -> list[str]:
    """Return what the model explains of the 125 grid on its most nodes, and what it does not."""
    small = [r for r in rows if r["grid"] == "125"]
    last, first = small[-1], small[0]
    even = first["kernel_measured"] / last["nodes"]
    uneven, over = last["kernel"] - even, last["kernel_measured"] - last["kernel"]
    return [
        f"125 grid on {last['nodes']} nodes: an even share would take {even:.1f} s; {last['planes']} planes at most "
        f"where the mean is {GRIDS['125'][0] / last['nodes']:.1f} make it {last['kernel']:.1f} s ({uneven:+.1f} s, "
        f"explained); the study has {last['kernel_measured']:.1f} s ({over:+.1f} s, not explained)",
        f"there all planes of a slab are sent ({last['planes']} of 2 x {GHOST}): nothing hides the halo, "
        f"{last['halo']:.1f} s if each message waited for the one before; on 8 nodes and fewer, where a core is left "
        "under which it can travel, the kernel column is met within 3 %",
    ]


def result() -> Result:
    """Return both tables in one result; rows say by ``table`` which they belong to."""
    rows, inputs = kernel_rows(), input_rows()
    miss = largest_miss(rows)
    verdict = (
        f"kernel column of the grids {' and '.join(LARGE)}: largest miss {miss:.1%} on the node counts that were not "
        f"fitted ({'within' if miss <= BAR else 'MORE THAN'} {BAR:.0%})"
    )
    return Result(
        "model",
        {"founding": True, "largest_miss": miss, "bar": BAR},
        [*(r | {"table": "kernel"} for r in rows), *(r | {"table": "input"} for r in inputs)],
        UNITS,
        {},
        [
            "MODEL beside documents 001 and 000",
            verdict,
            *thin_slabs(rows),
            *(f"assumed: {a}" for a in ASSUMPTIONS),
        ],
    )


def tables(measured: Result, how: str = "text") -> list[str]:
    """Return the tables of a result; as CSV that of the kernel alone."""
    by = {name: [r for r in measured.rows if r["table"] == name] for name in ("kernel", "input")}
    kernel = render(by["kernel"], KERNEL, how)
    return [kernel] if how == "csv" else [kernel, render(by["input"], INPUT, how)]
