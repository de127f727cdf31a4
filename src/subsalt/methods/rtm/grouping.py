"""In core or not: the smallest group of ranks in whose memory a shot fits, decided before anything is allocated.

Where none fits, the smallest change that does is offered; each is planned again before it is offered.

A process alone divides its threads among several shots at once where that ends the survey earlier: threads that share
a small shot wait for each other at every step, and those with a shot each at none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from subsalt.acquisition.survey import Shot
from subsalt.checkpoint.choice.choose import Choice
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.errors import Change, DiskError, Finding, MemoryPlanError
from subsalt.kernels import is_compiled
from subsalt.methods.rtm.changes import smaller_setups
from subsalt.methods.rtm.need import Needs, RankNeed, Setup
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.plan.gpu import MARGIN
from subsalt.plan.world import World, group_sizes

#: bytes that no rank has
NEVER = 1 << 62


def smallest_changes(needs: Needs, world: World, group: int) -> Iterator[Change]:
    """Yield the changes that fit, those without influence on the image first; the last one is more memory.

    Each is planned when it is asked for, which takes its time.
    """
    limit = world.memory_per_rank
    yield from (c for c in _candidates(needs, world, group) if c.fits)
    best = needs.for_group(group, limit)
    gpu = needs.gpu
    if gpu is not None and not (
        needs.fits_device(best) and (best.choice is None or not best.choice.lacks_device)
    ):
        each = gpu.sharing * best.on_device
        yield Change(
            f'use a GPU with {_up(round(each / (1 - MARGIN)))} GB, or device = "cpu"', best.total, best.total
        )
        return
    yield Change.more_memory(f"{_up(best.total)} GB", best.total)


def _candidates(needs: Needs, world: World, group: int) -> Iterator[Change]:
    for fewer in range(needs.at_once - 1, 0, -1):
        total = _total(needs.side_by_side(fewer), group, world.memory_per_rank)
        yield Change(f"set [parallel] shots_at_once = {fewer}", total, world.memory_per_rank)
    yield from _checkpoint(needs, group, world.memory_per_rank)
    yield from _more_ranks(needs, world, group)
    if not isinstance(needs.setup, MigrationSetup):
        return
    setup, limit = needs.setup, world.memory_per_rank
    if needs.pictures and needs.for_group(group, limit).stage == "pictures":
        total = needs.without_pictures().for_group(group, limit).total
        yield Change("set [output] pictures = false", total, limit)
    packs = needs.medium != "tti"
    yield from smaller_setups(setup, lambda s: _after(needs, s, group, limit), limit, packs=packs)


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
    need = needs.choosing(disk).for_group(group, limit)
    if need.choice is not None and need.choice.fits and need.choice.best.need.disk > how.disk:
        room = need.choice.best.need.disk * needs.ranks
        yield Change(f"name folders with {_up(room)} GB free in [checkpoint] directories", need.total, limit)
    for text, options in tried:
        total = _total(needs.choosing(replace(how, options=options)), group, limit)
        yield Change(text, total, limit)


def _more_ranks(needs: Needs, world: World, group: int) -> Iterator[Change]:
    """Yield the smallest larger group, of the ranks there are or of more."""
    for size in range(group + 1, needs.largest_group + 1):
        wider = needs if size <= world.ranks else needs.changed(needs.setup, size)
        need = _total(wider, size, world.memory_per_rank)
        if need > world.memory_per_rank:
            continue
        if size <= world.ranks:
            yield Change(f"set [parallel] ranks_per_shot = {size}", need, world.memory_per_rank)
        else:
            each = "as much memory" if needs.gpu is None else "such a GPU"
            text = f"start {size} ranks with {each} each, which share every shot"
            yield Change(text, need, world.memory_per_rank)
        return


def _after(needs: Needs, setup: Setup, group: int, limit: int) -> int:
    """Return the bytes of the worst rank with another setup; more than any memory when its slabs would be too thin."""
    changed = needs.changed(setup)
    return _total(changed, group, limit) if group <= changed.largest_group else NEVER


def _total(needs: Needs, group: int, limit: int) -> int:
    """Return the bytes of the worst rank, more than any memory when the disk, [checkpoint] or a GPU is against it."""
    need = needs.for_group(group, limit)
    possible = needs.fits_device(need) and (need.choice is None or need.choice.fits)
    return need.total if possible else max(NEVER, need.total)


def _up(size: int) -> str:
    """Return gigabytes, rounded up to three digits."""
    scaled = size / 1e9
    step = 10.0 ** (len(str(int(scaled))) - 3) if scaled >= 1 else 0.01
    return f"{step * -(-scaled // step):g}"


GroupSize = int | Literal["auto"]

#: bytes of wavefields and models of all shots at once: no more have been measured to gain (two 3-D shots of 44 MB, and
#: 2-D shots of 2 MB, on two cores of a Zen 3); more cores must fetch more of them from memory
SMALL = 90_000_000

#: point-steps of a shot below which preparing it takes longer than its steps: the interpreter does one thing at a time
TINY = 20_000_000

#: part of a time step of a small shot that more threads make no shorter: two threads are 1.3 times as fast on two shots
ALONE = 0.3

#: shots that the program takes at once by itself: what prepares them holds the lock of the interpreter
MOST_AT_ONCE = 16

#: a larger group must end the survey earlier by more than this part: rates are known no better, halos cost something
SLACK = 0.05


@dataclass(frozen=True)
class Grouping:
    """How the ranks share the shots, and whether that fits.

    Parameters
    ----------
    world : World
        All ranks.
    sizes : tuple of int
        Ranks of every group.
    need : RankNeed
        Need of the rank that needs most.
    reason : str
        Why this group size, one line.
    largest : int
        Ranks among which the narrowest shot can be cut.
    error : MemoryPlanError, DiskError or None
        Error that a run would raise; None when it fits.
    budget : int
        Bytes for snapshots and states of a shot on every rank.
    needs : Needs, optional
        Needs from which the decision was made.
    """

    world: World
    sizes: tuple[int, ...]
    need: RankNeed
    reason: str
    largest: int
    error: MemoryPlanError | DiskError | None = None
    budget: int = 0
    needs: Needs | None = None

    def choice_of(self, shot: Shot, group: int) -> Choice | None:
        """Return what a shot does on a group of ranks; all its ranks get the same answer."""
        needs = self.needs
        if needs is None or needs.checkpointing is None or self.choice is None:
            return None
        return needs.choice(shot, group, self.budget, needs.checkpointing.settled(self.choice))

    @property
    def fits(self) -> bool:
        """Whether every rank has the memory it needs."""
        return self.error is None

    @property
    def choice(self) -> Choice | None:
        """How the largest shot recovers its source wavefield; None where nothing is chosen."""
        return self.need.choice

    @property
    def group_size(self) -> int:
        """Ranks that share a shot; of the smallest group where they differ."""
        return min(self.sizes)

    @property
    def cut(self) -> tuple[int, int]:
        """Parts along x and y into which the smallest group cuts the largest shot."""
        if self.needs is None:
            return self.group_size, 1
        return self.needs.domain(self.needs.worst_shots[0], (0, self.group_size)).counts

    @property
    def at_once(self) -> int:
        """Shots that a rank computes side by side."""
        return 1 if self.needs is None else self.needs.at_once

    @property
    def threads(self) -> int:
        """Threads that a rank has for a shot."""
        return max(1, self.world.threads // self.at_once)

    @property
    def sharing(self) -> int:
        """Shots, or parts of them, that share the processor of a node at the same time."""
        return self.world.ranks_per_node * self.at_once

    @property
    def slower(self) -> float:
        """Factor by which a time step takes longer than with all threads of a node on one shot, as its rates are."""
        if self.at_once == 1:
            return self.world.ranks_per_node
        return pace(self.world.threads) / pace(self.threads)

    @property
    def groups(self) -> int:
        """Number of shots in progress at the same time."""
        return len(self.sizes) * self.at_once

    @property
    def idle(self) -> int:
        """Ranks that find no group: slabs would be too thin."""
        return self.world.ranks - sum(self.sizes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "fits": self.fits,
            "ranks": self.world.ranks,
            "ranks_per_shot": self.group_size,
            "groups": list(self.sizes),
            "shots_at_once": self.at_once,
            "decomp": list(self.cut),
            "idle_ranks": self.idle,
            "threads": self.world.threads,
            "memory_per_rank_bytes": self.world.memory_per_rank,
            "need_bytes": self.need.total,
            "arrays": self.need.arrays,
            "stage": self.need.stage,
            "shot": self.need.shot,
            "reason": self.reason,
            "budget_bytes": self.budget,
            "pinned_bytes": self.need.pinned,
        }


def group_size(needs: Needs, world: World, size: GroupSize = "auto", at_once: GroupSize = "auto") -> Grouping:
    """Return how many ranks share a shot, and what a shot does to have its source wavefield again.

    Parameters
    ----------
    needs : Needs
        Needs of the survey on the ranks of `world`; all snapshots are in memory where no strategy is chosen.
    world : World
        Ranks and their memory.
    size : int or "auto"
        `[parallel] ranks_per_shot`; "auto" takes the smallest group that fits, so that most shots run side by side, but
        makes no more groups than there are shots. Where a larger group can keep what a smaller one must compute again,
        the survey that is predicted to end first is taken.
    at_once : int or "auto"
        `[parallel] shots_at_once`; "auto" takes several where they are small and that ends the survey earlier.

    Raises
    ------
    MemoryPlanError
        When no group, or not the one asked for, has the memory; with the smallest change that fits.
    ConfigError
        When the group asked for has slabs thinner than their halo.
    """
    decision = decide(needs, world, size, at_once)
    if decision.error is not None:
        raise decision.error
    return decision


def decide(
    needs: Needs, world: World, fixed_size: GroupSize = "auto", at_once: GroupSize = "auto"
) -> Grouping:
    """Return how many ranks share a shot, or shots a process, also when that does not fit.

    Raises
    ------
    ConfigError
        As `group_size`.
    """
    needs = needs.on(world.gpu)
    world = world.holding(sum(needs.held().values()))
    if world.ranks == 1 and world.gpu is None:
        if at_once != "auto":
            needs = needs.side_by_side(min(at_once, len(needs.shots)))
        else:
            needs = needs.side_by_side(_best_at_once(needs, world))
    if fixed_size != "auto":
        return _fixed(needs, world, fixed_size)
    most = min(world.ranks, needs.largest_group)
    # more groups than shots would leave ranks idle
    least = max(1, min(most, world.ranks // len(needs.shots)))
    for limit, room in ((world.comfortable, True), (world.memory_per_rank, False)):
        size = _fastest(needs, world, least, most, limit)
        if size is not None:
            return _decision(needs, world, size, _why(needs, world, size, limit, room), limit)
    decision = _decision(
        needs, world, most, f"no group of up to {most} has the memory", world.memory_per_rank
    )
    return refused(decision, needs)


def ignored_at_once(wanted: GroupSize, ranks: int) -> list[Finding]:
    """Return the warning of `[parallel] shots_at_once` where each of some ranks, or a GPU, computes one at a time."""
    if wanted in ("auto", 1):
        return []
    reason = f"there are {ranks} ranks" if ranks > 1 else "shots are computed on a GPU"
    cure = (
        "leave it out; ranks compute shots side by side"
        if ranks > 1
        else 'leave it out, or set device = "cpu"'
    )
    text = f"[parallel] shots_at_once = {wanted} has no effect, since {reason}"
    return [Finding("W666", "warning", text, cure, {"asked": wanted, "ranks": ranks})]


def pace(threads: int) -> float:
    """Return how many times as fast as one thread some threads step a small shot together (Amdahl's law)."""
    return threads / (1 + ALONE * (threads - 1))


def _best_at_once(needs: Needs, world: World) -> int:
    """Return how many shots a process computes side by side, so that the survey ends first.

    A shot is one of several only if the memory is there to do with it what is done with one alone.
    """
    threads, shots = world.threads, len(needs.shots)
    most = min(threads, shots, MOST_AT_ONCE, SMALL // needs.step_bytes)
    if most < 2 or needs.least_point_steps < TINY or not is_compiled(needs.setup.propagation.device):
        return 1
    alone = needs.for_group(1, world.comfortable).choice

    def seconds(at_once: int) -> float:
        return math.ceil(shots / at_once) / pace(threads // at_once)

    def as_alone(at_once: int) -> bool:
        several = needs.side_by_side(at_once)
        choice = several.for_group(1, world.comfortable).choice
        same = choice is None or (alone is not None and choice.best.name == alone.best.name)
        return several.fits(1, world.comfortable) and same

    first = sorted(range(1, most + 1), key=seconds)
    return next((n for n in first if n == 1 or as_alone(n)), 1)


def _decision(needs: Needs, world: World, size: int, reason: str, limit: int) -> Grouping:
    """Return the decision for groups of `size` ranks and more, within `limit` bytes per rank."""
    sizes = group_sizes(world.ranks, size, needs.largest_group, len(needs.shots))
    least = min(sizes)
    need = needs.for_group(least, limit)
    budget = needs.budget(least, limit) if needs.checkpointing is not None else 0
    return Grouping(world, tuple(sizes), need, reason, needs.largest_group, budget=budget, needs=needs)


def _fastest(needs: Needs, world: World, least: int, most: int, limit: int) -> int | None:
    """Return the group that ends the survey first, the smallest of those that are nearly as fast; None when none fits.

    Where nothing is chosen between strategies, smaller groups are always as fast.
    """
    if needs.checkpointing is None:
        return smallest_fitting(needs, least, most, limit)
    seconds = {g: _seconds(needs, world, g, limit) for g in _tried(least, most) if needs.fits(g, limit)}
    if not seconds:
        return smallest_fitting(needs, least, most, limit)
    first = min(seconds.values())
    return min(g for g, s in seconds.items() if s <= first * (1 + SLACK))


def _tried(least: int, most: int) -> list[int]:
    """Return the group sizes that are compared: all small ones, then some."""
    some = {*range(least, min(most, least + 16) + 1), most}
    size = float(least + 16)
    while size < most:
        some.add(round(size))
        size *= 1.25
    return sorted(some)


def _seconds(needs: Needs, world: World, group: int, limit: int) -> float:
    """Return the predicted seconds of the survey when all shots take as long as the largest."""
    choice = needs.for_group(group, limit).choice
    assert choice is not None
    groups = len(group_sizes(world.ranks, group, needs.largest_group, len(needs.shots)))
    return -(-len(needs.shots) // groups) * choice.best.seconds


def smallest_fitting(needs: Needs, least: int, most: int, limit: int) -> int | None:
    """Return the smallest group of `least` to `most` ranks that need at most `limit` bytes each, None without one.

    Notes
    -----
    Needs hardly ever rise with the size of the group, so halving finds it; a last step down makes sure.
    """
    if not needs.fits(most, limit):
        return None
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        if needs.fits(middle, limit):
            high = middle
        else:
            low = middle + 1
    while high > least and needs.fits(high - 1, limit):
        high -= 1
    return high


def _fixed(needs: Needs, world: World, requested: int) -> Grouping:
    # a job for a cluster runs on a laptop, too: all ranks share a shot when there are fewer than asked for
    size = min(requested, world.ranks)
    if size > 1:
        for axis in (0, 1):
            narrowest = min(needs.shots, key=lambda s: needs.extents[s.id][axis])
            needs.parts(narrowest, size)  # refuses parts that are thinner than their halo
    reason = (
        "as [parallel] ranks_per_shot says"
        if size == requested
        else f"all there are, of the {requested} asked for"
    )
    limit = world.comfortable
    if not needs.fits(min(group_sizes(world.ranks, size, needs.largest_group, len(needs.shots))), limit):
        limit = world.memory_per_rank
    decision = _decision(needs, world, size, reason, limit)
    fits = needs.fits(decision.group_size, limit)
    return decision if fits else refused(decision, needs)


def _why(needs: Needs, world: World, size: int, limit: int, room: bool) -> str:
    """Return why `size` ranks share a shot."""
    share = "" if room else f"; more than {world.comfortable / 1e9:.2f} GB of them, which would leave room"
    if size == 1:
        return f"a shot fits into the memory of one rank{share}"
    least = max(1, world.ranks // len(needs.shots))
    if size == least:
        return f"smaller groups would be more than the {len(needs.shots)} shots, and ranks idle{share}"
    before = needs.for_group(size - 1, limit)
    if needs.fits(size - 1, limit) and before.choice is not None:
        return f"faster than smaller groups, which would take {before.choice.best.name}{share}"
    return f"the smallest group that fits: {size - 1} would take {before.total / 1e9:.2f} GB per rank{share}"


def refused(decision: Grouping, needs: Needs) -> Grouping:
    """Return the decision with its error: the numbers, and the smallest change that fits."""
    world, need = decision.world, decision.need
    if not needs.fits_device(need) or (decision.choice is not None and decision.choice.lacks_device):
        return replace(decision, error=_device_refused(needs, decision))
    table = _table(need.arrays)
    choice = decision.choice
    if choice is not None and not choice.fits and need.total <= world.memory_per_rank:
        return replace(decision, error=_choice_refused(needs, decision, choice))
    first = next(smallest_changes(needs, world, decision.group_size))
    who = "a rank" if world.ranks > 1 else "the job"
    share = f" with {decision.group_size} ranks per shot" if world.ranks > 1 else ""
    error = MemoryPlanError(
        f"{who} needs {need.total / 1e9:.2f} GB{share} and has {world.memory_per_rank / 1e9:.2f} GB: {table}",
        first.text,
        code="E660" if world.ranks > 1 else "E610",
    )
    return replace(decision, error=error)


def _table(arrays: Mapping[str, int]) -> str:
    """Return the arrays that matter, the largest first."""
    largest_first = sorted(arrays.items(), key=lambda kv: -kv[1])
    least = min(5e6, 0.01 * sum(arrays.values()))
    return ", ".join(f"{name} {_gb(size)}" for name, size in largest_first if size > least)


def _gb(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e8 else f"{size / 1e6:.2f} MB"


def _device_refused(needs: Needs, decision: Grouping) -> MemoryPlanError:
    """Return the error of a job that its GPU has not the memory for, before anything is allocated."""
    gpu, need = needs.gpu, decision.need
    assert gpu is not None
    first = next(smallest_changes(needs, decision.world, decision.group_size))
    who = "a rank" if decision.world.ranks > 1 else "the job"
    share = f" for each of {gpu.sharing} ranks" if gpu.sharing > 1 else ""
    given = needs.checkpointing.options.device_memory if needs.checkpointing is not None else None
    rest = f", of which [checkpoint] device_memory leaves {_gb(given)}" if given is not None else ""
    return MemoryPlanError(
        f"{who} needs {_gb(need.on_device)} of the memory of {gpu.name}, which has {_gb(gpu.limit)}{share}{rest}: "
        f"{_table(need.device)}",
        first.text,
        code="E988",
    )


def _choice_refused(needs: Needs, decision: Grouping, choice: Choice) -> MemoryPlanError | DiskError:
    """Return the error of a run whose ranks have the memory, but not what [checkpoint] asks for or allows."""
    how, best = needs.checkpointing, choice.best
    assert how is not None
    first = next(smallest_changes(needs, decision.world, decision.group_size))
    more_memory = first.text.startswith("give every rank")
    if best.need.disk > choice.inputs.disk:
        where, ranks = " and ".join(how.where) or "the run directory", decision.world.ranks
        each = f" for each of {ranks} ranks" if ranks > 1 else ""
        return DiskError(
            f"{best.name} needs {best.need.disk / 1e9:.2f} GB of scratch{each}, {where} has "
            f"{max(0, choice.inputs.disk) / 1e9:.2f} GB{each and ' for each'}",
            "free space, or name other folders in [checkpoint] directories" if more_memory else first.text,
            code="E666",
        )
    return MemoryPlanError(
        f"{best.name} needs {best.need.memory / 1e9:.3f} GB for snapshots and states, [checkpoint] leaves it "
        f"{max(0, choice.inputs.memory) / 1e9:.3f} GB: {best.problem}",
        f"set [checkpoint] memory to {_above(best.need.memory)} at least" if more_memory else first.text,
        code="E660" if decision.world.ranks > 1 else "E610",
    )


def _above(size: int) -> str:
    return f"{-(-size // 10**6)} MB"
