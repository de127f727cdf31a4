"""How many states a schedule of revolve keeps, and where, within what there is."""

from __future__ import annotations

from dataclasses import replace

from subsalt.checkpoint.costs import Limits, Rates, not_hidden
from subsalt.checkpoint.footprint import footprint
from subsalt.checkpoint.scheme import Scheme
from subsalt.checkpoint.sizes import Sizes
from subsalt.propagation.options import CheckpointOptions


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
