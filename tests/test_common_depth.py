"""All ranks of a group do passes of one depth, the one that suits the slab with the thickest shells."""

from __future__ import annotations

from dataclasses import replace

from subsalt.earth.grid import Grid
from subsalt.kernels.passes import DEEPEST, depth_for
from subsalt.propagation.domain import Domain
from subsalt.propagation.options import PropagationOptions


def test_every_rank_finds_the_same_depth() -> None:
    grid = Grid((256, 30, 30), (10.0, 10.0, 10.0))
    domain = Domain.of(grid, grid.box, PropagationOptions(layer=12), "vti", part=(0, 4))
    own = [depth_for(domain.cuts_of(slab), DEEPEST) for slab in domain.slabs]
    assert len(set(own)) > 1, "slabs inside and at the ends would choose differently"
    assert {replace(domain, rank=rank).common_depth() for rank in range(4)} == {min(own)}


def test_cuts_say_how_much_of_a_slab_lies_in_the_layer() -> None:
    grid = Grid((40, 30, 30), (10.0, 10.0, 10.0))
    pml = Domain.of(grid, grid.box, PropagationOptions(layer=12), "vti", part=(0, 2))
    first, last = (pml.cuts_of(slab) for slab in pml.slabs)
    assert first.layer == (12, 0)
    assert last.layer == (0, 12)
    damped = Domain.of(grid, grid.box, PropagationOptions(boundary="damping", layer=12), "vti", part=(0, 2))
    assert damped.cuts_of().layer == (0, 0)


def test_in_two_dimensions_threads_share_the_steps_of_a_pass() -> None:
    grid = Grid((800, 300), (10.0, 10.0))
    line = Domain.of(grid, grid.box, PropagationOptions(layer=12), "isotropic", part=(0, 8))
    # as many steps for each thread
    assert [line.common_depth(threads) % threads for threads in (2, 3, 4)] == [0, 0, 0]
    volume = Grid((800, 30, 300), (10.0, 10.0, 10.0))
    cube = Domain.of(volume, volume.box, PropagationOptions(layer=12), "isotropic", part=(0, 8))
    assert cube.common_depth(4) == line.common_depth(1)
