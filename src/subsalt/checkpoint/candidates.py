"""The ways to do a shot: every strategy and place with its best slots and blocks, steps, bytes and predicted seconds.

The cost of a candidate is the time steps of both wavefields, the copies of states in memory, and what of the traffic
with disk does not hide behind them::

    seconds = (source steps + receiver steps) step + copies state / copy + max(0, bytes / rate - what it hides behind)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from subsalt.checkpoint.footprint import Footprint, Sizes, disk_traffic, footprint
from subsalt.checkpoint.revolve import forward_steps
from subsalt.checkpoint.scheme import Counts, Scheme, counts_of
from subsalt.checkpoint.two_level import best_way, way_cost
from subsalt.options import CheckpointOptions

#: bytes of samples that go to disk in one piece: enough for the rate of a disk, little beside a wavefield
PIECE = 32 << 20

#: block lengths that are tried: all of them up to here, then some
ALL_BLOCKS = 64

#: blocks above which states on disk are not scheduled: each costs more than it saves long before
MOST_BLOCKS = 2048


@dataclass(frozen=True)
class Limits:
    """What a rank may take for snapshots and states, bytes.

    Parameters
    ----------
    memory, disk : int
        For everything that a footprint counts.
    """

    memory: int
    disk: int


@dataclass(frozen=True)
class Rates:
    """How fast a rank is.

    Parameters
    ----------
    step : float
        Seconds of a time step of one wavefield.
    put, get : float
        Bytes per second to and from the folders of its snapshots.
    copy : float
        Bytes per second of a copy in memory.
    kernels, storage : str
        Where the numbers come from: ``"measured"``, or ``"assumed"``.
    """

    step: float
    put: float
    get: float
    copy: float = 4e9
    kernels: str = "assumed"
    storage: str = "assumed"


@dataclass(frozen=True)
class Candidate:
    """One way to do a shot.

    Parameters
    ----------
    name : str
        Strategy and place.
    scheme : Scheme or None
        None when there is none at all.
    counts : Counts or None
        Of the scheme.
    need : Footprint
        Bytes of memory and disk.
    seconds : float
        Predicted, of time steps and what comes with snapshots and states.
    problem : str
        Why it is not possible; empty when it is.
    """

    name: str
    scheme: Scheme | None
    counts: Counts | None
    need: Footprint
    seconds: float
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "name": self.name,
            "possible": not self.problem,
            "problem": self.problem,
            "seconds": self.seconds if self.scheme else None,
            "memory_bytes": self.need.memory,
            "disk_bytes": self.need.disk,
            "scheme": scheme_facts(self.scheme) if self.scheme else None,
            "counts": vars(self.counts).copy() if self.counts else None,
        }


def name_of(scheme: Scheme) -> str:
    """Return strategy and place of a scheme, as candidates are called."""
    place: str = scheme.snapshots_on
    if scheme.strategy == "revolve":
        place = (
            "both" if scheme.memory_slots and scheme.disk_slots else "disk" if scheme.disk_slots else "memory"
        )
    return f"{scheme.strategy}, {place}"


def scheme_facts(scheme: Scheme) -> dict[str, Any]:
    """Return a scheme as plain values."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(scheme).items()}


def candidates(options: CheckpointOptions, sizes: Sizes, limits: Limits, rates: Rates) -> Iterator[Candidate]:
    """Yield all candidates, those with the least machinery first."""
    plain = Scheme(
        "store", sizes.steps, sizes.image_step, restart_every=options.restart_every, keep=options.keep
    )
    chunk = chunk_of(plain, sizes, limits)
    if options.keep != "none" or options.restart_every:
        plain = replace(plain, chunk=chunk)
    yield _costed("store, memory", plain, sizes, rates)
    yield _costed("store, disk", replace(plain, snapshots_on="disk", chunk=chunk), sizes, rates)
    if plain.samples < 1:
        return
    yield _best_revolve("revolve, memory", options, plain, sizes, limits, rates)
    yield _best_revolve("revolve, both", options, plain, sizes, limits, rates)
    yield _best_revolve("revolve, disk", options, plain, sizes, limits, rates)
    if not sizes.shell or options.keep != "none" or options.restart_every:
        nothing = Footprint({}, 0)
        why = sizes.no_boundary if not sizes.shell else "neither keeps wavefields nor writes restart points"
        yield Candidate("boundary, memory", None, None, nothing, 0.0, why)
        return
    # restart points and kept wavefields are for wavefields that are stored or computed again
    shells = Scheme("boundary", sizes.steps, sizes.image_step)
    yield _costed("boundary, memory", shells, sizes, rates)
    yield _costed("boundary, disk", replace(shells, snapshots_on="disk"), sizes, rates)


def chunk_of(scheme: Scheme, sizes: Sizes, limits: Limits) -> int:
    """Return the samples that go to disk in one piece: `PIECE` bytes, or what half the memory holds twice."""
    room = max(1, min(PIECE, limits.memory // 4) // max(1, sizes.snapshot))
    return max(1, min(scheme.samples, room))


def _best_revolve(
    name: str, options: CheckpointOptions, plain: Scheme, sizes: Sizes, limits: Limits, rates: Rates
) -> Candidate:
    """Return the block length and slots of least cost that fit, or the nearest to it."""
    place = name.split(", ")[1]
    best: tuple[tuple[float, ...], Scheme] | None = None
    least: tuple[tuple[float, ...], Scheme] | None = None
    for block in _blocks(options, plain, place):
        bare = replace(plain, strategy="revolve", block=block)
        scheme = _with_slots(bare, place, options, sizes, limits, rates)
        if scheme is None:
            continue
        need = footprint(scheme, sizes)
        small = (float(need.disk > limits.disk), float(need.memory), float(block))
        if least is None or small < least[0]:
            least = small, scheme
        if need.memory <= limits.memory and need.disk <= limits.disk:
            key = (_revolve_steps(scheme), float(need.memory), float(block))
            if best is None or key < best[0]:
                best = key, scheme
    chosen = best or least
    if chosen is None:
        return Candidate(name, None, None, Footprint({}, 0), 0.0, "no states would be left for the disk")
    return _costed(name, chosen[1], sizes, rates)


def _blocks(options: CheckpointOptions, plain: Scheme, place: str) -> list[int]:
    """Return the block lengths to try."""
    most = plain.samples + 1
    if options.block is not None:
        return [min(options.block, most)]
    if options.restart_every:
        # restart points stand between blocks
        most = min(most, max(1, options.restart_every // plain.image_step))
    if place == "memory":
        some = {round(ALL_BLOCKS * 1.05**i) for i in range(400)}
        found = {*range(1, ALL_BLOCKS + 1), *some, most}
    else:
        least = -(-(plain.samples + 1) // MOST_BLOCKS)
        found = {max(2**i, least) for i in range(16)} | {3, 6, 12, 24}
        found = {b for b in found if b >= least}
    return sorted(b for b in found if b <= most) or [most]


def _with_slots(
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
            memory = max(0, min(useful, (limits.memory - beside) // sizes.state))
    if place == "memory":
        return replace(scheme, memory_slots=memory)
    left = useful - memory
    if place == "both" and (memory == 0 or left <= 0):
        return None
    disk = (
        min(left, limits.disk // sizes.state_file)
        if options.disk_slots is None
        else min(options.disk_slots, left)
    )
    if options.slots is None and place == "both" and disk:
        # the buffers of the file store take the place of a slot or two
        beside = footprint(replace(scheme, disk_slots=disk), sizes).memory
        memory = max(0, min(memory, (limits.memory - beside) // sizes.state))
        if memory == 0:
            return None
    if disk <= 0:
        return None if place == "both" else replace(scheme, disk_slots=max(0, min(1, left)))
    write, read = (_not_hidden(scheme, sizes, rates, rate) / rates.step for rate in (rates.put, rates.get))
    # slots that somebody asked for are used; others where they are worth their time
    costs = (0, 0) if options.disk_slots is not None else (round(100 * write), round(100 * read))
    return replace(scheme, memory_slots=memory, disk_slots=disk, disk_costs=costs)


def _not_hidden(scheme: Scheme, sizes: Sizes, rates: Rates, rate: float) -> float:
    """Return the seconds of a state on its way at `rate` that are not hidden behind the steps of a block."""
    return max(0.0, sizes.state / rate - scheme.block * scheme.image_step * rates.step)


def _revolve_steps(scheme: Scheme) -> float:
    """Return the steps of a schedule with its disk costs, in time steps: what the search compares."""
    within = scheme.samples + 1 - scheme.blocks
    if scheme.disk_slots:
        way = best_way(scheme.blocks, scheme.slots)
        return way_cost(scheme.blocks, scheme.slots, way) / 100 + within * scheme.image_step
    steps = forward_steps(scheme.blocks, scheme.memory_slots + 1) * scheme.block
    return float((steps + within) * scheme.image_step)


def _costed(name: str, scheme: Scheme, sizes: Sizes, rates: Rates) -> Candidate:
    """Return a candidate with its counts, bytes and seconds."""
    counts = counts_of(scheme)
    copied = (counts.states_stored_memory + counts.states_loaded_memory) * sizes.state
    source, receivers = counts.source_steps * rates.step, counts.receiver_steps * rates.step
    seconds = source + receivers + copied / rates.copy
    # states are another matter: their costs go with the schedule
    streams = replace(counts, states_stored_disk=0, states_loaded_disk=0)
    put, get = disk_traffic(scheme, streams, sizes)
    seconds += max(0.0, put / rates.put - source) + max(0.0, get / rates.get - receivers)
    write, read = (_not_hidden(scheme, sizes, rates, rate) for rate in (rates.put, rates.get))
    seconds += counts.states_stored_disk * write + counts.states_loaded_disk * read
    return Candidate(name, scheme, counts, footprint(scheme, sizes), seconds)
