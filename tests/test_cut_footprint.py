"""Blocks: every point has one owner, ghosts are what a step and a receiver read, the shape follows from the grid."""

from __future__ import annotations

import pytest

from subsalt.acquisition.injection import HICKS
from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError
from subsalt.propagation.blocks import GAIN, GridFootprint, cut_footprint, shapes
from subsalt.propagation.domain import Domain
from subsalt.propagation.options import PropagationOptions

MEDIA = ("isotropic", "vti", "tti")


def domains(decomp=(3, 2), medium="vti", **options) -> list[Domain]:
    grid = Grid((60, 45, 20), (10.0,) * 3)
    given = PropagationOptions(decomp=decomp, **options)
    return Domain.of(grid, grid.box, given, medium, part=(0, 6)).everybody()


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("decomp", [(3, 2), (2, 3), (1, 6), (6, 1), "slabs", "auto"])
def test_every_point_has_one_owner_whose_part_has_its_place(medium, decomp):
    parts = domains(decomp, medium, boundary="damping", layer=20)
    assert sum(p.owned.size for p in parts) == parts[0].grid.size
    assert sum(p.image_box.size for p in parts) == parts[0].window.size
    assert sum(p.image_planes.size for p in parts) == parts[0].window.size
    for p in parts:
        # local and whole indices name the same points
        first = tuple(a + b for a, b in zip(p.first, p.owned.lo, strict=True))
        assert first == (p.slab.lo, p.across.lo, 0)
        inside = tuple(p.outer.lo[i] + p.first[i] + p.interior.lo[i] for i in range(3))
        assert inside == p.image_box.lo
        assert p.interior.shape == p.image_box.shape
        assert p.held.shape == p.layout.shape3
    # planes are written in the order of the ranks
    written = [p.image_planes.lo[0] for p in parts if p.image_planes.size]
    assert written == sorted(written)


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("order", [2, 4, 8])
def test_ghost_rows_hold_the_support_of_a_receiver(medium, order):
    # whose middle row a rank owns: three rows below it and four above, whatever the stencil
    for p in domains((2, 3), medium, boundary="none", order=order):
        y = p.across
        assert y.first <= max(0, y.lo - HICKS.radius + 1)
        assert y.last >= min(y.nx, y.hi + HICKS.radius)
        assert p.slab.ghost_lo in (0, order // 2 * (2 if medium == "tti" else 1))


def test_the_rule_leaves_slabs_where_they_are_thin_and_only_then():
    plane = GridFootprint(400, 300, "isotropic", 4, 0)
    assert [len(cut_footprint(plane, n)[1]) for n in (1, 2, 4, 8)] == [1, 1, 1, 1]
    xs, ys = cut_footprint(plane, 96)
    assert (len(xs) * len(ys), len(ys) > 1) == (96, True)
    slabs = plane.cost(plane.along(0, 96), plane.along(1, 1))
    assert plane.cost(xs, ys) < (1 - GAIN) * slabs
    others = [plane.cost(plane.along(0, px), plane.along(1, py)) for px, py in shapes(96, (100, 75))]
    assert plane.cost(xs, ys) == min(others)
    # a long, narrow grid has nothing to gain
    assert len(cut_footprint(GridFootprint(4000, 30, "isotropic", 4, 0), 96)[1]) == 1


def test_a_shape_is_taken_as_it_is_given_and_the_rule_for_other_groups():
    plane = GridFootprint(100, 100, "tti", 4, 12)
    assert [len(s) for s in cut_footprint(plane, 6, (2, 3))] == [2, 3]
    assert cut_footprint(plane, 4, (2, 3)) == cut_footprint(plane, 4)
    assert len(cut_footprint(plane, 4, "slabs")[1]) == 1


@pytest.mark.parametrize(
    ("plane", "ranks", "decomp", "code", "words"),
    [
        (GridFootprint(100, 30, "tti", 4, 0), 4, (1, 4), "E720", "at most 3 along y"),
        (GridFootprint(100, 1, "isotropic", 4, 0), 4, (2, 2), "E719", "decomp = [4, 1]"),
        (GridFootprint(40, 200, "isotropic", 4, 0), 12, "auto", "E720", "blocks ([parallel] decomp)"),
    ],
)
def test_what_cannot_be_cut_says_what_can(plane, ranks, decomp, code, words):
    with pytest.raises(ConfigError) as caught:
        cut_footprint(plane, ranks, decomp)
    assert caught.value.code == code
    assert words in str(caught.value)
