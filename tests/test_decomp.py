"""Slabs: every plane has one owner, ghost planes are what a step reads, and groups that are too large are refused."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subsalt.errors import ConfigError
from subsalt.parallel.decomp import LAYER_TENTHS, Slab, cut, largest_group

MEDIA = ("isotropic", "vti", "tti")


def reads(ix: int, nx: int, medium: str, radius: int, layer: tuple[int, int]) -> set[int]:
    """Return the planes of p that a step of plane ix reads, by the definition of the scheme."""
    near = {i for i in range(ix - radius, ix + radius + 1) if 0 <= i < nx}
    further = near if medium == "tti" else {i for i in near if i < layer[0] or i >= nx - layer[1]}
    return near | {j for i in further for j in range(i - radius, i + radius + 1) if 0 <= j < nx}


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("radius", [1, 2, 4, 8])
def test_every_plane_has_one_owner_and_all_that_its_step_reads(medium: str, radius: int) -> None:
    tried = 0
    for nx, layer in itertools.product((31, 64, 97), ((0, 0), (12, 12), (0, 20), (5, 3))):
        for ranks in range(1, largest_group(nx, medium, radius, layer) + 1):
            try:
                slabs = cut(nx, ranks, medium=medium, radius=radius, layer=layer)
            except ConfigError:  # a smaller group may be refused where its cuts meet the layer
                continue
            tried += 1
            assert [ix for s in slabs for ix in range(s.lo, s.hi)] == list(range(nx))
            for s in slabs:
                held = set(range(s.first, s.last))
                needed = set().union(*(reads(ix, nx, medium, radius, layer) for ix in range(s.lo, s.hi)))
                assert needed <= held <= set(range(nx)), (nx, ranks, s)
                # no plane is held that one of the two sides could do without: all ghosts but those up to a full halo
                assert s.ghost_lo in (0, radius, 2 * radius)
                if s.ghost_lo == 2 * radius:
                    assert needed - set(range(s.lo - radius, nx))
    assert tried > 20


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("layer", [(0, 0), (12, 12)])
def test_what_a_rank_holds_beyond_a_cut_its_neighbour_owns(medium: str, layer: tuple[int, int]) -> None:
    most = largest_group(100, medium, 4, layer)
    slabs = cut(100, most, medium=medium, radius=4, layer=layer)
    for below, above in itertools.pairwise(slabs):
        assert below.ghost_hi <= above.hi - above.lo
        assert above.ghost_lo <= below.hi - below.lo


def test_slabs_are_even_and_uneven_counts_differ_by_one() -> None:
    sizes = [s.hi - s.lo for s in cut(103, 5, medium="isotropic", radius=4)]
    assert sum(sizes) == 103
    assert max(sizes) - min(sizes) == 1


def test_ghosts_are_double_where_the_layer_is_near_the_cut() -> None:
    slabs = cut(100, 5, medium="vti", radius=4, layer=(30, 12))
    # cuts inside the layer, in its last plane, and away from it
    assert [s.lo for s in slabs] == [0, 14, 29, 55, 83]
    assert [(s.ghost_lo, s.ghost_hi) for s in slabs] == [(0, 8), (8, 8), (8, 4), (4, 4), (4, 0)]


@pytest.mark.parametrize("medium", MEDIA)
def test_slabs_are_even_in_work_unless_they_would_be_too_thin(medium: str) -> None:
    per_plane = LAYER_TENTHS[medium] / 10

    def work(slab: Slab) -> float:
        return sum(per_plane if ix < 12 or ix >= 268 else 1 for ix in range(slab.lo, slab.hi))

    for ranks in (2, 3, 4, 8):
        slabs = cut(280, ranks, medium=medium, radius=4, layer=(12, 12))
        # a cut is at most a plane, at the most expensive, away from where it should be
        assert max(map(work, slabs)) - min(map(work, slabs)) <= 2 * per_plane
        assert slabs[0].hi - slabs[0].lo < 280 / ranks or ranks == 2
    thin = cut(40, 5, medium=medium, radius=4, layer=(12, 12))
    assert [s.hi - s.lo for s in thin] == [8] * 5


def test_as_thin_as_the_halo_is_allowed_and_thinner_is_not() -> None:
    assert [s.hi - s.lo for s in cut(32, 8, medium="isotropic", radius=4)] == [4] * 8
    with pytest.raises(ConfigError, match="at most 8 ranks") as caught:
        cut(32, 9, medium="isotropic", radius=4)
    assert caught.value.code == "E720"
    assert "slab 0 has 3" in caught.value.message
    assert largest_group(32, "isotropic", 4) == 8
    assert largest_group(32, "tti", 4) == 4
    with pytest.raises(ConfigError, match="at most 1 rank per shot"):
        cut(10, 2, medium="tti", radius=8)
    with pytest.raises(ConfigError, match="40 ranks for the 32 planes"):
        cut(32, 40, medium="isotropic", radius=4)
    with pytest.raises(ConfigError, match="group of 0 ranks"):
        cut(32, 0, medium="isotropic", radius=4)


def test_the_largest_count_works_and_no_larger_one() -> None:
    for medium, layer in itertools.product(MEDIA, ((0, 0), (12, 12), (40, 12))):
        most = largest_group(96, medium, 4, layer)
        cut(96, most, medium=medium, radius=4, layer=layer)
        for more in range(most + 1, 30):
            with pytest.raises(ConfigError):
                cut(96, more, medium=medium, radius=4, layer=layer)


def test_local_planes_layers_and_clipping() -> None:
    s = Slab(1, 3, 90, 30, 60, 4, 8)
    assert (s.first, s.last, s.planes, s.owned_local) == (26, 68, 42, (4, 34))
    assert s.clip(0, 40) == (30, 40)
    assert s.clip(0, 10) == (30, 30)
    assert s.clip(80, 90) == (60, 60)
    assert s.layer_widths(28, 30) == (2, 8)
    assert s.layer_widths(12, 12) == (0, 0)
    assert Slab(0, 9, 90, 0, 8, 0, 8).layer_widths(20, 0) == (16, 0)  # wholly inside the layer


@given(st.integers(1, 90), st.sampled_from([1, 2, 4]), st.sampled_from(MEDIA), st.integers(0, 14))
def test_the_largest_group_is_the_largest_that_can_be_cut(
    nx: int, radius: int, medium: str, width: int
) -> None:
    layer = (width, width)

    def accepted(ranks: int) -> bool:
        try:
            return bool(cut(nx, ranks, medium=medium, radius=radius, layer=layer))
        except ConfigError:
            return False

    most = max([1, *(n for n in range(2, nx // radius + 2) if accepted(n))])
    assert largest_group(nx, medium, radius, layer) == most
