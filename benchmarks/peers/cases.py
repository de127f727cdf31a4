"""The names of the questions put to peers, and what each one means.

``iso-256 iso-400 vti-256 vti-400 vti-founding tti-256`` time the steps of one wavefield with equal layers,
``solution-iso solution-vti solution-tti`` with the layers each side needs, ``iso2d-2000`` in 2-D; ``rtm2d rtm3d``
migrate a shot, ``kirchhoff`` sums traces along diffraction times, ``lsrtm`` inverts scattered data for a perturbation,
``gpu-iso-512 gpu-vti-512`` time the steps in 3-D against a peer that has GPUs, interiors equal (``--device cuda``).
Any name may end in ``:k``, which divides every axis by k, for a trial.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: cells of the damping layer of a peer, where the grid leaves room for them
DAMPING_CELLS = 40
#: cells of our default layer
PML_CELLS = 12
#: cells between it and the first whose tilt is that of the model: half the stencil of order 8, upright, and the taper
TILT_TAPER = 4 + 10

FOUNDING = (125, 1151, 1231)
MEDIA = {"iso": "isotropic", "vti": "vti", "tti": "tti"}
EXAMPLES = (
    "iso-256, vti-256, tti-256, solution-iso, solution-tti, iso2d-2000, rtm2d, rtm3d, kirchhoff, lsrtm, "
    "gpu-vti-512"
)
#: image points along x, y and depth of a Kirchhoff migration, and its traces
KIRCHHOFF = (12, 40, 500), 2000
#: points of a least-squares migration, and how often its gradient is taken
LSRTM = (161, 81), 10


@dataclass(frozen=True)
class Case:
    """One question.

    Parameters
    ----------
    name : str
        As on the command line.
    kind : str
        ``"steps"`` (equal layers), ``"solution"`` (equal interiors), ``"plane"`` (2-D, equal interiors),
        ``"rtm"``, ``"kirchhoff"``, ``"lsrtm"`` or ``"gpu"`` (3-D, equal interiors, the peer that has GPUs).
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"``.
    interior : tuple of int
        Points between the layers; two axes in 2-D.
    layer : int
        Cells of damping on every side of the peer's grid.
    steps : int
        Time steps of a migration; traces of a Kirchhoff one; gradients of a least-squares one; or 0.
    snapshot_every : int
        Time steps between imaged samples of a migration, or 0.
    """

    name: str
    kind: str
    medium: str
    interior: tuple[int, ...]
    layer: int
    steps: int = 0
    snapshot_every: int = 0
    order: int = 8
    spacing: float = 10.0
    reflection: float = 1e-2  # R of the damping profile, the default of both sides

    @property
    def ndim(self) -> int:
        return len(self.interior)

    @property
    def shape(self) -> tuple[int, ...]:
        """Points of the peer's grid, its layer included."""
        return tuple(n + 2 * self.layer for n in self.interior)

    @property
    def source(self) -> tuple[int, ...]:
        """Indices of the source of the verification, on the peer's grid."""
        return tuple(n // 2 + off for n, off in zip(self.shape, (0, -3, 5)[-self.ndim :], strict=True))


def parse(name: str) -> Case:
    """Return the case of that name."""
    whole, _, divisor = name.partition(":")
    k = int(divisor) if divisor.isdigit() and int(divisor) else 1
    match = re.fullmatch(
        r"(iso|vti|tti)-(founding|\d+)|solution-(iso|vti|tti)|iso2d-(\d+)|rtm(2d|3d)|kirchhoff|lsrtm|gpu-(iso|vti)-(\d+)",
        whole,
    )
    if not match or (divisor and not divisor.isdigit()):
        raise SystemExit(
            f"unknown case {name!r}; use one like {EXAMPLES}, or NAME:4 for a trial of a quarter"
        )
    if whole == "kirchhoff":
        shape, traces = KIRCHHOFF
        return Case(
            name, "kirchhoff", "isotropic", tuple(max(2, n // k) for n in shape), 0, max(5, traces // k)
        )
    if whole == "lsrtm":
        shape, gradients = LSRTM
        small = _at_least(name, tuple(n // k for n in shape))
        return Case(name, "lsrtm", "isotropic", small, 0, max(3, gradients // k))
    medium, size, solution, plane, rtm, gpu, gpu_size = match.groups()
    if gpu:
        return Case(name, "gpu", MEDIA[gpu], _at_least(name, (int(gpu_size) // k,) * 3), PML_CELLS)
    if medium:
        shape = FOUNDING if size == "founding" else (int(size),) * 3
        # the tilt must be zero in the layer: a thin one leaves it a larger part of the grid
        cells = PML_CELLS if medium == "tti" else DAMPING_CELLS
        return _equal(name, MEDIA[medium], tuple(n // k for n in shape), cells)
    if solution:
        return Case(name, "solution", MEDIA[solution], _at_least(name, (256 // k,) * 3), DAMPING_CELLS)
    if plane:
        return Case(name, "plane", "isotropic", _at_least(name, (int(plane) // k,) * 2), DAMPING_CELLS)
    interior, steps = ((801, 401), 2000) if rtm == "2d" else ((150, 150, 150), 500)
    small = _at_least(name, tuple(n // k for n in interior))
    return Case(name, "rtm", "isotropic", small, 20, steps=steps // k, snapshot_every=5)


def _equal(name: str, medium: str, shape: tuple[int, ...], cells: int) -> Case:
    """Return a case whose grid, layer included, has `shape`; the layer takes a quarter of it at most."""
    layer = min(cells, min(_at_least(name, shape)) // 4)
    return Case(name, "steps", medium, tuple(n - 2 * layer for n in shape), layer)


def _at_least(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    if min(shape) < 32:
        raise SystemExit(f"case {name!r} has {' x '.join(map(str, shape))} points; every axis needs 32")
    return shape
