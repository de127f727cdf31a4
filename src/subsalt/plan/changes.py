"""The smallest change after which a run fits into memory; every one is planned again before it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from subsalt.imaging.setup import MigrationSetup
from subsalt.plan.need import Needs, Setup
from subsalt.plan.world import World

#: sizes of the aperture that are tried between all and nothing
HALVINGS = 12


@dataclass(frozen=True)
class Change:
    """One change to job or ranks, and the bytes of the worst rank after it."""

    text: str
    need: int


def smallest_changes(needs: Needs, world: World, group: int) -> list[Change]:
    """Return the changes that fit, those without influence on the image first; the last one is more memory."""
    limit = world.memory_per_rank
    found = [c for c in _candidates(needs, world, group) if c.need <= limit]
    best = needs.of(group)
    more = f"give every rank at least {_up(best.total)} GB: fewer ranks on a node, or a larger one"
    return [*found, Change(more, best.total)]


def _candidates(needs: Needs, world: World, group: int) -> Iterator[Change]:
    yield from _more_ranks(needs, world, group)
    if not isinstance(needs.setup, MigrationSetup):
        return
    setup = needs.setup
    if setup.propagation.model_storage == "f32" and needs.medium != "tti":
        packed = replace(setup, propagation=replace(setup.propagation, model_storage="u16"))
        yield Change('set [propagation] model_storage = "u16"', _after(needs, packed, group))
    # beyond twice the Nyquist step the image aliases
    for step in (setup.image_step * 3 // 2, 2 * setup.image_step):
        if setup.image_step < step < setup.axis.nt:
            text = f"set [imaging] image_step = {step} (from {setup.image_step})"
            yield Change(text, _after(needs, replace(setup, image_step=step), group))
    yield from _aperture(needs, setup, group, world.memory_per_rank)


def _more_ranks(needs: Needs, world: World, group: int) -> Iterator[Change]:
    """Yield the smallest larger group, of the ranks there are or of more."""
    for size in range(group + 1, needs.largest_group + 1):
        wider = needs if size <= world.ranks else Needs(needs.setup, needs.shots, size, needs.threads)
        need = wider.of(size).total
        if need > world.memory_per_rank:
            continue
        if size <= world.ranks:
            yield Change(f"set [parallel] ranks_per_shot = {size}", need)
        else:
            yield Change(f"start {size} ranks with as much memory each, which share every shot", need)
        return


def _aperture(needs: Needs, setup: MigrationSetup, group: int, limit: int) -> Iterator[Change]:
    """Yield the largest aperture that fits, found by halving, in whole cells."""
    cell = min(setup.model.grid.spacing[:-1])
    extent = max(setup.model.grid.shape3[:2]) * cell
    low, high = 0.0, min(extent, setup.imaging.aperture or extent)

    def need(aperture: float) -> int:
        return _after(needs, replace(setup, imaging=replace(setup.imaging, aperture=aperture)), group)

    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if need(middle) <= limit:
            low = middle
        else:
            high = middle
    aperture = cell * (low // cell)
    if aperture > 0:
        was = "all" if setup.imaging.aperture is None else f"{setup.imaging.aperture:g}"
        yield Change(f"set [imaging] aperture = {aperture:g} (m, from {was})", need(aperture))


def _after(needs: Needs, setup: Setup, group: int) -> int:
    """Return the bytes of the worst rank with another setup; more than any memory when its slabs would be too thin."""
    changed = Needs(setup, needs.shots, needs.ranks, needs.threads)
    return changed.of(group).total if group <= changed.largest_group else 1 << 62


def _up(size: int) -> str:
    """Return gigabytes, rounded up to three digits."""
    scaled = size / 1e9
    step = 10.0 ** (len(str(int(scaled))) - 3) if scaled >= 1 else 0.01
    return f"{step * -(-scaled // step):g}"
