"""How fast a rank computes where the plan puts it: the measured rate of its processor, or the rate of its GPU.

A GPU whose kernels were not measured is predicted: a share of its copy bandwidth over the bytes of a point and step.

Bytes and floating-point operations per point of the core steps, as the heads of the kernels state them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from subsalt.kernels.problem import FIELD_NAMES
from subsalt.machine.machine_file import Machine
from subsalt.methods.rtm.need import Needs
from subsalt.plan.gpu import PlannedGpu
from subsalt.plan.rates import Parts, Rates, kernel_rates
from subsalt.plan.world import World


@dataclass(frozen=True)
class Cost:
    """Cost of one step per point in 3-D.

    Parameters
    ----------
    bytes : int
        Read and written, every array once, float32.
    packed : int or None
        The same with model arrays of 16 bits; None where there are none.
    operations : callable
        Function of the stencil radius; a multiply-add counts two.
    streams : str
        The arrays behind the bytes.
    """

    bytes: int
    packed: int | None
    operations: Callable[[int], int]
    streams: str


#: by medium; a test compares with the heads in native/kernels
COSTS = {
    # three axes of M (add, multiply-add), the centre, and two multiply-adds
    "isotropic": Cost(16, 14, lambda m: 9 * m + 5, "p, prev, m read, prev written"),
    # x and y on p, z on q, two centres, s B, and six multiply-adds
    "vti": Cost(36, 30, lambda m: 9 * m + 15, "2 fields, 2 prev, m, e, s read, 2 prev written"),
    # per field 18 M - 6 for both derivatives of three axes, 24 for fluxes and Laplacian, 9 M for the divergence
    "tti": Cost(
        48, None, lambda m: 54 * m + 49, "2 fields, 2 prev, m, e, s, 3 of the axis read, 2 prev written"
    ),
}


def cost(medium: str) -> Cost:
    """Return the cost of a medium."""
    return COSTS[medium]


def bytes_of(medium: str, storage: str) -> int:
    """Return the bytes per point of one step with models stored as ``"f32"`` or ``"u16"``."""
    price = COSTS[medium]
    if storage == "f32":
        return price.bytes
    if price.packed is None:
        raise ValueError(f"{medium} has no models of 16 bits")
    return price.packed


def pass_bytes(medium: str, storage: str = "f32") -> float:
    """Return the bytes per point and step of two steps in one pass over memory.

    The models are read once for both steps; both levels of every field are read once and written once.
    """
    fields = len(FIELD_NAMES[medium])
    models = bytes_of(medium, storage) - 12 * fields
    return (models + 16 * fields) / 2


#: part of the copy bandwidth that a time step is built to reach, by medium, until it is measured
SHARE = {"isotropic": 0.7, "vti": 0.7, "tti": 0.45}

#: point-steps that a point of the absorbing layer stands for: its memory fields are read and written too
LAYER = 2.0

#: bytes that a point of a snapshot with its energy moves, and of a correlation: fields, partner, sums read and written
IMAGING_BYTES = 20

#: bytes that injecting or recording a trace moves in a time step: its support of 8^3 points, read and written
TRACE_BYTES = 2 * 4 * 8**3

#: bytes per second at which memory of a GPU is allocated: pages are only mapped
TOUCH = 1e12

#: points per second and thread of making a propagator on the host
SETUP = 1e7

#: seconds that the driver takes before a process may compute, while the job is checked
CONTEXT_SECONDS = 1.0


def rates_for(needs: Needs, world: World, machine: Machine | str) -> Rates | str:
    """Return the rates of a node, or of the GPU that the world has; why there are none.

    Parameters
    ----------
    needs : Needs
        Needs of the computation.
    world : World
        Ranks.
    machine : Machine or str
        With what was measured; or why there is none.
    """
    if world.gpu is not None:
        return gpu_rates(needs, world, world.gpu, None if isinstance(machine, str) else machine)
    if isinstance(machine, str):
        return machine
    setup, threads = needs.setup, world.threads * world.ranks_per_node
    return kernel_rates(
        needs.medium, setup.model.grid.ndim, setup.propagation, machine, threads, needs.points
    )


def gpu_rates(needs: Needs, world: World, gpu: PlannedGpu, machine: Machine | None) -> Rates:
    """Return the rates of a GPU: of its kernels where they were measured, else predicted from its memory."""
    options = needs.setup.propagation
    parts = Parts(
        snapshot=gpu.copy / IMAGING_BYTES,
        product=gpu.copy / IMAGING_BYTES,
        injection=TRACE_BYTES / gpu.copy,
        copy=gpu.copy / 2,
        touch=TOUCH,
        setup=SETUP * world.threads * world.ranks_per_node,
    )
    row = _measured(needs, gpu, machine)
    if row is not None:
        core, layer = float(row["points_per_s"]), float(row["layer_points_per_s"])
        origin = f"measured on {gpu.name} at {row['n']}^3 on {str(row.get('date', ''))[:10]}"
        text = f"model: {_rate(core)} outside the layer and {_rate(layer)} inside, {origin}"
        noisy, date, version = bool(row.get("noisy")), str(row.get("date", "")), str(row.get("version", ""))
        return Rates(core, layer, 0, int(row["n"]), noisy, parts, date, version, _shared(text, gpu))
    share, per_point = SHARE[needs.medium], bytes_of(needs.medium, options.model_storage)
    core = share * gpu.copy / per_point
    known = f"measured on {gpu.measured[:10]}" if gpu.measured else "assumed"
    text = (
        f"model: {_rate(core)} predicted, not measured: {share:.0%} of the {gpu.copy / 1e12:.2f} TB/s that {gpu.name} "
        f"copies ({known}), over {per_point} B per point"
    )
    return Rates(core, core / LAYER, 0, 0, False, parts, source=_shared(text, gpu))


def _measured(needs: Needs, gpu: PlannedGpu, machine: Machine | None) -> dict | None:
    """Return what `lab kernels --device cuda` knows of such a step on that GPU: core and layer in one row."""
    if machine is None:
        return None
    options = needs.setup.propagation
    case = {
        "device": gpu.name,
        "medium": needs.medium,
        "order": options.order,
        "model_storage": options.model_storage,
        "loop": "segment",
    }
    cores = machine.find("device_kernels", boundary="none", **case)
    if not cores:
        return None
    core = dict(cores[0])
    rate = float(core["points_per_s"])
    if options.boundary == "none":
        return core | {"layer_points_per_s": rate}
    layered = machine.find("device_kernels", boundary=options.boundary, n=core["n"], **case)
    if not layered:
        return core | {"layer_points_per_s": rate / LAYER}
    n, width = int(core["n"]), int(layered[0]["layer_cells"])
    inside = (n - 2 * width) ** 3
    spent = n**3 / float(layered[0]["points_per_s"]) - inside / rate
    return core | {"layer_points_per_s": min(rate, (n**3 - inside) / spent) if spent > 0 else rate}


def _rate(points: float) -> str:
    return f"{points / 1e9:.3g} G point-steps/s"


def _shared(text: str, gpu: PlannedGpu) -> str:
    return text + (f"; {gpu.sharing} ranks share it" if gpu.sharing > 1 else "")
