"""Traces within reach of a part of the image, against all pairs of locations and midpoints."""

from types import SimpleNamespace

import numpy as np
import pytest

from subsalt.methods.kirchhoff.block_reach import convex_hull, distance_to_hull, reach


class Midpoints(SimpleNamespace):
    """What `reach` asks of a table."""

    def __len__(self):
        return len(self.src)


def midpoints(n=3000, seed=2):
    rng = np.random.default_rng(seed)
    middle, half = rng.uniform(-400, 1400, size=(n, 2)), rng.uniform(-200, 200, size=(n, 2))
    return Midpoints(src=middle - half, rcv=middle + half)


def lattice(ni, nj, turn=0.4, d=(25.0, 12.5)):
    i, j = (v.reshape(-1) for v in np.meshgrid(np.arange(ni) * d[0], np.arange(nj) * d[1], indexing="ij"))
    return 500.0 + np.stack(
        [i * np.cos(turn) - j * np.sin(turn), i * np.sin(turn) + j * np.cos(turn)], axis=1
    )


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (20, 1), (12, 30)])
def test_no_trace_is_lost_and_few_are_added(shape):
    table, points, aperture = midpoints(), lattice(*shape), 160.0
    in_reach = reach(table, points, aperture)
    middle = 0.5 * (table.src + table.rcv)
    nearest = np.sqrt(((middle[:, None] - points[None]) ** 2).sum(axis=2)).min(axis=1)
    within = np.flatnonzero(nearest <= aperture)
    assert np.isin(within, in_reach).all()
    assert (np.diff(in_reach) > 0).all()
    # the others lie between two locations: no nearer to the outline than the aperture allows
    half = 0.5 * np.hypot(25.0, 12.5)
    assert nearest[in_reach].max() <= np.hypot(aperture, half)
    assert np.array_equal(in_reach, reach(table, convex_hull(points), aperture))


def test_more_locations_never_reach_fewer_traces():
    table, points = midpoints(), lattice(12, 30)
    before = np.empty(0, np.int64)
    for n in range(1, len(points), 40):
        now = reach(table, points[:n], 100.0)
        assert np.isin(before, now).all()
        before = now
    parts = [reach(table, p, 100.0) for p in np.array_split(points, 7)]
    assert np.isin(np.concatenate(parts), reach(table, points, 100.0)).all()


def test_a_midpoint_on_the_edge_is_within_reach():
    table = Midpoints(
        src=np.array([[0.1, 0.3], [0.1 + 1e-3, 0.3]]), rcv=np.array([[0.1, 0.3], [0.1 + 1e-3, 0.3]])
    )
    assert reach(table, np.array([[-99.9, 0.3]]), 100.0).tolist() == [0]
    assert reach(table, np.array([[-99.9, 0.3]]), None).tolist() == [0, 1]


def test_hulls():
    square = np.array([(0.0, 0), (4, 0), (4, 4), (0, 4)])
    inside = np.random.default_rng(0).uniform(0, 4, size=(50, 2))
    hull = convex_hull(np.concatenate([inside, square, square[:1]]))
    assert sorted(map(tuple, hull)) == sorted(map(tuple, square))
    assert distance_to_hull(np.array([(2.0, 2), (7, 8), (2, -1), (4, 4)]), hull).tolist() == [0, 5, 1, 0]
    # rounding along the sides of a turned lattice makes no corners
    assert len(convex_hull(lattice(40, 50, turn=0.7))) == 4
    assert len(convex_hull(lattice(1, 50, turn=0.7))) == 2
    assert convex_hull(np.array([(3.0, 4), (3, 4)])).tolist() == [[3, 4]]
