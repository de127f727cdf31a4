"""Ways to do a shot that a choice is made between: strategy and place, best slots and blocks, bytes and seconds.

Pure arithmetic on sizes and inputs::

    seconds = (source steps + receiver steps) step + copies state / copy + max(0, bytes / rate - what it hides behind)

On a GPU the samples that lie on the host go over the link while steps are done; states that lie there stop them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from subsalt.checkpoint.choice.footprint import Footprint, Sizes, disk_traffic, footprint, link_traffic
from subsalt.checkpoint.choice.inputs import ChoiceInputs
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.schedule.scheme import SamplesPlace, Scheme
from subsalt.checkpoint.schedule.tasks import Counts, counts_of
from subsalt.checkpoint.schedule.two_level import best_way, forward_steps, way_cost

#: bytes of samples that go to disk in one piece: enough for the rate of a disk, little beside a wavefield
PIECE = 32 << 20

#: block lengths that are tried: all of them up to here, then some
ALL_BLOCKS = 64

#: blocks above which states on disk are not scheduled: each costs more than it saves long before
MOST_BLOCKS = 2048


@dataclass(frozen=True)
class Candidate:
    """One way to do a shot."""

    #: strategy and place
    name: str
    #: None where there is none at all
    scheme: Scheme | None
    counts: Counts | None
    #: bytes of memory and disk
    need: Footprint
    #: predicted, of time steps and of snapshots and states that do not hide behind them
    seconds: float
    #: why it is not possible; empty when it is
    problem: str = ""
    #: bytes of snapshots and states that go from a GPU to the host, and back
    link: tuple[int, int] = (0, 0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "name": self.name,
            "possible": not self.problem,
            "problem": self.problem,
            "seconds": self.seconds if self.scheme else None,
            "memory_bytes": self.need.memory,
            "disk_bytes": self.need.disk,
            "device_bytes": self.need.device,
            "link_bytes": list(self.link),
            "scheme": self.scheme.to_dict() if self.scheme else None,
            "counts": vars(self.counts).copy() if self.counts else None,
        }


def name_of(scheme: Scheme) -> str:
    """Return strategy and place of a scheme, as candidates are called."""
    place: str = scheme.snapshots_on
    if scheme.strategy == "revolve":
        moves = scheme.moves
        if moves.disk:
            place = "both" if moves.memory else "disk"
        elif place == "device" and scheme.device_slots < scheme.memory_slots:
            place = "memory"
    return f"{scheme.strategy}, {place}"


def not_hidden(scheme: Scheme, sizes: Sizes, inputs: ChoiceInputs, rate: float) -> float:
    """Return the seconds of a state on its way at `rate` that are not hidden behind the steps of a block."""
    return max(0.0, sizes.state / rate - scheme.block * scheme.image_step * inputs.step)


def costed(name: str, scheme: Scheme, sizes: Sizes, inputs: ChoiceInputs) -> Candidate:
    """Return a candidate with its counts, bytes and seconds."""
    counts = counts_of(scheme)
    source, receivers = counts.source_steps * inputs.step, counts.receiver_steps * inputs.step
    # states are another matter: their costs go with the schedule
    streams = replace(counts, states_stored_disk=0, states_loaded_disk=0)
    put, get = (
        b / r for b, r in zip(disk_traffic(scheme, streams, sizes), (inputs.put, inputs.get), strict=True)
    )
    link = link_traffic(scheme, counts, sizes)
    put, get = max(put, link.samples_down / inputs.down), max(get, link.samples_up / inputs.up)
    seconds = source + receivers + max(0.0, put - source) + max(0.0, get - receivers)
    copies = counts.states_stored_memory + counts.states_loaded_memory - link.host_states
    seconds += copies * sizes.state / inputs.copy
    # nothing is computed meanwhile
    seconds += link.states_down / inputs.down + link.states_up / inputs.up
    write, read = (not_hidden(scheme, sizes, inputs, rate) for rate in (inputs.put, inputs.get))
    seconds += counts.states_stored_disk * write + counts.states_loaded_disk * read
    need = footprint(scheme, sizes)
    seconds += sum(size for name, size in need.arrays.items() if name.startswith("pinned")) / inputs.pin
    return Candidate(name, scheme, counts, need, seconds, link=(link.down, link.up))


def candidates(sizes: Sizes, inputs: ChoiceInputs) -> Iterator[Candidate]:
    """Yield all candidates, those with the least machinery first."""
    options = inputs.options
    plain = Scheme(
        "store", sizes.steps, sizes.image_step, restart_every=options.restart_every, keep=options.keep
    )
    chunk = chunk_of(plain, sizes, inputs)
    if options.keep != "none" or options.restart_every:
        plain = replace(plain, chunk=chunk)
    places: tuple[SamplesPlace, ...] = ("device", "memory", "disk") if sizes.on_device else ("memory", "disk")
    for place in places:
        store = plain if place == "memory" else replace(plain, snapshots_on=place)
        yield costed(
            f"store, {place}", replace(store, chunk=chunk) if place == "disk" else store, sizes, inputs
        )
    if plain.samples < 1:
        return
    for where in ("device", "memory", "both", "disk") if sizes.on_device else ("memory", "both", "disk"):
        yield _best_revolve(where, plain, sizes, inputs)
    if not sizes.shell or options.keep != "none" or options.restart_every:
        nothing = Footprint({}, 0)
        why = sizes.no_boundary if not sizes.shell else "neither keeps wavefields nor writes restart points"
        yield Candidate(f"boundary, {places[0]}", None, None, nothing, 0.0, why)
        return
    # restart points and kept wavefields are for wavefields that are stored or computed again
    shells = Scheme("boundary", sizes.steps, sizes.image_step)
    for place in places:
        yield costed(f"boundary, {place}", replace(shells, snapshots_on=place), sizes, inputs)


def chunk_of(scheme: Scheme, sizes: Sizes, inputs: ChoiceInputs) -> int:
    """Return the samples that go to disk in one piece: `PIECE` bytes, or as many as half the memory holds twice."""
    room = max(1, min(PIECE, inputs.memory // 4) // max(1, sizes.snapshot))
    return max(1, min(scheme.samples, room))


def _best_revolve(place: str, plain: Scheme, sizes: Sizes, inputs: ChoiceInputs) -> Candidate:
    """Return the block length and slots of least cost that fit, or the nearest to it."""
    name = f"revolve, {place}"
    if sizes.on_device:
        plain = replace(plain, snapshots_on="device")
    best: tuple[tuple[float, ...], Scheme] | None = None
    least: tuple[tuple[float, ...], Scheme] | None = None
    for block in _blocks(inputs.options, plain, place):
        bare = replace(plain, strategy="revolve", block=block)
        slots = with_device_slots if sizes.on_device else with_slots
        scheme = slots(bare, place, sizes, inputs)
        if scheme is None:
            continue
        need = footprint(scheme, sizes)
        over = float(need.disk > inputs.disk), float(max(0, need.device - inputs.device))
        small = (*over, float(need.memory), float(block))
        if least is None or small < least[0]:
            least = small, scheme
        if need.memory <= inputs.memory and not any(over):
            key = (_revolve_steps(scheme, sizes, inputs), float(need.memory + need.device), float(block))
            if best is None or key < best[0]:
                best = key, scheme
    chosen = best or least
    if chosen is None:
        return Candidate(name, None, None, Footprint({}, 0), 0.0, "no states would be left for it")
    return costed(name, chosen[1], sizes, inputs)


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
        lengths = {*range(1, ALL_BLOCKS + 1), *some, most}
    else:
        least = -(-(plain.samples + 1) // MOST_BLOCKS)
        lengths = {max(2**i, least) for i in range(16)} | {3, 6, 12, 24}
        lengths = {b for b in lengths if b >= least}
    return sorted(b for b in lengths if b <= most) or [most]


def _revolve_steps(scheme: Scheme, sizes: Sizes, inputs: ChoiceInputs) -> float:
    """Return the steps of a schedule with what its states cost, in time steps: what the search compares."""
    if sizes.on_device and scheme.memory_slots > scheme.device_slots:
        return costed("", scheme, sizes, inputs).seconds / inputs.step
    within = scheme.samples + 1 - scheme.blocks
    if scheme.disk_slots:
        way = best_way(scheme.blocks, scheme.slots)
        return way_cost(scheme.blocks, scheme.slots, way) / 100 + within * scheme.image_step
    steps = forward_steps(scheme.blocks, scheme.memory_slots + 1) * scheme.block
    return float((steps + within) * scheme.image_step)


def with_slots(scheme: Scheme, place: str, sizes: Sizes, inputs: ChoiceInputs) -> Scheme | None:
    """Return a scheme with the slots that fit; None where this place has no use for any."""
    options, useful = inputs.options, max(0, scheme.blocks - 1)
    memory = disk = 0
    if place != "disk":
        if options.slots is not None:
            memory = min(options.slots, useful)
        else:
            beside = footprint(scheme, sizes).memory
            memory = max(0, min(useful, (inputs.memory - beside) // sizes.state_memory))
    if place == "memory":
        return replace(scheme, memory_slots=memory)
    left = useful - memory
    if place == "both" and left <= 0:
        return _if_both_is_meant(replace(scheme, memory_slots=memory), options)
    if place == "both" and memory == 0 and options.place != "both":
        return None
    disk = (
        min(left, inputs.disk // sizes.state_file)
        if options.disk_slots is None
        else min(options.disk_slots, left)
    )
    if options.slots is None and place == "both" and disk:
        # the buffers of the file store take the place of a slot or two
        beside = footprint(replace(scheme, disk_slots=disk), sizes).memory
        memory = max(0, min(memory, (inputs.memory - beside) // sizes.state_memory))
        if memory == 0 and options.place != "both":
            return None
    if disk <= 0:
        if place == "both":
            return _if_both_is_meant(replace(scheme, memory_slots=memory), options)
        return _on_disk(replace(scheme, disk_slots=max(0, min(1, left))), left > 0)
    write, read = (not_hidden(scheme, sizes, inputs, rate) / inputs.step for rate in (inputs.put, inputs.get))
    # slots that the user asked for are used; others where they are worth their time
    costs = (0, 0) if options.disk_slots is not None else (round(100 * write), round(100 * read))
    spread = replace(scheme, memory_slots=memory, disk_slots=disk, disk_costs=costs)
    if place == "both" and not spread.moves.disk:
        return _if_both_is_meant(replace(scheme, memory_slots=memory), options)
    return spread if place == "both" else _on_disk(spread, options.place != "disk")


def _on_disk(scheme: Scheme, must: bool) -> Scheme | None:
    """Return a scheme with states on disk; None where it must have some and its schedule has no use for any."""
    return None if must and scheme.blocks > 1 and not scheme.moves.disk else scheme


def _if_both_is_meant(scheme: Scheme, options: CheckpointOptions) -> Scheme | None:
    """Return what ``both`` is where no state is worth its way to disk, or all fit into memory: for who asks for it."""
    return scheme if options.place == "both" else None


def with_device_slots(scheme: Scheme, place: str, sizes: Sizes, inputs: ChoiceInputs) -> Scheme | None:
    """Return a scheme on a GPU with the slots that fit: on the device first, then in pinned memory, then on disk.

    None where a place has no use for any.
    """
    options, useful = inputs.options, max(0, scheme.blocks - 1)
    need = footprint(scheme, sizes)
    there = max(0, inputs.device - need.device) // sizes.state
    on_host = max(0, inputs.memory - need.memory) // sizes.state
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
        disk = min(left, inputs.disk // sizes.state_file)
    if place == "both" and (device + host == 0 or disk <= 0):
        return _if_both_is_meant(replace(scheme, memory_slots=device + host, device_slots=device), options)
    if disk <= 0:
        return replace(scheme, disk_slots=max(0, min(1, left)))
    if options.slots is None and host:
        # the buffers of the file store take the place of a slot or two
        need = footprint(replace(scheme, disk_slots=disk), sizes)
        host = min(host, max(0, inputs.memory - need.memory) // sizes.state)
    costs = (0, 0)
    if options.disk_slots is None:
        write, read = (
            (not_hidden(scheme, sizes, inputs, rate) + sizes.state / link) / inputs.step
            for rate, link in ((inputs.put, inputs.down), (inputs.get, inputs.up))
        )
        costs = round(100 * write), round(100 * read)
    plain = replace(scheme, memory_slots=device + host, device_slots=device)
    spread = replace(plain, disk_slots=disk, disk_costs=costs)
    return _if_both_is_meant(plain, options) if place == "both" and not spread.moves.disk else spread
