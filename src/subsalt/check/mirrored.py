"""A section whose x axis runs backward, told by first breaks where the near surface changes along the line.

Traveltimes through the model as it is are compared with those through the model turned around, both by the shortest
path through a coarse grid (Moser 1991): edges to nodes up to three cells away, which are exact to about 1 %. That is
the same for both, and what is said rests on their difference. A near surface that is alike both ways, water above all,
has first breaks that are, too: then nothing is computed and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.first_breaks import ShotBreaks, spread
from subsalt.check.break_fits import onset, velocity
from subsalt.check.context import Context, named, rule, warning
from subsalt.check.first_breaks import breaks
from subsalt.check.line import varies_along_x
from subsalt.check.orientation import tables_with
from subsalt.earth.model_like import ModelLike
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
    slow, step = _slowness(model, max(float(np.abs(b.offset).max()) for b in good))
    # the vertical time to a quarter of the depth that is looked at: where both ways have one, first breaks have
    column = step * slow[:, : max(1, slow.shape[1] // 2)].sum(axis=1)
    if np.abs(column - column[::-1]).mean() < APART * period:
        return
    ways = []
    for values in (slow, slow[::-1]):
        times = _times(values, step, model, good)
        late = [b.time[b.picked] - onset_time - t for b, t in zip(good, times, strict=True)]
        # one constant of all shots is time zero or the phase of the wavelet
        zero = float(np.median(np.concatenate(late)))
        ways.append([e - zero for e in late])
    one, other = (np.concatenate(w) for w in ways)
    apart = one - other
    # 1 where picks are those of the turned model, 0 where they are those of the model; what both lack is in neither
    share = float((one * apart).sum() / max(float((apart**2).sum()), 1e-30))
    here, turned = float(np.abs(one).mean()), float(np.abs(other).mean())
    better = np.array([np.abs(t).mean() < np.abs(h).mean() for h, t in zip(*ways, strict=True)])
    if np.sqrt((apart**2).mean()) < APART * period or share < SHARE:
        return
    if turned > FITS * period or better.mean() < BETTER:
        return
    wrong = [b for b, w in zip(good, better, strict=True) if w]
    flip = "".join(sorted(set(vp.given.get("flip") or "") ^ {"x"})) or None
    context.facts["_mirrored"] = True
    yield warning(
        "W375",
        f"first breaks lie {1e3 * here:.0f} ms from the traveltimes of the model, {1e3 * turned:.0f} ms when its x "
        f"axis is turned around, and nearer so in {len(wrong)} of {len(good)} shots looked at "
        f"({named(context, wrong)}): the x axis of the model looks mirrored",
        f"if the model is stored backward along x: [model] {tables_with(context, vp, 'flip', flip)}; else check the "
        "direction of the line ([data] frame)",
        misfit=here,
        turned=turned,
    )


def _slowness(model: ModelLike, offset: float) -> tuple[Values, float]:
    """Return slowness (nx, nz) on a coarse grid of equal steps over the model down to half an offset, and the step."""
    grid = model.grid
    width = (grid.shape[0] - 1) * grid.spacing[0]
    step = width / (min(NODES, grid.shape[0]) - 1)
    deep = min((grid.shape[-1] - 1) * grid.spacing[-1], max(0.5 * offset, 10 * step))
    x = grid.origin[0] + step * np.arange(round(width / step) + 1)
    z = grid.origin[-1] + step * np.arange(int(deep / step) + 1)
    points = np.zeros((len(x), len(z), 3))
    points[..., 0], points[..., 2] = x[:, None], z
    return 1.0 / velocity(model, points.reshape(-1, 3), fast=True).reshape(len(x), len(z)), step


def _times(slow: Values, step: float, model: ModelLike, found: Sequence[ShotBreaks]) -> list[Values]:
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
    for k, one in enumerate(found):
        distance = np.sqrt(((nodes - (one.shot.src[[0, 2]] - origin) / step) ** 2).sum(axis=1))
        near = np.flatnonzero(distance <= max(NEAR, float(distance.min())))
        rows.append(np.full(len(near), slow.size + k))
        columns.append(near)
        # a node where the source is has no edge of no length, which a sparse graph does not hold
        times.append(step * np.maximum(distance[near], 1e-6) * slow.ravel()[near])
    n = slow.size + len(found)
    edges = (np.concatenate(times), (np.concatenate(rows), np.concatenate(columns)))
    graph = coo_array(edges, shape=(n, n)).tocsr()
    out = dijkstra(graph, directed=False, indices=slow.size + np.arange(len(found)))
    at = [(b.shot.rcv[b.rows[b.picked]][:, [0, 2]] - origin) / step for b in found]
    return [
        map_coordinates(t[: slow.size].reshape(slow.shape), p.T, order=1, mode="nearest")
        for t, p in zip(out, at, strict=True)
    ]
