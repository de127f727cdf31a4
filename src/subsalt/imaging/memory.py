"""How much memory a shot will need, by array, before any of it is allocated; and how much there is."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from subsalt import physics
from subsalt.errors import MemoryPlanError
from subsalt.fields import Layout
from subsalt.grid import Box
from subsalt.imaging.conditions import condition_of
from subsalt.imaging.setup import MigrationSetup
from subsalt.model import EarthModel
from subsalt.options import PropagationOptions
from subsalt.propagator import padding
from subsalt.stencil import radius_of
from subsalt.survey import Shot

FLOAT = 4


def shot_memory(setup: MigrationSetup, shot: Shot) -> dict[str, int]:
    """Return bytes by array for migrating `shot`; the values sum to its peak beyond model and interpreter.

    Parameters
    ----------
    setup : MigrationSetup
        Shared choices.
    shot : Shot
        Its window and receivers rule the sizes.
    """
    window = setup.window(shot)
    condition = condition_of(setup.imaging.condition)
    window_bytes = FLOAT * window.size
    return propagation_memory(setup.model, setup.propagation, window, shot) | {
        "snapshots": len(setup.imaged_samples) * window_bytes,
        "image accumulators": len(condition.accumulators) * window_bytes,
        # samples to be injected in double and single precision, and the traces they come from
        "traces": len(shot.rcv) * (3 * FLOAT * setup.record.nt + 4 * FLOAT * setup.axis.nt),
    }


def propagation_memory(
    model: EarthModel, options: PropagationOptions, window: Box, shot: Shot
) -> dict[str, int]:
    """Return bytes by array for one wavefield of `shot` in `window` of the model."""
    grid = model.grid.window(window)
    pad = padding(grid, options, np.concatenate([shot.src[None], shot.rcv]))
    shape = tuple(n + pad[2 * i] + pad[2 * i + 1] for i, n in enumerate(grid.shape3))
    layout = Layout((shape[0], shape[1], shape[2]), radius_of(options.order), grid.ndim)
    padded = FLOAT * math.prod(layout.padded_shape)
    medium = physics.medium_of(model, options.medium)
    return {
        "wavefields": 2 * len(physics.MEDIA[medium].FIELDS) * padded,
        "model arrays": (3 if medium == "vti" else 1) * padded,
        # the parameters are made in double precision before they are stored
        "model input": 3 * 8 * math.prod(layout.shape3),
        "absorbing layer": layer_bytes(layout, options.boundary, options.layer_cells, options.free_surface),
    }


def layer_bytes(layout: Layout, boundary: str, width: int, free_surface: bool) -> int:
    """Return the bytes of the memory fields of the PML: two floats per point of every layer."""
    if boundary != "pml":
        return 0
    nx, ny, nz = layout.shape3
    cells = 2 * width * ny * nz + (1 if free_surface else 2) * width * nx * ny
    if layout.ndim == 3:
        cells += 2 * width * nx * nz
    return 2 * FLOAT * cells


def available_memory() -> int:
    """Return the bytes this process may still use: the least of what the machine has free and its control group."""
    free = _meminfo("MemAvailable")
    for limit_file, used_file in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        limit, used = _number(limit_file), _number(used_file)
        if limit is not None and used is not None:
            free = min(free, max(0, limit - used))
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        free = min(free, max(0, soft - _status("VmSize")))
    return free


def check_memory(setup: MigrationSetup, shots: list[Shot], available: int | None = None) -> dict[str, int]:
    """Return the memory of the largest shot by array; refuse when it does not fit.

    Raises
    ------
    MemoryPlanError
        With the numbers and the smallest change that fits.
    """
    have = available_memory() if available is None else available
    plans = [shot_memory(setup, s) for s in largest_shots(setup, shots)]
    worst = max(plans, key=lambda p: sum(p.values()))
    total = sum(worst.values()) + image_bytes(setup)
    if total > have:
        table = ", ".join(f"{k} {v / 1e9:.2f} GB" for k, v in sorted(worst.items(), key=lambda kv: -kv[1]))
        raise MemoryPlanError(
            f"the job needs {total / 1e9:.2f} GB, {have / 1e9:.2f} GB are available: {table}",
            _smallest_change(setup, worst, total - have),
            code="E610",
        )
    return worst


def image_bytes(setup: MigrationSetup) -> int:
    """Return the bytes of the sums over shots (float64) and the finished image."""
    n = setup.model.grid.size
    return n * (8 * (len(condition_of(setup.imaging.condition).accumulators) + 3) + 4)


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


def _meminfo(key: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None
