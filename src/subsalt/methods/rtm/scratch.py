"""Where snapshots and states would lie, how much room there is, and how fast that is; for `NodeInputs`."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.storage.store import file_bytes
from subsalt.machine.machine_file import Machine
from subsalt.machine.storage import StorageRates, rates_of
from subsalt.methods.rtm.arrays import FLOAT
from subsalt.methods.rtm.disk import disk_of, outputs_of, partial_bytes
from subsalt.methods.rtm.grouping import Grouping
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.node_inputs import ASSUMED_DISK, NodeInputs
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.speed import rates_for
from subsalt.plan.disk import LATE, Disk, existing
from subsalt.plan.rates import assumed
from subsalt.plan.world import World

if TYPE_CHECKING:
    pass


#: part of the free room that scratch fills: other programs write, too
SHARE = 0.9


def checkpointing_of(
    options: CheckpointOptions,
    needs: Needs,
    world: World,
    run_dir: Path,
    formats: Sequence[str] = (),
    machine: Machine | None = None,
) -> NodeInputs:
    """Return what decides between strategies for a run into `run_dir` on these ranks.

    Parameters
    ----------
    options : CheckpointOptions
        `[checkpoint]`.
    needs : Needs
        Setup and survey.
    world : World
        Ranks.
    run_dir : Path
        Need not exist.
    formats : sequence of str
        Formats of the image, which goes to the disk of the run directory.
    machine : Machine, optional
        With what was measured.
    """
    threads = world.threads * world.ranks_per_node
    measured = rates_for(needs, world, machine or "")
    folders = [Path(d) for d in options.directories] or [run_dir]
    put, get = _speed(folders, options, machine)
    return NodeInputs(
        options,
        assumed(threads) if isinstance(measured, str) else measured,
        put,
        get,
        max(0, int(room_of(folders, run_dir, needs, options, formats)) // world.ranks),
        world.ranks_per_node,
        tuple(map(str, folders)),
        world.gpu,
    )


def _speed(
    folders: Sequence[Path], options: CheckpointOptions, machine: Machine | None
) -> tuple[float, float]:
    """Return bytes per second to and from folders that are filled in turn: the slowest file system rules."""
    if machine is None:
        return ASSUMED_DISK, ASSUMED_DISK
    rates: dict[int, StorageRates] = {}
    for folder in folders:
        rates_here = rates_of(machine, folder, direct=options.direct, threads=options.threads)
        rates_here = rates_here or rates_of(machine, folder, direct=options.direct)
        if rates_here is None:
            return ASSUMED_DISK, ASSUMED_DISK
        rates.setdefault(existing(folder).stat().st_dev, rates_here)
    shares = _shares(folders)
    return (
        min(r.put / shares[device] for device, r in rates.items()),
        min(r.get / shares[device] for device, r in rates.items()),
    )


def _shares(folders: Sequence[Path]) -> dict[int, float]:
    """Return the part of all records that goes to each file system, by its device number."""
    count = Counter(existing(f).stat().st_dev for f in folders)
    return {device: n / len(folders) for device, n in count.items()}


def room_of(
    folders: Sequence[Path],
    run_dir: Path,
    needs: Needs,
    options: CheckpointOptions,
    formats: Sequence[str] = (),
) -> float:
    """Return the bytes of scratch that fit into folders filled in turn, beside what else the run writes there."""
    wavefield_bytes = wavefield_bytes_left(needs, options, run_dir)
    outputs = outputs_of(needs, run_dir, formats)
    home = existing(run_dir).stat().st_dev
    room = float("inf")
    for device, share in _shares(folders).items():
        folder = next(f for f in folders if existing(f).stat().st_dev == device)
        free = (
            shutil.disk_usage(existing(folder)).free
            - share * wavefield_bytes
            - (outputs if device == home else 0)
        )
        room = min(room, SHARE * free / share)
    return room


def disks_of(needs: Needs, decision: Grouping, run_dir: Path, formats: Sequence[str] = ()) -> list[Disk]:
    """Return what a run writes by file system: that of its directory first, then those of its scratch.

    Notes
    -----
    Scratch is that of the shots that are done at the same time; wavefields that are kept stay for all shots.
    """
    first = disk_of(needs, run_dir, formats)
    how, choice = needs.checkpointing, decision.choice
    if how is None or choice is None:
        return [first]
    folders = [Path(w) for w in how.where] or [run_dir]
    ranks = (decision.world.ranks - decision.idle) * decision.at_once
    parts = {
        "snapshots and states": ranks * choice.best.need.disk,
        "kept wavefields": wavefield_bytes_left(needs, how.options, run_dir, decision.group_size),
    }
    # the partial images of the last shots come when their snapshots have gone; restart points wait for them
    unborn = 0
    if not how.options.restart_every and isinstance(needs.setup, MigrationSetup):
        unborn = partial_bytes(needs, decision.groups)
    home, disks = existing(run_dir).stat().st_dev, [first]
    for device, share in _shares(folders).items():
        own = {name: round(share * size) for name, size in parts.items() if size}
        if device == home:
            passing = own.get("snapshots and states", 0)
            late = sum(first.parts[name] for name in LATE)
            disks[0] = replace(first, parts=first.parts | own, passing=passing, late=late + unborn)
        elif own:
            where = existing(next(f for f in folders if existing(f).stat().st_dev == device))
            disks.append(Disk(own, shutil.disk_usage(where).free, where))
    return disks


def wavefield_bytes(needs: Needs, options: CheckpointOptions, ranks: int = 1) -> dict[int, int]:
    """Return the bytes of the files of wavefields that stay after each shot, by its id, when `ranks` share a shot."""
    setup = needs.setup
    fields = {"none": 0, "source": 1, "both": 2}[options.keep]
    if not fields or not isinstance(setup, MigrationSetup):
        return {}
    samples = len(setup.imaged_samples)
    known: dict[object, int] = {}
    out = {}
    for shot in needs.shots:
        # shots whose windows are alike are cut alike
        domain = needs.domain(shot, (0, ranks))
        key = domain.grid.shape3, domain.pad
        if key not in known:
            parts = [needs.arrays(shot, (r, ranks)) for r in range(ranks)]
            records = [p.snapshot(halved=options.halved) // FLOAT for p in parts]
            known[key] = fields * sum(file_bytes(n, samples) for n in records if n)
        out[shot.id] = known[key]
    return out


def wavefield_bytes_left(needs: Needs, options: CheckpointOptions, run_dir: Path, ranks: int = 1) -> int:
    """Return the bytes of wavefields that a run has still to keep: those in its directory are there already."""
    there = (
        0 if options.directories else sum(f.stat().st_size for f in run_dir.glob("snapshots/shot_*/*.snap"))
    )
    return max(0, sum(wavefield_bytes(needs, options, ranks).values()) - there)
