"""Points per second of a node, measured by `subsalt lab kernels` or assumed, and what a survey takes with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subsalt import __version__
from subsalt.errors import MissingInputError, SubsaltError
from subsalt.kernels.passes import PACE
from subsalt.machine import machine_file as machines
from subsalt.machine.machine_file import OLD, Machine, days_since
from subsalt.machine.shot_rates import MOST_POINTS
from subsalt.propagation.domain import Domain
from subsalt.propagation.options import PropagationOptions

#: how to get a rate
HOW = "subsalt lab kernels"

#: the same, and what else a plan can be given
MEASURES = f"{HOW} does that, or give --machine machine.json"

#: seconds after which a disturbed measurement is made again
SETTLED = 120.0

#: factor by which a measured shot may be larger or smaller: caches are filled alike
NEAR = 1.5

#: points per second and thread where nothing was measured: a slow core, so that recomputing is not taken lightly
ASSUMED = 1.5e8


@dataclass(frozen=True)
class Parts:
    """Seconds of a shot on a node without its time steps (`subsalt.machine.shot_rates`).

    Parameters
    ----------
    snapshot, product : float
        Points of the window per second: of a snapshot with its illumination, of a product with one.
    injection : float
        Seconds of a trace and time step.
    copy, touch : float
        Bytes per second of a copy in memory, and of memory that is used for the first time.
    setup : float
        Points per second of making a propagator and its state.
    start : float
        Seconds of the program before it reads its job.
    """

    snapshot: float = 4e8
    product: float = 4e8
    injection: float = 1e-6
    copy: float = 4e9
    touch: float = 2e9
    setup: float = 1e7
    start: float = 1.0


@dataclass(frozen=True)
class Rates:
    """Points per second of a node, inside the absorbing layer and elsewhere.

    Parameters
    ----------
    core, layer : float
        Points per second.
    threads : int
        Threads of the node.
    n : int
        Points per axis of the measurement; 0 when it is assumed.
    noisy : bool
        The measurement was disturbed.
    parts : Parts
        Seconds of the other parts of a shot.
    date, version : str
        When it was measured, and by which version; empty when it is assumed.
    source : str
        Sentence on the origin of the figures, where they are those of a GPU.
    """

    core: float
    layer: float
    threads: int
    n: int
    noisy: bool
    parts: Parts = field(default_factory=Parts)
    date: str = ""
    version: str = ""
    source: str = ""


def worth_again(row: Mapping[str, Any]) -> bool:
    """Return whether a rate should be measured again: it was disturbed, is of another version, or old.

    What disturbed it may be over; a rate that was kept would stay wrong by a factor.
    """
    days = days_since(str(row.get("date", "")), datetime.now(UTC))
    if days is None or row.get("version") != __version__ or days > OLD:
        return True
    return bool(row.get("noisy")) and days * 86400 > SETTLED


def why_again(row: Mapping[str, Any] | None) -> str:
    """Return why a rate is measured again, to be put behind what is measured; empty for the first time."""
    if row is None:
        return ""
    why = "was disturbed" if row.get("noisy") else "is old"
    return f" again, because the last measurement {why}"


def faster(new: dict[str, Any], old: Mapping[str, Any] | None, rate: str) -> dict[str, Any]:
    """Return a new row, with the numbers of the old one where both were disturbed and the old one less so.

    What disturbs a measurement makes it slower. The date is that of the new one: it was looked at again.
    """
    names = ("version", "points", "samples")
    alike = old is not None and all(old.get(n) == new.get(n) for n in names)
    if old is None or not alike or not (new.get("noisy") and old.get("noisy")):
        return new
    return new if float(new[rate]) >= float(old[rate]) else {**old, "date": new["date"]}


def machine_of(path: Path | None = None, how: str = MEASURES) -> tuple[Machine | None, str]:
    """Return the machine that `path` describes, or this one; None and why when it was not measured.

    Parameters
    ----------
    path : Path, optional
        A machine.json.
    how : str
        Advice for a machine on which it was not measured.
    """
    if path is not None:
        return machines.read(path), ""
    try:
        machine = machines.read(machines.default_path())
    except MissingInputError:
        return None, f"no time: this machine was not measured; {how}"
    if not machine.is_same(machines.Machine.here()):
        return None, f"no time: {machines.default_path()} describes another machine; {how}"
    return machine, ""


def machine_if_known() -> Machine | None:
    """Return this machine where it was measured and the file can be used: a run starts without it, too."""
    try:
        return machine_of()[0]
    except SubsaltError:
        return None


def assumed(threads: int) -> Rates:
    """Return rates to rank strategies with where nothing was measured."""
    return Rates(ASSUMED * threads, ASSUMED * threads / 2, threads, 0, True)


def step_seconds(parts: Sequence[Domain], rates: Rates) -> float:
    """Return the seconds of a time step on the slowest part of a shot if its rank had the rates of a node.

    Parameters
    ----------
    parts : sequence of Domain
        Domains of the ranks that share the shot.
    rates : Rates
        Rates of passes; blocks take steps one by one.
    """

    def seconds(part: Domain) -> float:
        inside = part.inside
        pace = PACE[1] if part.steps_alone else 1.0
        return pace * (inside / rates.core + (part.owned.size - inside) / rates.layer)

    return max(map(seconds, parts))


def kernel_rates(
    medium: str,
    ndim: int,
    options: PropagationOptions,
    machine: Machine,
    wanted: int,
    points: int = 0,
) -> Rates | str:
    """Return the rates of a node, or why there are none: of a shot of that size, else of the kernels alone.

    Parameters
    ----------
    medium : str
        As it is propagated.
    ndim : int
        Dimensions of the model.
    options : PropagationOptions
        Order, storage and layer.
    machine : Machine
        With what was measured.
    wanted : int
        Threads of all ranks of a node.
    points : int
        Points in the window of a shot.
    """
    wanted = min(int(machine.machine.get("cores") or 1), wanted)
    like = shot_rates(medium, ndim, options, machine, wanted, points)
    if like is not None:
        return like
    if ndim == 2:
        return f"no time: {HOW} measures kernels in 3-D, this model is 2-D"
    case = {
        "medium": medium,
        "dim": 3,
        "order": options.order,
        "model_storage": options.model_storage,
        "loop": "segment",
    }
    what = f"{medium}, order {options.order}, {options.model_storage}"
    rows = machine.find("kernels", boundary="none", **case)
    if not rows:
        return f"no time: {HOW} has not measured {what}"
    row = next((r for r in rows if r.get("threads") == wanted), None)
    if row is None:
        known = ", ".join(sorted({str(r.get("threads")) for r in rows}))
        return f"no time: {HOW} has measured {what} with {known} threads, {wanted} are planned per node"
    same = {k: row[k] for k in ("isa", "threads", "n") if k in row}
    core = float(row["points_per_s"])
    if options.boundary == "none":
        return Rates(core, core, wanted, int(row["n"]), bool(row.get("noisy")), Parts(), *_when(row))
    layered = machine.find("kernels", boundary=options.boundary, **case, **same)
    if not layered:
        return f"no time: {HOW} has not measured {what} with boundary {options.boundary}"
    n, width = int(row["n"]), int(layered[0]["layer_cells"])
    inside = (n - 2 * width) ** 3
    spent = n**3 / float(layered[0]["points_per_s"]) - inside / core
    # a layer is never cheaper than the core; noise may say so
    layer = min(core, (n**3 - inside) / spent) if spent > 0 else core
    noisy = bool(row.get("noisy") or layered[0].get("noisy"))
    return Rates(core, layer, wanted, n, noisy, Parts(), *_when(row))


def shot_rates(
    medium: str, ndim: int, options: PropagationOptions, machine: Machine, wanted: int, points: int
) -> Rates | None:
    """Return the rates of a shot of nearly that size, None when none was measured."""
    row = shot_row(medium, ndim, options, machine, wanted, points)
    if row is None:
        return None
    rate = float(row["step_points_per_s"])
    parts = Parts(
        snapshot=float(row["snapshot_points_per_s"]),
        product=float(row["product_points_per_s"]),
        injection=float(row["injection_seconds"]),
        copy=float(row["copy_bytes_per_s"]),
        touch=float(row["touch_bytes_per_s"]),
        setup=float(row["setup_points_per_s"]),
        start=float(row["start_seconds"]),
    )
    return Rates(rate, rate, wanted, int(row["points"]), bool(row.get("noisy")), parts, *_when(row))


def shot_row(
    medium: str, ndim: int, options: PropagationOptions, machine: Machine, wanted: int, points: int
) -> dict[str, Any] | None:
    """Return what `lab.shot_rates` measured of a shot of nearly that size; quiet measurements go before."""
    rows = machine.find(
        "shots",
        medium=medium,
        dim=ndim,
        order=options.order,
        boundary=options.boundary,
        layer_cells=options.layer_cells,
        free_surface=options.free_surface,
        model_storage=options.model_storage,
        threads=wanted,
    )
    size = min(points, MOST_POINTS)
    near = [r for r in rows if size <= NEAR * r["points"] and r["points"] <= NEAR * size]
    if not near:
        return None
    return min(near, key=lambda r: (bool(r.get("noisy")), abs(math.log(r["points"] / size))))


def _when(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return date and version of a measurement."""
    return str(row.get("date", "")), str(row.get("version", ""))


#: the commands that measure rates for a run, which itself measures nothing
PLANS = "subsalt plan JOB measures it in some seconds, and the next run has a prediction"


def machine_for_run() -> tuple[Machine | None, str]:
    """Return this machine if it was measured, and why not: a damaged file is no reason not to run."""
    try:
        return machine_of(how=PLANS)
    except SubsaltError as error:
        return None, error.message
