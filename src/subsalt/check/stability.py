"""The time step and what the medium allows."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from subsalt.check.context import Context, error, ok, rule, warning
from subsalt.earth.model_like import ModelLike
from subsalt.earth.planes import first_index, slabs
from subsalt.errors import Finding
from subsalt.numerics.stencil import ORDERS, Stencil
from subsalt.physics import slow_mode as slow
from subsalt.physics.storage import VELOCITY_ERROR, storage_error

#: share of the stability bound below which a time step is refused: a wrong unit is a factor of 1000, and the maps
#: between time axes, which grow with the square of the steps, would take minutes before anything is said
SMALLEST = 0.01


def gated(context: Context, of: ModelLike | None = None) -> ModelLike:
    """Return the model, or another, as it will be propagated: isotropic where the job says so, delta <= epsilon."""
    model, medium = of or context.computed or context.model, context.propagation.medium
    assert model is not None
    model = model.as_medium(model.medium if medium == "auto" else medium)
    rule_ = "lower-delta" if context.propagation.anisotropy == "reject" else context.propagation.anisotropy
    return model.anisotropy_gate(rule_)[0]


@rule("stability", "velocity")
def time_step(context: Context) -> Iterator[Finding]:
    """A time step above the bound of the exact scheme, or far below it."""
    stencil, dt = context.propagation.weights, context.propagation.dt
    bound = gated(context).stable_dt(stencil)
    context.facts["stable_dt"] = bound
    if dt is None:
        context.facts["dt"] = 0.95 * bound
        yield ok(f"time step {0.95e3 * bound:.4g} ms  (bound {1e3 * bound:.4g} ms, {stencil})")
        return
    context.facts["dt"] = dt
    bound *= 1 - context.propagation.dt_reserve
    if dt > bound:
        yield error(
            "E501",
            f"dt = {dt * 1e3:g} ms is above the stability bound of {bound * 1e3:.4g} ms ({stencil})",
            _milliseconds(dt, bound)
            + f'[propagation] dt = "{0.95e3 * bound:.3g} ms" or less, or leave dt out',
            dt=dt,
            bound=bound,
        )
    elif dt < SMALLEST * bound:
        yield error(
            "E505",
            f"dt = {dt * 1e3:g} ms is {bound / dt:.0f} times below the stability bound of {bound * 1e3:.4g} ms: "
            f"a run would take {bound / dt:.0f} times as long as it need",
            "leave [propagation] dt out; time dispersion is corrected anyway",
            dt=dt,
            bound=bound,
        )
    elif dt < 0.2 * bound:
        yield warning(
            "W502",
            f"dt = {dt * 1e3:g} ms is {bound / dt:.1f} times below the stability bound of {bound * 1e3:.4g} "
            "ms",
            "leave [propagation] dt out: the run gets faster, and time dispersion is corrected anyway",
            dt=dt,
            bound=bound,
        )


def _milliseconds(dt: float, bound: float) -> str:
    """Return the cure of a time step that was written in milliseconds; empty when milliseconds do not explain it."""
    # a step far below the bound is not intended
    likely = 0.1 * bound <= 1e-3 * dt <= bound
    return f'if it is in milliseconds: [propagation] dt = "{dt:g} ms"; else ' if likely else ""


@rule("stability", "model")
def model_storage(context: Context) -> Iterator[Finding]:
    """Report how 16-bit model arrays change the model."""
    if context.propagation.model_storage != "u16":
        return
    model = gated(context)
    if model.medium == "tti":
        yield error(
            "E123",
            "model_storage = 'u16' in a TTI medium: 16-bit models are for isotropic and VTI media",
            'leave [propagation] model_storage out, or set [propagation] medium = "vti" to ignore the tilt',
        )
        return
    off = storage_error(model, model.medium)
    context.facts["model_error"] = vars(off)
    if off.vp > VELOCITY_ERROR:
        yield warning(
            "W123",
            "16-bit models hold {}: the slowest vp is {:g}, the fastest {:g} m/s".format(
                off, *model.limits("vp")
            ),
            'set [propagation] model_storage = "f32", or correct the slowest velocities',
            vp=off.vp,
        )
    else:
        yield ok(f"16-bit models: {off}", **vars(off))


@rule("stability", "model")
def anisotropy(context: Context) -> Iterator[Finding]:
    """Nodes with delta > epsilon, which no time step makes stable."""
    assert context.model is not None
    epsilon, delta = context.model.volume("epsilon"), context.model.volume("delta")
    if epsilon is None or delta is None or context.propagation.medium == "isotropic":
        return
    count, gap, first = 0, 0.0, None
    for start, part in slabs(delta):
        over = part - epsilon[start : start + len(part)]
        bad = over > 0
        if bad.any():
            count += int(np.count_nonzero(bad))
            gap = max(gap, float(over.max()))
            first = first or first_index(bad, start)
    if not count:
        return
    what = f"delta > epsilon at {count} of {delta.size} nodes (by up to {gap:.3g}, first at index {first})"
    if context.propagation.anisotropy == "reject":
        yield error(
            "E520",
            f"{what}: unstable whatever the time step",
            'correct the model, or set [propagation] anisotropy = "lower-delta" or "raise-epsilon"',
            count=count,
            gap=gap,
        )
        return
    repair = (
        "delta is lowered to epsilon"
        if context.propagation.anisotropy == "lower-delta"
        else "epsilon is raised to delta"
    )
    yield warning(
        "W521",
        f"{what}: {repair} there",
        "if that is not meant, correct delta or epsilon in the model; to refuse such models: "
        '[propagation] anisotropy = "reject"',
        count=count,
        gap=gap,
    )


@rule("stability", "model")
def slow_mode(context: Context) -> Iterator[Finding]:
    """Waves of the slow mode that come with the P wave on a grid."""
    model, stencil = gated(context), context.propagation.weights
    epsilon, delta = model.volume("epsilon"), model.volume("delta")
    if model.medium != "tti" or epsilon is None or delta is None:
        return
    widest, at = 0.0, (0.0, 0.0)
    for start, part in slabs(epsilon):
        gap = part - delta[start : start + len(part)]
        i = np.unravel_index(int(np.argmax(gap)), gap.shape)
        if gap[i] > widest:
            widest, at = float(gap[i]), (float(part[i]), float(part[i] - gap[i]))
    speed = slow.speed(stencil, *at)
    context.facts["slow_mode_speed"] = speed
    tapered = bool(context.propagation.source_taper)
    behind = slow.BEHIND if tapered else slow.BEHIND_NEAR
    if speed < behind:
        return
    lower = [
        Stencil(m, stencil.kind) for m in ORDERS if m < stencil.order and (m > 2 or stencil.kind == "taylor")
    ]
    good = [s.order for s in lower if slow.speed(s, *at) < behind]
    cures = [f"[propagation] order = {good[-1]}, in which they stay behind"] if good else []
    if not tapered:
        cures.append("leave source_taper out")
    reach = slow.reach(speed)
    far = (
        f"up to {reach:.0f} shortest wavelengths from a source" if math.isfinite(reach) else "at any distance"
    )
    yield warning(
        "W542",
        f"where epsilon = {at[0]:.3g} and delta = {at[1]:.3g}, waves of the slow mode run at up to {speed:.2f} times "
        f"the P velocity on this grid ({stencil}): {far} they arrive with the P wave, along axes of the grid"
        + ("" if tapered else "; no source taper keeps sources from emitting them"),
        "; or ".join(cures or ["a smaller epsilon - delta"]),
        speed=speed,
        reach=reach if math.isfinite(reach) else None,
        epsilon=at[0],
        delta=at[1],
    )


@rule("stability", "parameters")
def incomplete_anisotropy(context: Context) -> Iterator[Finding]:
    """One Thomsen parameter without the other; Thomsen parameters that are not used."""
    has = {n for n in ("epsilon", "delta") if n in context.parameters}
    medium = context.propagation.medium
    if medium == "isotropic" and has:
        yield warning(
            "W522",
            f'medium = "isotropic" ignores {" and ".join(sorted(has))}',
            'leave medium out, or set it to "vti"',
        )
    elif medium == "vti" and not has:
        yield warning(
            "W523",
            'medium = "vti" but neither epsilon nor delta is given: both are zero',
            "give them, or leave medium out",
        )
    elif len(has) == 1:
        other = "delta" if has == {"epsilon"} else "epsilon"
        yield warning(
            "W524", f"{has.pop()} is given without {other}, which is taken as zero", f"give [model] {other}"
        )


@rule("stability")
def layer_width(context: Context) -> Iterator[Finding]:
    """An absorbing layer too thin to absorb."""
    p = context.propagation
    cells = p.layer_cells
    if p.boundary == "none":
        yield warning(
            "W503",
            'boundary = "none": every wave that reaches an edge comes back',
            'use boundary = "pml" unless the echo is wanted',
        )
    elif (p.boundary == "pml" and cells < 6) or (p.boundary == "damping" and cells < 20):
        usual = 12 if p.boundary == "pml" else 40
        yield warning(
            "W504",
            f"an absorbing layer ({p.boundary}) of {cells} cells reflects noticeably",
            f"use layer = {usual}, or leave it out",
            cells=cells,
        )
