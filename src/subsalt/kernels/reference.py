"""The kernels in NumPy: the text against which every other device is read and tested.

Every function works on padded arrays (`subsalt.kernels.problem.Layout`) inside one index box, in the dtype of the
problem. The order of operations per point is the canonical one; compiled devices use fused multiply-adds for
``a * b + c`` written here, so they agree with this module to rounding and with each other bit for bit.

The derivatives and the operators of tilted media are in `subsalt.kernels.reference_operators`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.kernels.depth_rows import depth_rows
from subsalt.kernels.device import InPlace, RowProducts
from subsalt.kernels.host_arrays import OWN_MEMORY as OWN_MEMORY
from subsalt.kernels.host_arrays import lock as lock
from subsalt.kernels.host_arrays import on_host as on_host
from subsalt.kernels.host_arrays import to_device as to_device
from subsalt.kernels.host_arrays import to_host as to_host
from subsalt.kernels.host_arrays import work_done as work_done
from subsalt.kernels.host_arrays import zeros as zeros
from subsalt.kernels.mirror import MirrorStep, in_numpy
from subsalt.kernels.problem import Z_FRONT, Layout, Problem, State
from subsalt.kernels.reference_operators import Operator, along_z, at, chain, d1, d2, inside
from subsalt.kernels.scaled16 import pack16, unpack16
from subsalt.kernels.shell import Shell
from subsalt.kernels.stepper import Sharing, Stepper
from subsalt.kernels.work import Work

if TYPE_CHECKING:
    from subsalt.acquisition.injection import Points


NAME = "reference"
WHOLE_MEMORY_FIELDS = True

#: ranks may cut the rows along y of a grid, beside its planes
CUTS_ROWS = True

#: whether kernels return before they have computed
ASYNCHRONOUS = False

#: whether numbers below the smallest normal one are made zeros
FLUSHES = False

#: how ghost planes come to MPI
ghost_planes = InPlace

#: a free surface inside the grid
mirror: MirrorStep | None = in_numpy


def allocate(layout: Layout, dtype: type = np.float32) -> NDArray:
    """Return a padded array of zeros."""
    return np.zeros(layout.padded_shape, dtype=dtype)


def reserve(size: int, dtype: type = np.float32) -> NDArray:
    """Return `size` numbers to be written, with every page of their memory there."""
    out: NDArray = np.empty(size, dtype=dtype)
    out.fill(0)
    return out


def reserve_host(size: int, dtype: type = np.float32) -> NDArray:
    """Return `size` numbers in the memory of the host, from and to which the device copies fast: those of `reserve`."""
    return reserve(size, dtype)


def copy(target: NDArray, source: NDArray) -> None:
    """Copy an array into another one of the same size."""
    target[...] = source


def _param(problem: Problem, name: str) -> NDArray:
    """Return `Problem.param`, unpacked once: every step and injection asks for it."""
    if not problem.scales:
        return problem.params[name]
    key = f"reference.{name}"
    if key not in problem.cache:
        problem.cache[key] = problem.param(name)
    return problem.cache[key]  # type: ignore[return-value]


def new_memory(problem: Problem) -> dict[str, NDArray]:
    """Return zeroed memory fields of the PML, `Problem.memory_kinds` per axis, here as full padded arrays."""
    if problem.boundary != "pml":
        return {}
    return {
        f"{kind}_{axis}": allocate(problem.layout, problem.dtype)
        for kind in problem.memory_kinds
        for axis in problem.axes
    }


def new_state(problem: Problem) -> State:
    """Return a state at rest at time index 0."""

    def level() -> list[NDArray]:
        return [allocate(problem.layout, problem.dtype) for _ in range(problem.n_fields)]

    return State(level(), level(), new_memory(problem))


def _field_of_axis(problem: Problem, axis: int) -> int:
    """Return the wavefield of which Psi of `axis` is made: of two fields, x and y have p, z has q."""
    return 1 if problem.n_fields == 2 and axis == 2 else 0


def layer_boxes(problem: Problem, axis: int, inner: int = 0) -> list[Box]:
    """Return the two boxes of the layer along `axis`, each reaching `inner` cells further inside."""
    n = problem.layout.shape3[axis]
    out = []
    for side in (0, 1):
        width = problem.widths[2 * axis + side]
        if width == 0:
            continue
        lo, hi = [0, 0, 0], list(problem.layout.shape3)
        if side == 0:
            hi[axis] = min(n, width + inner)
        else:
            lo[axis] = max(0, n - width - inner)
        out.append(Box(tuple(lo), tuple(hi)))  # type: ignore[arg-type]
    return out


def _profile(values: NDArray, box: Box, axis: int, dtype: type) -> NDArray:
    """Return a 1-D profile cut to `box`, shaped to broadcast along `axis`."""
    shape = [1, 1, 1]
    shape[axis] = -1
    return values[box.lo[axis] : box.hi[axis]].astype(dtype).reshape(shape)


def memory_step(problem: Problem, state: State, box: Box) -> None:
    """Advance Psi of every axis inside the layer: Psi <- b Psi + (b - 1) D1 u.

    Call it for all boxes before the first `field_step` of the time step.
    """
    if problem.boundary != "pml":
        return
    assert problem.decay is not None
    for axis in problem.axes:
        u = state.curr[_field_of_axis(problem, axis)]
        for layer in layer_boxes(problem, axis):
            part = layer.intersect(box)
            if part.size == 0:
                continue
            b = _profile(problem.decay[axis], part, axis, problem.dtype)
            psi = at(problem, state.memory[f"psi_{axis}"], part)
            psi[...] = b * psi + (b - problem.dtype(1)) * d1(problem, u, part, axis)


#: an operator of the wave equation restricted to one axis: (box, axis) -> its values in the box
AxisOperator = Callable[[Box, int], NDArray]


def _second(problem: Problem, u: NDArray) -> AxisOperator:
    """Return the second derivative of `u` as an operator of one axis."""
    return lambda box, axis: chain(problem, u, box, (axis,))


def _layer_terms(
    problem: Problem, state: State, box: Box, field: int, axes: tuple[int, ...], operator: AxisOperator
) -> NDArray:
    """Advance Zeta and return what the layer adds to an operator that acts on `field` along `axes`: D1 Psi + Zeta.

    r = (the operator along one axis) + D1 Psi; Zeta <- b Zeta + (b - 1) r (in the layer); D1 Psi also acts in the M
    cells inside its edge; elsewhere the term is 0. Where another field has Psi of the axis (TTI), there is no Psi, and
    Zeta is `zeta2`.
    """
    extra: NDArray = np.zeros(box.shape, dtype=problem.dtype)
    if problem.boundary != "pml":
        return extra
    assert problem.decay is not None
    rows = depth_rows(problem)
    for axis in axes:
        own = _field_of_axis(problem, axis) == field
        term: NDArray = np.zeros(box.shape, dtype=problem.dtype)
        for near in layer_boxes(problem, axis, problem.radius):
            part = near.intersect(box)
            if part.size and own:
                inside(term, part, box)[...] = d1(problem, state.memory[f"psi_{axis}"], part, axis)
        for layer in layer_boxes(problem, axis):
            part = layer.intersect(box)
            if part.size == 0:
                continue
            g = inside(term, part, box)
            b = _profile(problem.decay[axis], part, axis, problem.dtype)
            zeta = at(problem, state.memory[f"{'zeta' if own else 'zeta2'}_{axis}"], part)
            zeta[...] = b * zeta + (b - problem.dtype(1)) * (operator(part, axis) + g)
            g += zeta
        if rows is not None and axis == 2:
            term = along_z(rows.square, box) * term
        extra = extra + term
    return extra


def _damping(problem: Problem, box: Box) -> NDArray | None:
    """Return sigma dt summed over the axes in `box`, or None without a damping layer."""
    if problem.boundary != "damping":
        return None
    assert problem.sigma is not None
    total: NDArray = np.zeros(box.shape, dtype=problem.dtype)
    for axis in problem.axes:
        total = total + _profile(problem.sigma[axis] * problem.dt, box, axis, problem.dtype)
    return total


def field_step(problem: Problem, state: State, box: Box) -> None:
    """Write the next time level over `state.prev` in `box`; `state.rotate` comes after all boxes.

    Notes
    -----
    Leapfrog for u_tt = C (L u + f), without the source (docs/theory/rtm.md)::

        isotropic  p_next = 2 p - p_prev + m lap p                           m = (vp dt)^2
        VTI        A = (Dxx + Dyy) p,  B = Dzz q,   e = 1 + 2 epsilon,  s = sqrt(1 + 2 delta)
                   p_next = 2 p - p_prev + m (e A + s B)
                   q_next = 2 q - q_prev + m (s A + B)
        TTI        as VTI with A = lap p - V p,  B = V q
        damping    (1 + t) u_next = 2 u - (1 - t) u_prev + m (...),          t = sigma dt
    """
    if box.size == 0:
        return
    m = at(problem, _param(problem, "m"), box)
    p, q = state.curr[0], state.curr[-1]

    def layer(field: int, axes: tuple[int, ...], operator: AxisOperator) -> NDArray:
        return _layer_terms(problem, state, box, field, axes, operator)

    if problem.medium == "isotropic":
        terms = [d2(problem, p, box, problem.axes) + layer(0, problem.axes, _second(problem, p))]
    else:
        e, s = at(problem, _param(problem, "e"), box), at(problem, _param(problem, "s"), box)
        if problem.medium == "vti":
            flat = problem.axes[:-1]
            a = d2(problem, p, box, flat) + layer(0, flat, _second(problem, p))
            b = d2(problem, q, box, (2,)) + layer(1, (2,), _second(problem, q))
        else:
            across, along = Operator(problem, p, 0, box), Operator(problem, q, 1, box)
            a = across.total() + layer(0, problem.axes, across.along_axis)
            b = along.total() + layer(1, problem.axes, along.along_axis)
        terms = [e * a + s * b, s * a + b]
    t = _damping(problem, box)
    two = problem.dtype(2)
    for prev_, curr_, term in zip(state.prev, state.curr, terms, strict=True):
        prev, curr = at(problem, prev_, box), at(problem, curr_, box)
        new = m * term + (two * curr - prev)
        if t is not None:
            new = (new + t * prev) / (1 + t)
        prev[...] = new
        if problem.free_surface:
            _reflect(problem, prev_, box)


def time_step(problem: Problem, state: State) -> None:
    """Do `memory_step` and `field_step` on the whole grid; a device may do both in one pass."""
    whole = Box((0, 0, 0), problem.layout.shape3)
    memory_step(problem, state, whole)
    field_step(problem, state, whole)


def _reflect(problem: Problem, u: NDArray, box: Box) -> None:
    """Make the surface row zero and put odd images of the rows of `box` above it: u[-k] = -u[k]."""
    r, h = problem.radius, problem.layout.y_halo
    rows = u[box.lo[0] + r : box.hi[0] + r, box.lo[1] + h : box.hi[1] + h]
    if box.lo[2] == 0:
        rows[..., Z_FRONT] = 0
    for k in range(max(1, box.lo[2]), min(r + 1, box.hi[2])):
        rows[..., Z_FRONT - k] = -rows[..., Z_FRONT + k]


def stepper(problem: Problem, work: Work, sharing: Sharing | None = None) -> Stepper | None:
    """Return None: steps are done one by one in Python."""
    return None


def _support(points: Points, i: int, layout: Layout) -> tuple[tuple[slice, slice, slice], NDArray]:
    """Return where point `i` touches a padded array, and its weights there (the product of three axes).

    Planes of x at the ends of the support without a weight are left out: another rank may own them.
    """
    n = layout.shape3
    cuts, ws = [], []
    for axis, off in enumerate((layout.radius, layout.y_halo, Z_FRONT)):
        base = int(points.base[i, axis])
        count = min(points.weights.shape[2], n[axis] - base)
        weights = points.weights[i, axis, :count]
        if axis == 0:
            used = np.flatnonzero(weights)
            base, weights = (
                (base + int(used[0]), weights[used[0] : used[-1] + 1]) if len(used) else (0, weights[:0])
            )
        cuts.append(slice(base + off, base + off + len(weights)))
        ws.append(weights)
    w = ws[0][:, None, None] * ws[1][None, :, None] * ws[2][None, None, :]
    return (cuts[0], cuts[1], cuts[2]), w


def inject(problem: Problem, fields: list[NDArray], points: Points, values: NDArray) -> None:
    """Add a source sample at every point, through C: u += dt^2 C e w value, with e = (1/2, 1/2) for VTI.

    Parameters
    ----------
    fields : list of ndarray
        Padded u[n+1]: `state.curr` after `state.rotate`.
    points : Points
        Points of recording, with separable weights.
    values : ndarray, (n,)
        Sample per point, divided by the cell volume.
    """
    lay = problem.layout
    for i in range(len(points.base)):
        cut, w = _support(points, i, lay)
        v = problem.dtype(values[i])
        m = _param(problem, "m")[cut]
        amount = (m * w.astype(problem.dtype)) * v
        if problem.medium == "isotropic":
            fields[0][cut] += amount
        else:
            half = problem.dtype(0.5)
            e, s = _param(problem, "e")[cut], _param(problem, "s")[cut]
            fields[0][cut] += (half * (e + s)) * amount
            fields[1][cut] += (half * (s + problem.dtype(1))) * amount
        if problem.free_surface:
            # the step reads the odd images, so they must know what was just added below the surface
            shift = (lay.radius, lay.y_halo)
            rows = [(c.start - o, c.stop - o) for c, o in zip(cut[:2], shift, strict=True)]
            touched = Box((rows[0][0], rows[1][0], 0), (rows[0][1], rows[1][1], lay.shape3[2]))
            for u in fields:
                _reflect(problem, u, touched)


def record(problem: Problem, fields: list[NDArray], points: Points) -> NDArray:
    """Return p, or (p + q) / 2, interpolated at every point, (n,)."""
    out: NDArray = np.zeros(len(points.base), dtype=problem.dtype)
    half = problem.dtype(0.5)
    for i in range(len(points.base)):
        cut, w = _support(points, i, problem.layout)
        u = fields[0][cut] if len(fields) == 1 else half * (fields[0][cut] + fields[1][cut])
        total = problem.dtype(0)
        for plane in (w.astype(problem.dtype) * u).reshape(
            w.shape[0], -1
        ):  # partial sums per x plane, in x order
            total = total + problem.dtype(plane.sum())
        out[i] = total
    return out


def snapshot(problem: Problem, fields: list[NDArray], out: NDArray, box: Box) -> None:
    """Write the imaged field, p or (p + q) / 2, in `box` to `out` (shape of the box), packed where that is int16."""
    if out.dtype == np.int16:
        pack16(imaged(problem, fields, box), out)
    else:
        out[...] = imaged(problem, fields, box)


def apply_l(problem: Problem, fields: list[NDArray], box: Box) -> list[NDArray]:
    """Return L u in `box` without the layer: [lap p], [(Dxx + Dyy) p, Dzz q] or [lap p - V p, V q]."""
    if problem.medium == "isotropic":
        return [d2(problem, fields[0], box, problem.axes)]
    if problem.medium == "tti":
        return [Operator(problem, w, field, box).total() for field, w in enumerate(fields)]
    return [d2(problem, fields[0], box, problem.axes[:-1]), d2(problem, fields[1], box, (2,))]


def imaged(problem: Problem, fields: list[NDArray], box: Box) -> NDArray:
    """Return the imaged field, p or (p + q) / 2, in `box`."""
    u = at(problem, fields[0], box)
    return u if len(fields) == 1 else problem.dtype(0.5) * (u + at(problem, fields[1], box))


def correlate(
    problem: Problem, image: NDArray, u: NDArray, fields: list[NDArray], box: Box, scale: float
) -> None:
    """Accumulate image += (scale u) w, with w the imaged field of `fields` in `box`; u may be packed."""
    if u.dtype == np.int16:
        u = unpack16(u, box.shape[2])
    image += (problem.dtype(scale) * u) * imaged(problem, fields, box)


def square(problem: Problem, illumination: NDArray, u: NDArray, scale: float) -> None:
    """Accumulate illumination += (scale u) u (contiguous arrays of one shape)."""
    illumination += (problem.dtype(scale) * u) * u


def product(image: NDArray, u: NDArray, w: NDArray, scale: float) -> None:
    """Accumulate image += (scale u) w of two snapshots, with the bits of `correlate` (contiguous, of one shape)."""
    image += (image.dtype.type(scale) * u) * w


def _row_products(
    sums: NDArray, u: Sequence[NDArray], w: Sequence[NDArray], rows: NDArray[np.int64], scale: float
) -> None:
    """Add products of rows: sums[k] += (scale u[i]) w[j], sample by sample."""
    k, i, j = rows.T
    for source, receivers in zip(u, w, strict=True):
        sums[k] += (sums.dtype.type(scale) * source[i]) * receivers[j]


#: products of rows of two wavefields, for gathers
row_products: RowProducts | None = _row_products


def keep_shell(problem: Problem, fields: list[NDArray], shell: Shell, out: NDArray) -> None:
    """Copy the shell of every field to `out` (fields, cells)."""
    mask = shell.mask()
    for u, record in zip(fields, out, strict=True):
        record[...] = at(problem, u, shell.box)[mask]


def put_back_shell(problem: Problem, fields: list[NDArray], shell: Shell, record: NDArray) -> None:
    """Write `record` (fields, cells) over the shell of every field, and over its odd images above a free surface."""
    mask = shell.mask()
    for u, values in zip(fields, record, strict=True):
        at(problem, u, shell.box)[mask] = values
        if problem.free_surface:
            lo, hi = shell.box.lo, shell.box.hi
            _reflect(problem, u, Box((lo[0], lo[1], 0), (hi[0], hi[1], problem.layout.shape3[2])))


def is_finite(problem: Problem, fields: list[NDArray]) -> bool:
    """Return whether every point of every field is finite."""
    return all(bool(np.isfinite(problem.layout.view(f)).all()) for f in fields)


def set_threads(n: int) -> None:
    """Accept the number of threads; NumPy's loops here use one."""


def describe() -> dict[str, object]:
    """Return the facts of the device: name, instruction set, numerics class, threads."""
    return {"device": NAME, "isa": "numpy", "class": "reference", "threads": 1}
