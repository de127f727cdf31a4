"""Smaller setups of a migration that fit into memory: what of its options may be changed, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from subsalt.errors import Change
from subsalt.methods.rtm.gather_choice import with_gathers
from subsalt.methods.rtm.setup import MigrationSetup

#: sizes of the aperture that are tried between all and nothing
HALVINGS = 12


def smaller_setups(
    setup: MigrationSetup, need: Callable[[MigrationSetup], int], limit: int, *, packs: bool
) -> Iterator[Change]:
    """Yield changes of options, those that alter the image least first; each is tried when it is asked for.

    Parameters
    ----------
    setup : MigrationSetup
        Setup that does not fit.
    need : callable
        Bytes of the worst rank with another setup.
    limit : int
        Bytes that it has.
    packs : bool
        The model can be stored in 16 bits.
    """
    if setup.propagation.model_storage == "f32" and packs:
        packed = replace(setup, propagation=replace(setup.propagation, model_storage="u16"))
        yield Change('set [propagation] model_storage = "u16"', need(packed), limit)
    # beyond twice the Nyquist step the image aliases
    for step in (setup.image_step * 3 // 2, 2 * setup.image_step):
        if setup.image_step < step < setup.axis.nt:
            text = f"set [imaging] image_step = {step} (from {setup.image_step})"
            yield Change(text, need(replace(setup, image_step=step)), limit)
    if (gathers := setup.imaging.gathers) is not None:
        for factor in (2, 4, 8):
            fewer = replace(gathers, every=factor * gathers.every)
            text = f"set [imaging.gathers] every = {fewer.every} (from {gathers.every})"
            changed = with_gathers(replace(setup, imaging=replace(setup.imaging, gathers=fewer)))
            yield Change(text, need(changed), limit)
    yield from _aperture(setup, need, limit)


def _aperture(setup: MigrationSetup, need: Callable[[MigrationSetup], int], limit: int) -> Iterator[Change]:
    """Yield the largest aperture that fits, found by halving, in whole cells."""
    cell = min(setup.model.grid.spacing[:-1])
    extent = max(setup.model.grid.shape3[:2]) * cell
    low, high = 0.0, min(extent, setup.imaging.aperture or extent)

    def with_aperture(aperture: float) -> int:
        return need(replace(setup, imaging=replace(setup.imaging, aperture=aperture)))

    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if with_aperture(middle) <= limit:
            low = middle
        else:
            high = middle
    aperture = cell * (low // cell)
    if aperture > 0:
        was = "all" if setup.imaging.aperture is None else f"{setup.imaging.aperture:g}"
        yield Change(f"set [imaging] aperture = {aperture:g} (m, from {was})", with_aperture(aperture), limit)
