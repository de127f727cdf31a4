"""How much memory a shot will need, by array, before any of it is allocated."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from subsalt import physics
from subsalt.acquisition.injection import ON_NODE, RADIUS
from subsalt.acquisition.survey import Shot
from subsalt.earth.grid import Box
from subsalt.earth.model_like import ModelLike
from subsalt.errors import MemoryPlanError
from subsalt.host import available_memory
from subsalt.kernels.fields import FIELDS, MEMORY, Layout, parameter_names
from subsalt.methods.rtm.conditions import condition_of
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.domain import Domain
from subsalt.propagation.options import PropagationOptions

#: rank and ranks of a group; one process alone
Part = tuple[int, int]
ALONE: Part = (0, 1)

HALF, FLOAT, DOUBLE = 2, 4, 8

#: a large padded array fills whole pages of this size
HUGE_PAGE = 2 << 20

#: planes along x that a tile of the TTI step does at a time
TILT_PLANES = 2


def shot_memory(
    setup: MigrationSetup,
    shot: Shot,
    *,
    several: bool = True,
    image: bool = True,
    part: Part = ALONE,
    kept: Mapping[str, int] | None = None,
    on_device: bool = False,
) -> dict[str, int]:
    """Return bytes by array for migrating `shot`; the values sum to its peak beyond model and interpreter.

    Parameters
    ----------
    setup : MigrationSetup
        Shared choices.
    shot : Shot
        Its window and receivers rule the sizes.
    several : bool
        Other shots come before it, and the image, their snapshots' memory and last sums are held. The image of a single
        shot takes no memory before its fields are gone.
    image : bool
        The sums over shots are held meanwhile. A run keeps them and the parts of its shots in files, and reads the
        traces of the next shot while one is computed.
    part : tuple of int
        Which rank of how many that share the shot.
    kept : mapping of str to int, optional
        What the strategy holds by array (`checkpoint.choice.footprint`); every snapshot when None.
    on_device : bool
        Wavefields are in the memory of a GPU, and not counted; the model goes there from arrays of the host.

    Notes
    -----
    Everything but the working space is held while wavefields propagate. The working space is what another stage, with
    less of the rest, needs beyond that: making the model arrays, mapping the traces, finishing the image.
    """
    window = setup.window(shot)
    accumulators = len(condition_of(setup.imaging.condition).accumulators)
    domain = domain_of(setup.model, setup.propagation, window, shot, part)
    window_bytes = FLOAT * domain.interior.size
    plan = propagation_memory(setup.model, setup.propagation, window, shot, part, on_device=on_device)
    making = plan.pop("working space") + plan["wavefields"] + plan["absorbing layer"]
    nr, recorded, stepped = receivers_on(domain, shot), setup.record.nt, setup.axis.nt
    # as they came; to be injected, in double and in single precision; and those that a run reads ahead
    ahead = FLOAT * recorded if several and not image else 0
    plan["traces"] = nr * (FLOAT * recorded + (DOUBLE + FLOAT) * stepped + ahead)
    model = plan["model arrays"]
    stages = [
        model + making + nr * (FLOAT * recorded + DOUBLE * stepped),
        model + nr * (FLOAT * recorded + (2 * DOUBLE + FLOAT) * stepped),  # scaling what is injected
        nr * ((2 * FLOAT + DOUBLE) * recorded + DOUBLE * stepped),  # mapping the traces
        nr * (2 * FLOAT * recorded + 2 * DOUBLE * stepped),  # and weighting them
    ]
    held = image and several
    if image:
        # finishing the image
        stages.append(
            (3 * DOUBLE + FLOAT) * setup.model.grid.size + (0 if several else image_bytes(setup)),
        )
    if held:
        plan["image"] = image_bytes(setup)
    plan |= kept if kept is not None else {"snapshots": len(setup.imaged_samples) * window_bytes}
    plan["image accumulators"] = (2 if held else 1) * accumulators * window_bytes
    before = sum(plan.get(n, 0) for n in ("snapshots", "pinned snapshots")) if several else 0
    if held:
        before += plan["image"] + accumulators * window_bytes
    return plan | {"working space": max(0, before + max(stages) - sum(plan.values()))}


def domain_of(
    model: ModelLike, options: PropagationOptions, window: Box, shot: Shot, part: Part = ALONE
) -> Domain:
    """Return the computational grid of `shot` in `window` of the model, and what of it a rank of a group has."""
    rank, ranks = part
    points = np.concatenate([shot.src[None], shot.rcv])
    medium = physics.medium_of(model, options.medium)
    return Domain.of(model.grid, window, options, medium, points, rank=rank, ranks=ranks)


def _supports(domain: Domain, shot: Shot) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last plane of the computational grid on which each receiver has a weight."""
    x = domain.grid.to_index(shot.rcv)[:, 0]
    near = np.rint(x)
    node = np.abs(x - near) <= ON_NODE
    first = np.where(node, near, np.floor(x) - RADIUS + 1)
    return first.astype(np.int64), np.where(node, near, np.floor(x) + RADIUS).astype(np.int64)


def receivers_on(domain: Domain, shot: Shot) -> int:
    """Return how many receivers have a support that touches the planes owned."""
    first, last = _supports(domain, shot)
    return int(((last >= domain.slab.lo) & (first < domain.slab.hi)).sum())


def recorded_on(domain: Domain, shot: Shot) -> tuple[int, int]:
    """Return how many receivers a rank records for itself, and single planes of receivers that it sends and gets."""
    first, last = _supports(domain, shot)
    lo, hi = domain.slab.lo, domain.slab.hi
    own = (first >= lo) & (first < hi)
    sent = np.minimum(last, hi - 1)[first < lo] - lo + 1
    got = last[own] - hi + 1
    return int(own.sum()), int(2 * np.maximum(sent, 0).sum() + np.maximum(got, 0).sum())


def propagation_memory(
    model: ModelLike,
    options: PropagationOptions,
    window: Box,
    shot: Shot,
    part: Part = ALONE,
    *,
    on_device: bool = False,
) -> dict[str, int]:
    """Return bytes by array for one wavefield of `shot` in `window` of the model; the values sum to the peak.

    Those of the host alone when wavefields are `on_device`.
    """
    domain = domain_of(model, options, window, shot, part)
    layout = domain.layout
    padded = allocated(FLOAT * math.prod(layout.padded_shape))
    packed = allocated(HALF * math.prod(layout.padded_shape))
    medium = physics.medium_of(model, options.medium)
    wavefields = 2 * len(FIELDS[medium]) * padded
    layer = layer_bytes(
        layout,
        options.boundary,
        options.layer_cells,
        options.free_surface,
        kinds=len(MEMORY[medium]),
        x_layer=sum(domain.held_widths[:2]),
    )
    if on_device:
        wavefields = layer = 0
    # the model of the window, epsilon also as it was before the taper around the sources
    volumes = model.as_medium(medium).volumes
    making = (len(volumes) + ("epsilon" in volumes)) * FLOAT * math.prod(layout.shape3)
    return {
        "wavefields": wavefields,
        "model arrays": len(parameter_names(medium, model.grid.ndim))
        * (packed if options.model_storage == "u16" else padded),
        "absorbing layer": layer,
        "working space": max(0, making - wavefields - layer),
    }


def modelled_shot_memory(
    model: ModelLike,
    options: PropagationOptions,
    window: Box,
    shot: Shot,
    samples: tuple[int, int],
    part: Part = ALONE,
    *,
    on_device: bool = False,
) -> dict[str, int]:
    """Return bytes by array for modelling `shot`; the values sum to its peak beyond model and interpreter.

    Parameters
    ----------
    model, options, window, shot, part, on_device
        As in `propagation_memory`.
    samples : tuple of int
        Of a trace as written, and as recorded at every time step.
    """
    written, stepped = samples
    plan = propagation_memory(model, options, window, shot, part, on_device=on_device)
    nr, planes = recorded_on(domain_of(model, options, window, shot, part), shot)
    plan["traces"] = (nr + planes) * FLOAT * stepped
    # mapped to the axis of the record after the time loop, when the wavefields are gone
    mapping = nr * (DOUBLE * stepped + (DOUBLE + FLOAT) * written)
    gone = plan["wavefields"] + plan["absorbing layer"]
    plan["working space"] = max(plan["working space"], mapping - gone)
    return plan


def tilt_scratch(layout: Layout) -> int:
    """Return the bytes of the flux rings that a thread keeps for a tile of the TTI step (native/isa/tti_rings.hpp)."""
    reach, planes = layout.radius, TILT_PLANES
    rows = min(layout.shape3[1], max(16, min(64, 64 * 272 // layout.row)))
    row = _vectors(layout.shape3[2]) + 64
    slots = 2 * (2 * reach + planes) + 2 * (reach + planes) + planes
    across = planes * (2 * reach + 1 if layout.ndim == 3 else 1)
    return FLOAT * row * (slots * rows + across + 2)


def allocated(size: int) -> int:
    """Return the bytes that a padded array of `size` bytes takes: large ones fill whole huge pages."""
    return size if size < 2 * HUGE_PAGE else -(-(size + 64) // HUGE_PAGE) * HUGE_PAGE


def layer_bytes(
    layout: Layout,
    boundary: str,
    width: int,
    free_surface: bool,
    kinds: int = 2,
    x_layer: int | None = None,
) -> int:
    """Return the bytes of the memory fields of the PML: `kinds` of them per axis, in rows along z of whole vectors.

    Parameters
    ----------
    layout : Layout
        Of the planes that are held.
    boundary : str
        Kind of layer.
    width : int
        Cells of the layer.
    free_surface : bool
        There is none at the top.
    kinds : int
        Memory fields per axis.
    x_layer : int, optional
        Planes that lie in the layers at the ends of x; both layers whole when None.
    """
    if boundary != "pml":
        return 0
    return kinds * sum(allocated(FLOAT * n) for n in layer_sizes(layout, width, free_surface, x_layer))


def layer_sizes(layout: Layout, width: int, free_surface: bool, x_layer: int | None = None) -> list[int]:
    """Return the floats of one memory field of every axis of the PML; parameters as in `layer_bytes`."""
    nx, ny, nz = layout.shape3
    row, window = _vectors(nz), _vectors(width + layout.radius)
    sizes = [
        (2 * width if x_layer is None else x_layer) * ny * row,
        (1 if free_surface else 2) * window * nx * ny,
    ]
    if layout.ndim == 3:
        sizes.append(2 * width * nx * row)
    return sizes


def _vectors(n: int) -> int:
    """Return `n` rounded up to whole vectors of 16 floats."""
    return -(-n // 16) * 16


def check_memory(setup: MigrationSetup, shots: list[Shot], available: int | None = None) -> dict[str, int]:
    """Return the memory of the largest shot by array; refuse when it does not fit.

    Raises
    ------
    MemoryPlanError
        With the numbers and the smallest change that fits.
    """
    have = available_memory() if available is None else available
    plans = [shot_memory(setup, s, several=len(shots) > 1) for s in largest_shots(setup, shots)]
    worst = max(plans, key=lambda p: sum(p.values()))
    total = sum(worst.values())
    if total > have:
        table = ", ".join(f"{k} {v / 1e9:.2f} GB" for k, v in sorted(worst.items(), key=lambda kv: -kv[1]))
        raise MemoryPlanError(
            f"the job needs {total / 1e9:.2f} GB, {have / 1e9:.2f} GB are available: {table}",
            _smallest_change(setup, worst, total - have),
            code="E610",
        )
    return worst


def image_bytes(setup: MigrationSetup) -> int:
    """Return the bytes of the sums over shots (float64)."""
    return DOUBLE * setup.model.grid.size * len(condition_of(setup.imaging.condition).accumulators)


def largest_shots(setup: MigrationSetup, shots: list[Shot]) -> list[Shot]:
    """Return the shot with the largest window and the one with the most receivers."""

    def size(shot: Shot) -> int:
        box: Box = setup.window(shot)
        return box.size

    return [max(shots, key=size), max(shots, key=lambda s: len(s.rcv))]


def _smallest_change(setup: MigrationSetup, plan: dict[str, int], missing: int) -> str:
    """Return the smallest single change that would make the job fit."""
    per_sample = plan["snapshots"] // max(1, len(setup.imaged_samples))
    keep = len(setup.imaged_samples) - math.ceil(missing / max(1, per_sample))
    if keep >= 1:
        factor = math.ceil(setup.axis.nt / keep)
        limit = setup.image_step
        if factor <= 2 * limit:
            return f"set [imaging] image_step = {factor} (from {limit}), or reduce [imaging] aperture"
    total = sum(plan.values())
    share = max(0.05, 1.0 - missing / total)
    if setup.imaging.aperture is not None:
        return f"reduce [imaging] aperture from {setup.imaging.aperture:g} m so that windows shrink to {share:.0%}"
    return f"set [imaging] aperture so that the window of a shot holds at most {share:.0%} of the model"
