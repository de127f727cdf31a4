"""A section whose x axis runs backward or has the wrong spacing: first breaks tell it where the near surface changes.

Traveltimes through the model as it is are compared with those through the model turned around, both by the shortest
path through a coarse grid (Moser 1991): edges to nodes up to three cells away, which are exact to about 1 %. That is
the same for both, and what is said rests on their difference. A near surface that is alike both ways, water above all,
has first breaks that are, too: then nothing is computed and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.first_breaks import ShotBreaks, spread
from subsalt.check.break_fits import onset, velocity
from subsalt.check.context import Context, named, rule, warning
from subsalt.check.first_breaks import breaks
from subsalt.check.line import varies_along_x
from subsalt.check.orientation import flipped_tables, tables_with
from subsalt.earth.model_like import ModelLike
from subsalt.earth.planes import Parameter
from subsalt.errors import Finding

#: shots that are compared, fewest of them, and most nodes along x
SHOTS, FEWEST, NODES = 8, 3, 160
#: cells from node to node of the shortest paths, one of each pair of directions
EDGES = [
    (1, 0),
    (0, 1),
    *((i, s * j) for i, j in ((1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2)) for s in (1, -1)),
]
#: cells around a source that are reached by straight lines
NEAR = 3
#: parts of a period: by which the two ways of a model must differ, and within which picks fit one of them
APART, FITS = 0.1, 0.25
#: part of the difference of the two ways that picks must follow: half of it would be as near to one as to the other,
#: and models lack some; share of the shots that must fit better
SHARE, BETTER = 0.75, 0.9

Values = NDArray[np.float64]


@rule("mirrored", "velocity", "survey", "wavelet")
def x_axis_backward(context: Context) -> Iterator[Finding]:
    """First breaks that fit the model only with its x axis turned around."""
    model, vp, wavelet = context.model, context.parameters.get("vp"), context.wavelet
    assert model is not None
    assert wavelet is not None
    if context.modelling or vp is None or vp.grid is None or model.grid.ndim != 2 or context.resampling:
        return
    verdicts = context.facts.get("first_breaks", {}).get("verdicts", {})
    good = [b for b in breaks(context) if b.good and b.muted < 0.5]
    if len(good) < FEWEST or 2 * verdicts.get("fits", 0) < sum(verdicts.values()) or not varies_along_x(vp):
        return
    good = [good[int(i)] for i in spread(len(good), SHOTS)]
    period, onset_time = float(np.median([b.period for b in good])), onset(wavelet)
    deep = max(float(np.abs(b.offset).max()) for b in good)
    slow, step = _slowness(model, deep)
    # the vertical time to a quarter of the depth that is looked at: where both ways have one, first breaks have
    column = step * slow[:, : max(1, slow.shape[1] // 2)].sum(axis=1)
    stretch = _stretch(model, good)
    if np.abs(column - column[::-1]).mean() < APART * period and stretch == 1.0:
        return
    here = _errors(slow, step, model, good, onset_time)
    turned = _errors(slow[::-1], step, model, good, onset_time)
    candidates = [_better(here, turned, period)]
    if stretch != 1.0:
        candidates.append(
            _better(here, _errors(*_slowness(model, deep, stretch), model, good, onset_time), period)
        )
    best = min(candidates, key=lambda w: np.inf if w is None else w.misfit)
    if best is None:
        return
    context.facts["_mirrored"] = True
    yield _said(context, vp, good, (here, best), stretch if best is not candidates[0] else 1.0)


def _said(
    context: Context, vp: Parameter, good: list[ShotBreaks], errors: tuple[list[Values], _Way], stretch: float
) -> Finding:
    """Return the finding: the model is turned around, or longer than it should be where `stretch` is not 1."""
    here, best = errors
    wrong = [b for b, w in zip(good, best.nearer, strict=True) if w]
    now = float(np.abs(np.concatenate(here)).mean())
    text = f"first breaks lie {1e3 * now:.0f} ms from the traveltimes of the model, {1e3 * best.misfit:.0f} ms when its"
    where = f"nearer so in {len(wrong)} of {len(good)} shots looked at ({named(context, wrong)})"
    if stretch != 1.0:
        assert vp.grid is not None
        dx, dz = vp.grid.spacing[0], vp.grid.spacing[-1]
        return warning(
            "W376",
            f"{text} spacing along x is that along z, {dz:g} m, not {dx:g} m, and {where}: the model is "
            f"{1 / stretch:.3g} times as long as the right one",
            f"[model] {tables_with(context, vp, spacing=[dz, dz])}; else check where the line lies on the model "
            "([data] frame)",
            misfit=now,
            stretched=best.misfit,
        )
    return warning(
        "W375",
        f"{text} x axis is turned around, and {where}: the x axis of the model looks mirrored",
        f"if the model is stored backward along x: [model] {flipped_tables(context, vp, 'x')}; else check the "
        "direction of the line ([data] frame)",
        misfit=now,
        turned=best.misfit,
    )


@dataclass(frozen=True)
class _Way:
    """A way to read the model that first breaks fit better: mean error, s, and the shots that do, (n,)."""

    misfit: float
    nearer: NDArray[np.bool_]


def _better(here: list[Values], there: list[Values], period: float) -> _Way | None:
    """Return another way to read the model when first breaks follow it, not the model as it is; else None."""
    one, other = np.concatenate(here), np.concatenate(there)
    apart = one - other
    # 1 where picks are those of the other way, 0 where they are those of the model; what both lack is in neither
    share = float((one * apart).sum() / max(float((apart**2).sum()), 1e-30))
    misfit = float(np.abs(other).mean())
    nearer = np.array([np.abs(t).mean() < np.abs(h).mean() for h, t in zip(here, there, strict=True)])
    if np.sqrt((apart**2).mean()) < APART * period or share < SHARE:
        return None
    return None if misfit > FITS * period or nearer.mean() < BETTER else _Way(misfit, nearer)


def _errors(
    slow: Values, step: float, model: ModelLike, shots: Sequence[ShotBreaks], onset_time: float
) -> list[Values]:
    """Return by how much picks of each shot are later than traveltimes, s, without what all have in common."""
    times = _times(slow, step, model, shots)
    late = [b.time[b.picked] - onset_time - t for b, t in zip(shots, times, strict=True)]
    # one constant of all shots is time zero or the phase of the wavelet
    zero = float(np.median(np.concatenate(late)))
    return [e - zero for e in late]


def _stretch(model: ModelLike, shots: Sequence[ShotBreaks]) -> float:
    """Return by how much a model is longer with the spacing along z along x; 1 where stations would leave it."""
    grid = model.grid
    stretch = grid.spacing[-1] / grid.spacing[0]
    x = np.concatenate([np.append(b.shot.rcv[:, 0], b.shot.src[0]) for b in shots])
    end = grid.origin[0] + stretch * (grid.shape[0] - 1) * grid.spacing[0]
    return stretch if x.min() >= grid.origin[0] and x.max() <= end else 1.0


def _slowness(model: ModelLike, offset: float, stretch: float = 1.0) -> tuple[Values, float]:
    """Return slowness (nx, nz) on a coarse grid of equal steps over the model down to half an offset, and the step.

    `stretch` makes the model longer along x, from its first column on.
    """
    grid = model.grid
    width = stretch * (grid.shape[0] - 1) * grid.spacing[0]
    step = width / (min(NODES, grid.shape[0]) - 1)
    deep = min((grid.shape[-1] - 1) * grid.spacing[-1], max(0.5 * offset, 10 * step))
    x = grid.origin[0] + step * np.arange(round(width / step) + 1)
    z = grid.origin[-1] + step * np.arange(int(deep / step) + 1)
    points = np.zeros((len(x), len(z), 3))
    points[..., 0], points[..., 2] = grid.origin[0] + (x[:, None] - grid.origin[0]) / stretch, z
    return 1.0 / velocity(model, points.reshape(-1, 3), fast=True).reshape(len(x), len(z)), step


def _times(slow: Values, step: float, model: ModelLike, shots: Sequence[ShotBreaks]) -> list[Values]:
    """Return the traveltimes from the source of each shot to its picked receivers, s."""
    from scipy.ndimage import map_coordinates
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    origin = np.array([model.grid.origin[0], model.grid.origin[-1]])
    number = np.arange(slow.size).reshape(slow.shape)
    rows, columns, times = [], [], []
    for i, j in EDGES:
        here = (slice(0, slow.shape[0] - i), slice(max(0, -j), slow.shape[1] - max(0, j)))
        there = (slice(i, None), slice(max(0, j), slow.shape[1] - max(0, -j)))
        rows.append(number[here].ravel())
        columns.append(number[there].ravel())
        times.append((0.5 * step * np.hypot(i, j) * (slow[here] + slow[there])).ravel())
    nodes = np.stack(np.unravel_index(number.ravel(), slow.shape), axis=1)
    for k, one in enumerate(shots):
        distance = np.sqrt(((nodes - (one.shot.src[[0, 2]] - origin) / step) ** 2).sum(axis=1))
        near = np.flatnonzero(distance <= max(NEAR, float(distance.min())))
        rows.append(np.full(len(near), slow.size + k))
        columns.append(near)
        # a node where the source is has no edge of no length, which a sparse graph does not hold
        times.append(step * np.maximum(distance[near], 1e-6) * slow.ravel()[near])
    n = slow.size + len(shots)
    edges = (np.concatenate(times), (np.concatenate(rows), np.concatenate(columns)))
    graph = coo_array(edges, shape=(n, n)).tocsr()
    out = dijkstra(graph, directed=False, indices=slow.size + np.arange(len(shots)))
    at = [(b.shot.rcv[b.rows[b.picked]][:, [0, 2]] - origin) / step for b in shots]
    return [
        map_coordinates(t[: slow.size].reshape(slow.shape), p.T, order=1, mode="nearest")
        for t, p in zip(out, at, strict=True)
    ]
