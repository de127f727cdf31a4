"""Which strategy a shot takes: the fastest that fits, and why.

Every strategy and place is a candidate, with its best slots and blocks, bytes and predicted seconds. Pure arithmetic on
sizes, limits and rates: plan and run ask the same function with the same numbers, on every rank, and get the same
scheme.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from subsalt.checkpoint.choice.footprint import (
    Candidate,
    Footprint,
    Limits,
    Rates,
    Sizes,
    costed,
    footprint,
    not_hidden,
)
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.schedule.scheme import SamplesPlace, Scheme
from subsalt.checkpoint.schedule.tasks import Counts
from subsalt.checkpoint.schedule.two_level import best_way, forward_steps, way_cost
from subsalt.errors import ConfigError

#: bytes of samples that go to disk in one piece: enough for the rate of a disk, little beside a wavefield
PIECE = 32 << 20

#: block lengths that are tried: all of them up to here, then some
ALL_BLOCKS = 64

#: blocks above which states on disk are not scheduled: each costs more than it saves long before
MOST_BLOCKS = 2048


def candidates(options: CheckpointOptions, sizes: Sizes, limits: Limits, rates: Rates) -> Iterator[Candidate]:
    """Yield all candidates, those with the least machinery first."""
    plain = Scheme(
        "store", sizes.steps, sizes.image_step, restart_every=options.restart_every, keep=options.keep
    )
    chunk = chunk_of(plain, sizes, limits)
    if options.keep != "none" or options.restart_every:
        plain = replace(plain, chunk=chunk)
    places: tuple[SamplesPlace, ...] = ("device", "memory", "disk") if sizes.on_device else ("memory", "disk")
    for place in places:
        store = plain if place == "memory" else replace(plain, snapshots_on=place)
        yield costed(
            f"store, {place}", replace(store, chunk=chunk) if place == "disk" else store, sizes, rates
        )
    if plain.samples < 1:
        return
    for where in ("device", "memory", "both", "disk") if sizes.on_device else ("memory", "both", "disk"):
        yield _best_revolve(where, options, plain, sizes, limits, rates)
    if not sizes.shell or options.keep != "none" or options.restart_every:
        nothing = Footprint({}, 0)
        why = sizes.no_boundary if not sizes.shell else "neither keeps wavefields nor writes restart points"
        yield Candidate(f"boundary, {places[0]}", None, None, nothing, 0.0, why)
        return
    # restart points and kept wavefields are for wavefields that are stored or computed again
    shells = Scheme("boundary", sizes.steps, sizes.image_step)
    for place in places:
        yield costed(f"boundary, {place}", replace(shells, snapshots_on=place), sizes, rates)


def chunk_of(scheme: Scheme, sizes: Sizes, limits: Limits) -> int:
    """Return the samples that go to disk in one piece: `PIECE` bytes, or what half the memory holds twice."""
    room = max(1, min(PIECE, limits.memory // 4) // max(1, sizes.snapshot))
    return max(1, min(scheme.samples, room))


def _best_revolve(
    place: str, options: CheckpointOptions, plain: Scheme, sizes: Sizes, limits: Limits, rates: Rates
) -> Candidate:
    """Return the block length and slots of least cost that fit, or the nearest to it."""
    name = f"revolve, {place}"
    if sizes.on_device:
        plain = replace(plain, snapshots_on="device")
    best: tuple[tuple[float, ...], Scheme] | None = None
    least: tuple[tuple[float, ...], Scheme] | None = None
    for block in _blocks(options, plain, place):
        bare = replace(plain, strategy="revolve", block=block)
        slots = with_device_slots if sizes.on_device else with_slots
        scheme = slots(bare, place, options, sizes, limits, rates)
        if scheme is None:
            continue
        need = footprint(scheme, sizes)
        over = float(need.disk > limits.disk), float(max(0, need.device - limits.device))
        small = (*over, float(need.memory), float(block))
        if least is None or small < least[0]:
            least = small, scheme
        if need.memory <= limits.memory and not any(over):
            key = (_revolve_steps(scheme, sizes, rates), float(need.memory + need.device), float(block))
            if best is None or key < best[0]:
                best = key, scheme
    chosen = best or least
    if chosen is None:
        return Candidate(name, None, None, Footprint({}, 0), 0.0, "no states would be left for it")
    return costed(name, chosen[1], sizes, rates)


def _blocks(options: CheckpointOptions, plain: Scheme, place: str) -> list[int]:
    """Return the block lengths to try."""
    most = plain.samples + 1
    if options.block is not None:
        return [min(options.block, most)]
    if options.restart_every:
        # restart points stand between blocks
        most = min(most, max(1, options.restart_every // plain.image_step))
    if place in ("memory", "device"):
        some = {round(ALL_BLOCKS * 1.05**i) for i in range(400)}
        found = {*range(1, ALL_BLOCKS + 1), *some, most}
    else:
        least = -(-(plain.samples + 1) // MOST_BLOCKS)
        found = {max(2**i, least) for i in range(16)} | {3, 6, 12, 24}
        found = {b for b in found if b >= least}
    return sorted(b for b in found if b <= most) or [most]


def _revolve_steps(scheme: Scheme, sizes: Sizes, rates: Rates) -> float:
    """Return the steps of a schedule with what its states cost, in time steps: what the search compares."""
    if sizes.on_device and scheme.memory_slots > scheme.device_slots:
        return costed("", scheme, sizes, rates).seconds / rates.step
    within = scheme.samples + 1 - scheme.blocks
    if scheme.disk_slots:
        way = best_way(scheme.blocks, scheme.slots)
        return way_cost(scheme.blocks, scheme.slots, way) / 100 + within * scheme.image_step
    steps = forward_steps(scheme.blocks, scheme.memory_slots + 1) * scheme.block
    return float((steps + within) * scheme.image_step)


def with_slots(
    scheme: Scheme, place: str, options: CheckpointOptions, sizes: Sizes, limits: Limits, rates: Rates
) -> Scheme | None:
    """Return a scheme with the slots that fit; None where this place has no use for any."""
    useful = max(0, scheme.blocks - 1)
    memory = disk = 0
    if place != "disk":
        if options.slots is not None:
            memory = min(options.slots, useful)
        else:
            beside = footprint(scheme, sizes).memory
            memory = max(0, min(useful, (limits.memory - beside) // sizes.state_memory))
    if place == "memory":
        return replace(scheme, memory_slots=memory)
    left = useful - memory
    if place == "both" and left <= 0:
        return _as_asked(replace(scheme, memory_slots=memory), options)
    if place == "both" and memory == 0 and options.place != "both":
        return None
    disk = (
        min(left, limits.disk // sizes.state_file)
        if options.disk_slots is None
        else min(options.disk_slots, left)
    )
    if options.slots is None and place == "both" and disk:
        # the buffers of the file store take the place of a slot or two
        beside = footprint(replace(scheme, disk_slots=disk), sizes).memory
        memory = max(0, min(memory, (limits.memory - beside) // sizes.state_memory))
        if memory == 0 and options.place != "both":
            return None
    if disk <= 0:
        if place == "both":
            return _as_asked(replace(scheme, memory_slots=memory), options)
        return _on_disk(replace(scheme, disk_slots=max(0, min(1, left))), left > 0)
    write, read = (not_hidden(scheme, sizes, rates, rate) / rates.step for rate in (rates.put, rates.get))
    # slots that somebody asked for are used; others where they are worth their time
    costs = (0, 0) if options.disk_slots is not None else (round(100 * write), round(100 * read))
    found = replace(scheme, memory_slots=memory, disk_slots=disk, disk_costs=costs)
    if place == "both" and not found.moves.disk:
        return _as_asked(replace(scheme, memory_slots=memory), options)
    return found if place == "both" else _on_disk(found, options.place != "disk")


def _on_disk(scheme: Scheme, must: bool) -> Scheme | None:
    """Return a scheme with states on disk; None where it must have some and its schedule has no use for any."""
    return None if must and scheme.blocks > 1 and not scheme.moves.disk else scheme


def _as_asked(scheme: Scheme, options: CheckpointOptions) -> Scheme | None:
    """Return what ``both`` is where no state is worth its way to disk, or all fit into memory: for who asks for it."""
    return scheme if options.place == "both" else None


def with_device_slots(
    scheme: Scheme, place: str, options: CheckpointOptions, sizes: Sizes, limits: Limits, rates: Rates
) -> Scheme | None:
    """Return a scheme on a GPU with the slots that fit: on the device first, then in pinned memory, then on disk.

    None where a place has no use for any.
    """
    useful = max(0, scheme.blocks - 1)
    need = footprint(scheme, sizes)
    there = max(0, limits.device - need.device) // sizes.state
    on_host = max(0, limits.memory - need.memory) // sizes.state
    if place == "device":
        device = min(useful, there if options.slots is None else options.slots)
        return replace(scheme, memory_slots=device, device_slots=device)
    device = 0 if options.place == "memory" or place == "disk" else min(useful, there)
    host = 0 if place == "disk" else min(useful - device, on_host)
    if options.slots is not None:
        memory = min(options.slots, useful)
        device, host = min(device, memory), memory - min(device, memory)
    if place == "memory":
        return replace(scheme, memory_slots=device + host, device_slots=device) if host else None
    left = useful - device - host
    if options.disk_slots is not None:
        disk = min(options.disk_slots, left)
    else:
        disk = min(left, limits.disk // sizes.state_file)
    if place == "both" and (device + host == 0 or disk <= 0):
        return _as_asked(replace(scheme, memory_slots=device + host, device_slots=device), options)
    if disk <= 0:
        return replace(scheme, disk_slots=max(0, min(1, left)))
    if options.slots is None and host:
        # the buffers of the file store take the place of a slot or two
        need = footprint(replace(scheme, disk_slots=disk), sizes)
        host = min(host, max(0, limits.memory - need.memory) // sizes.state)
    costs = (0, 0)
    if options.disk_slots is None:
        write, read = (
            (not_hidden(scheme, sizes, rates, rate) + sizes.state / link) / rates.step
            for rate, link in ((rates.put, rates.down), (rates.get, rates.up))
        )
        costs = round(100 * write), round(100 * read)
    kept = replace(scheme, memory_slots=device + host, device_slots=device)
    found = replace(kept, disk_slots=disk, disk_costs=costs)
    return _as_asked(kept, options) if place == "both" and not found.moves.disk else found


__all__ = ["Candidate", "Choice", "Limits", "Rates", "choose"]

#: a candidate further down the list must be faster by this part to be taken: disk and recomputing have their risks
WORTH = 0.02


@dataclass(frozen=True)
class Choice:
    """What a shot does, and what else it could.

    Parameters
    ----------
    best : Candidate
        Taken; when nothing fits, the one that needs the least memory.
    alternatives : list of Candidate
        All, the best included, in the order in which they are preferred when equal.
    why : str
        One line.
    limits : Limits
        What there is.
    """

    best: Candidate
    alternatives: list[Candidate]
    why: str
    limits: Limits

    @property
    def fits(self) -> bool:
        """Whether the best is possible."""
        return not self.best.problem

    @property
    def lacks_device(self) -> bool:
        """Whether the best is not possible for want of memory of the GPU."""
        return not self.fits and self.best.need.device > self.limits.device

    @property
    def scheme(self) -> Scheme:
        """Of the best."""
        assert self.best.scheme is not None
        return self.best.scheme

    @property
    def counts(self) -> Counts:
        """Of the best."""
        assert self.best.counts is not None
        return self.best.counts

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "strategy": self.best.name,
            "why": self.why,
            "taken": self.best.to_dict(),
            "alternatives": [c.to_dict() for c in self.alternatives],
        }


def choose(options: CheckpointOptions, sizes: Sizes, limits: Limits, rates: Rates) -> Choice:
    """Return the fastest way to do a shot that fits; the same numbers give the same answer everywhere.

    Parameters
    ----------
    options : CheckpointOptions
        What is asked for.
    sizes : Sizes
        Steps, and bytes of snapshots and states on the rank that has most.
    limits : Limits
        Of a rank.
    rates : Rates
        Of a rank.

    Raises
    ------
    ConfigError
        Of snapshots in 16 bits on a GPU.
    """
    if options.halved and sizes.on_device:
        raise ConfigError(
            'compression = "f16" is for snapshots that a processor makes, and the wavefields are on a GPU',
            'leave compression out, or set [parallel] device = "cpu"',
            code="E664",
        )
    if options.memory is not None:
        limits = replace(limits, memory=min(limits.memory, options.memory))
    if options.device_memory is not None:
        limits = replace(limits, device=min(limits.device, options.device_memory))
    if options.place == "device" and not sizes.on_device:
        # the same job on a processor: its memory is that of the host
        options = replace(options, place="memory")
    found = [_judged(c, options, limits) for c in candidates(options, sizes, limits, rates)]
    possible = [c for c in found if not c.problem]
    if not possible:
        # what was asked for and needs least memory: the plan says by how much it does not fit
        wanted = [c for c in found if c.scheme and not _unwanted(c, options)] or [
            c for c in found if c.scheme
        ]
        least = min(
            wanted,
            key=lambda c: (c.need.disk > limits.disk, max(0, c.need.device - limits.device), c.need.memory),
        )
        return Choice(least, found, f"nothing fits; {least.name} needs the least", limits)
    fastest = min(c.seconds for c in possible)
    best = next(c for c in possible if c.seconds <= fastest * (1 + WORTH))
    return Choice(best, found, _why(best, found, options), limits)


def _judged(candidate: Candidate, options: CheckpointOptions, limits: Limits) -> Candidate:
    """Return a candidate with its problem."""
    if candidate.problem:
        return candidate
    problem = _unwanted(candidate, options)
    for what, need, have in (
        ("device memory", candidate.need.device, limits.device),
        ("memory", candidate.need.memory, limits.memory),
        ("disk", candidate.need.disk, limits.disk),
    ):
        if not problem and need > have:
            problem = (
                f"needs {_size(need)} of {what}, {_size(have)} are there: {_size(need - have)} too little"
            )
    return replace(candidate, problem=problem)


def _unwanted(candidate: Candidate, options: CheckpointOptions) -> str:
    """Return which option speaks against a candidate."""
    strategy, place = candidate.name.split(", ")
    if options.strategy not in ("auto", strategy):
        return f'strategy = "{options.strategy}"'
    if options.place not in ("auto", place):
        return f'place = "{options.place}"'
    if options.compression == "zfp" and place in ("memory", "device"):
        return 'compression = "zfp" is for what lies on disk'
    if strategy == "boundary" and options.strategy == "auto":
        if options.exact:
            return "right to rounding only: exact = false allows it"
        if options.compression != "none":
            return f'compression = "{options.compression}" is for snapshots and states'
    return ""


def _why(best: Candidate, found: list[Candidate], options: CheckpointOptions) -> str:
    """Return one line on why `best` was taken."""
    others = [c for c in found if c is not best and c.scheme and not c.problem]
    if not others:
        return "as asked for" if options.strategy != "auto" else "the only one that fits"
    next_best = min(others, key=lambda c: c.seconds)
    ratio = next_best.seconds / best.seconds if best.seconds else 1.0
    if ratio < 1 + WORTH:
        return f"as fast as {next_best.name}, and simpler"
    return f"predicted {ratio:.2f} times as fast as {next_best.name}"


def _size(count: int) -> str:
    """Return bytes for people."""
    return f"{count / 1e9:.2f} GB" if count >= 1e8 else f"{count / 1e6:.2f} MB"
