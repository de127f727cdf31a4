"""The smallest change after which a run fits into memory; every one is planned again before it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from subsalt.methods.rtm.need import Needs, Setup
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.plan.gpu import MARGIN
from subsalt.plan.world import World
from subsalt.propagation.options import CheckpointOptions

#: bytes that no rank has
NEVER = 1 << 62

#: sizes of the aperture that are tried between all and nothing
HALVINGS = 12


@dataclass(frozen=True)
class Change:
    """One change to job or ranks, and the bytes of the worst rank after it."""

    text: str
    need: int


def smallest_changes(needs: Needs, world: World, group: int) -> Iterator[Change]:
    """Yield the changes that fit, those without influence on the image first; the last one is more memory.

    Each is planned when it is asked for, which takes its time.
    """
    limit = world.memory_per_rank
    yield from (c for c in _candidates(needs, world, group) if c.need <= limit)
    best = needs.of(group, limit)
    gpu = needs.gpu
    if gpu is not None and not (
        needs.fits_device(best) and (best.choice is None or not best.choice.lacks_device)
    ):
        each = gpu.sharing * best.on_device
        yield Change(f'use a GPU with {_up(round(each / (1 - MARGIN)))} GB, or device = "cpu"', best.total)
        return
    more = f"give every rank at least {_up(best.total)} GB: fewer ranks on a node, or a larger one"
    yield Change(more, best.total)


def _candidates(needs: Needs, world: World, group: int) -> Iterator[Change]:
    yield from _checkpoint(needs, group, world.memory_per_rank)
    yield from _more_ranks(needs, world, group)
    if not isinstance(needs.setup, MigrationSetup):
        return
    setup, limit = needs.setup, world.memory_per_rank
    if needs.pictures and needs.of(group, limit).stage == "pictures":
        yield Change("set [output] pictures = false", needs.without_pictures().of(group, limit).total)
    if setup.propagation.model_storage == "f32" and needs.medium != "tti":
        packed = replace(setup, propagation=replace(setup.propagation, model_storage="u16"))
        yield Change('set [propagation] model_storage = "u16"', _after(needs, packed, group, limit))
    # beyond twice the Nyquist step the image aliases
    for step in (setup.image_step * 3 // 2, 2 * setup.image_step):
        if setup.image_step < step < setup.axis.nt:
            text = f"set [imaging] image_step = {step} (from {setup.image_step})"
            yield Change(text, _after(needs, replace(setup, image_step=step), group, limit))
    yield from _aperture(needs, setup, group, world.memory_per_rank)


def _checkpoint(needs: Needs, group: int, limit: int) -> Iterator[Change]:
    """Yield what of [checkpoint] may be let go: its amount of memory, place, slots, then the strategy itself."""
    how = needs.checkpointing
    if how is None:
        return
    given = how.options
    free = replace(given, place="auto", slots=None, disk_slots=None, block=None)
    tried: list[tuple[str, CheckpointOptions]] = []
    if given.device_memory is not None and needs.gpu is not None:
        tried.append(("leave [checkpoint] device_memory out", replace(given, device_memory=None)))
    if given.memory is not None:
        tried.append(("leave [checkpoint] memory out", replace(given, memory=None)))
    if free != given:
        tried.append(("leave place, slots and block of [checkpoint] out", free))
    if given.strategy in ("store", "revolve"):
        tried.append(('set [checkpoint] strategy = "auto"', replace(free, strategy="auto")))
    if given.exact and given.lossless:
        inexact = replace(free, strategy="auto", exact=False)
        tried.append(("set [checkpoint] exact = false, for an image that is right to rounding", inexact))
    disk = replace(how, disk=NEVER)
    found = needs.choosing(disk).of(group, limit)
    if found.choice is not None and found.choice.fits and found.choice.best.need.disk > how.disk:
        room = found.choice.best.need.disk * needs.ranks
        yield Change(f"name folders with {_up(room)} GB free in [checkpoint] directories", found.total)
    for text, options in tried:
        yield Change(text, _total(needs.choosing(replace(how, options=options)), group, limit))


def _more_ranks(needs: Needs, world: World, group: int) -> Iterator[Change]:
    """Yield the smallest larger group, of the ranks there are or of more."""
    for size in range(group + 1, needs.largest_group + 1):
        wider = needs if size <= world.ranks else needs.changed(needs.setup, size)
        need = _total(wider, size, world.memory_per_rank)
        if need > world.memory_per_rank:
            continue
        if size <= world.ranks:
            yield Change(f"set [parallel] ranks_per_shot = {size}", need)
        else:
            each = "as much memory" if needs.gpu is None else "such a GPU"
            yield Change(f"start {size} ranks with {each} each, which share every shot", need)
        return


def _aperture(needs: Needs, setup: MigrationSetup, group: int, limit: int) -> Iterator[Change]:
    """Yield the largest aperture that fits, found by halving, in whole cells."""
    cell = min(setup.model.grid.spacing[:-1])
    extent = max(setup.model.grid.shape3[:2]) * cell
    low, high = 0.0, min(extent, setup.imaging.aperture or extent)

    def need(aperture: float) -> int:
        return _after(needs, replace(setup, imaging=replace(setup.imaging, aperture=aperture)), group, limit)

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


def _after(needs: Needs, setup: Setup, group: int, limit: int) -> int:
    """Return the bytes of the worst rank with another setup; more than any memory when its slabs would be too thin."""
    changed = needs.changed(setup)
    return _total(changed, group, limit) if group <= changed.largest_group else NEVER


def _total(needs: Needs, group: int, limit: int) -> int:
    """Return the bytes of the worst rank, more than any memory when the disk, [checkpoint] or a GPU is against it."""
    need = needs.of(group, limit)
    possible = needs.fits_device(need) and (need.choice is None or need.choice.fits)
    return need.total if possible else max(NEVER, need.total)


def _up(size: int) -> str:
    """Return gigabytes, rounded up to three digits."""
    scaled = size / 1e9
    step = 10.0 ** (len(str(int(scaled))) - 3) if scaled >= 1 else 0.01
    return f"{step * -(-scaled // step):g}"
