"""How much network does a machine have for its arithmetic: this one beside the nine of the founding document.

Bytes per second that a node can send and receive, over its peak rate of floating-point operations: bytes per
operation. The document's nodes have one or two processors; its ratios are rounded, so they are computed again here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from subsalt.host import usable_cores
from subsalt.kernels import cpu
from subsalt.machine.stats import summary
from subsalt.report.table import Column
from subsalt_lab import sweeps
from subsalt_lab.memory import MULTIPLY_ADDS
from subsalt_lab.rounds import round_robin

#: machine, peak of a node in GFLOP/s, bandwidth of a node in GB/s, ratio as the document prints it
FOUNDING = (
    ("IBM BG/L", 5.6, 0.35, 0.0625),
    ("Red Storm '07", 9.6, 4.8, 0.5),
    ("IBM Purple", 48.0, 8.0, 0.17),
    ("SGI Columbia", 24.0, 6.4, 0.27),
    ("Dell Thunderbird", 14.4, 2.0, 0.13),
    ("Red Storm '04", 4.0, 4.8, 1.2),
    ("NEC Earth Simulator", 64.0, 12.3, 0.192),
    ("Mare Nostrum", 17.6, 0.5, 0.028),
    ("Thunder", 22.4, 1.0, 0.04),
)

#: bytes from where on a message is long: short ones may go by buffers that are full soon
LONG = 1 << 16

COLUMNS = [
    Column("machine", "machine"),
    Column("peak_gflops", "peak node GF/s", ".1f"),
    Column("dgemm_gflops", "DGEMM node GF/s", ".1f"),
    Column("bandwidth", "peak BW GB/s", ".3g"),
    Column("one_way", "one way GB/s", ".3g"),
    Column("both_ways", "both ways GB/s", ".3g"),
    Column("stated", "B/F stated", ".4g"),
    Column("ratio", "B/F computed", ".4f"),
]

HEADING = "Balance: bytes of network per floating-point operation"


def founding() -> list[dict[str, Any]]:
    """Return the rows of the founding document."""
    return [
        {
            "what": "balance",
            "machine": name,
            "peak_gflops": peak,
            "bandwidth": rate,
            "stated": stated,
            "ratio": rate / peak,
        }
        for name, peak, rate, stated in FOUNDING
    ]


def peak_rate(rounds: int = 7) -> float:
    """Return multiply-adds of all cores as double-precision operations, GFLOP/s; measured in a fraction of a second.

    The lab's multiply-adds are of single precision; vectors hold half as many doubles.
    """
    threads, isa = usable_cores(), str(cpu.describe()["isa"])

    def run() -> object:
        return sweeps.multiply_add(0.5, 1.0, MULTIPLY_ADDS, threads=threads, isa=isa)

    taken = round_robin({"multiply-add": run}, rounds, clock=time.perf_counter)["multiply-add"]
    return sweeps.operations(MULTIPLY_ADDS, threads=threads, isa=isa) / summary(taken).median / 2 / 1e9


def _long(rows: Iterable[Mapping[str, Any]], what: str) -> float | None:
    """Return the best rate of long messages; of all where there are no long ones."""
    rates = [(r["bytes"] >= LONG, r["value"]) for r in rows if r["what"] == what]
    return max(rates)[1] if rates else None


def this_machine(
    rows: Iterable[Mapping[str, Any]], peak: float, dgemm: float | None = None, name: str = "this machine"
) -> list[dict[str, Any]]:
    """Return a row for messages inside of a node, and one for those between nodes, where there are such.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of `measure.measure`.
    peak : float
        Peak of all cores, double precision, GFLOP/s.
    dgemm : float, optional
        Matrix multiplication on all cores at once, GFLOP/s.
    name : str
        Name of the machine.
    """
    measured = list(rows)
    out = []
    for label, places in (("in a node", ("socket", "node")), ("between nodes", ("across",))):
        some = [r for r in measured if r.get("where") in places]
        rates = {what: _long(some, what) for what in ("stream", "bidirectional")}
        if rates["stream"] is None and rates["bidirectional"] is None:
            continue
        best = max(r for r in rates.values() if r is not None)
        out.append(
            {
                "what": "balance",
                "machine": f"{name}, {label}",
                "peak_gflops": peak,
                "dgemm_gflops": dgemm,
                "one_way": rates["stream"],
                "both_ways": rates["bidirectional"],
                "ratio": best / peak,
            }
        )
    return out
