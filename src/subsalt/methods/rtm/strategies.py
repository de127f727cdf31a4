"""What every shot of a run does to have its source wavefield again, where it keeps what, and what that came to.

A plan says beforehand how many steps a shot takes and what it moves to and from disk; here both are put side by side.
Damage on disk costs more: it is counted apart, and the image stays as it is.

The strategy of every shot of a survey on this process alone, without a run directory: for arrays in and out.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from subsalt import kernels
from subsalt.acquisition.survey import Shot
from subsalt.checkpoint.choice.choose import Choice, choose
from subsalt.checkpoint.choice.footprint import Limits, Rates, disk_traffic, footprint, name_of, scheme_facts
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import Counts, counts_of
from subsalt.checkpoint.storage.scratch import Scratch, scratch_folders
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.errors import ConfigError, Finding, MemoryPlanError
from subsalt.host import available_memory
from subsalt.io.event_log import done_events
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.conditions import condition_of
from subsalt.methods.rtm.grouping import Decision
from subsalt.methods.rtm.memory import check_memory, largest_shots, shot_memory, sizes_of
from subsalt.methods.rtm.restart import scheme_left
from subsalt.methods.rtm.rtm import ShotImage
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm

#: counts that plan and run must agree on, in the order in which events keep them
NAMES = tuple(f.name for f in fields(Counts))

#: of a store, each of the rank with most
SECONDS = ("stall_seconds", "put_seconds", "get_seconds")

#: threads that write and read, where nobody says how many
THREADS = 2


@dataclass
class Strategies:
    """The strategies of the shots on the ranks of one group.

    Parameters
    ----------
    setup : MigrationSetup
        What all shots share.
    decision : Decision
        The plan of the run.
    group : Comm
        The ranks that share a shot.
    scratch : Scratch
        Of this rank.
    """

    setup: MigrationSetup
    decision: Decision
    group: Comm
    scratch: Scratch
    #: of the shot before
    _last: Scheme | None = None
    #: of shots that go on from a restart point of another scheme than would be chosen now
    _left: dict[int, Choice] = field(default_factory=dict)

    @classmethod
    def of_run(
        cls,
        setup: MigrationSetup,
        decision: Decision,
        group: Comm,
        options: CheckpointOptions,
        run_dir: Path,
        run_id: str,
    ) -> Strategies:
        """Return the strategies of a run with its scratch on this rank."""
        folders = scratch_folders(run_dir, run_id, [Path(d) for d in options.directories])
        scratch = Scratch(
            run_id,
            folders,
            options.threads or THREADS,
            options.direct,
            options.compression,
            options.tolerance,
            group.rank,
            group.size,
        )
        return cls(setup, decision, group, scratch)

    def __enter__(self) -> Strategies:
        return self

    def __exit__(self, *error: object) -> None:
        self.scratch.close()

    def choice(self, shot: Shot) -> Choice:
        """Return what a shot does; the same on all ranks of the group."""
        if shot.id in self._left:
            return self._left[shot.id]
        found = self.decision.choice_of(shot, self.group.size)
        assert found is not None
        return found

    def of(self, shot: Shot) -> dict[str, Any]:
        """Return what `migrate_shot` is told of it. Collective over the group."""
        self._go_on(shot)
        scheme = self.choice(shot).scheme
        if scheme != self._last:
            # buffers that the shot before needed, and this one may not, are not in its plan
            self.scratch.give_back()
        self._last = scheme
        return {"scheme": scheme, "scratch": self.scratch, "halved": self.scratch.compression == "f16"}

    def _go_on(self, shot: Shot) -> None:
        """Keep to the scheme of a restart point that lies there, as far as it fits: free memory and rates change."""
        chosen = self.choice(shot)
        now = chosen.scheme
        if not now.restart_every:
            return
        left = scheme_left(self.scratch, shot.id)
        ranks = self.group.allgather(None if left is None else scheme_facts(left))
        if left is None or any(r != ranks[0] for r in ranks) or left == now:
            return
        same = ("steps", "image_step", "restart_every", "keep")
        if any(getattr(left, n) != getattr(now, n) for n in same) or left.strategy == "boundary":
            return
        assert self.decision.needs is not None
        sizes = [self.decision.needs.sizes(shot, self.group.size, r) for r in range(self.group.size)]
        need = max((footprint(left, s) for s in sizes), key=lambda f: f.memory)
        if need.memory > chosen.limits.memory:
            return
        best = replace(chosen.best, name=name_of(left), scheme=left, counts=counts_of(left), need=need)
        why = f"a restart point of it is there, else {chosen.best.name}"
        self._left[shot.id] = replace(chosen, best=best, why=why)

    def finished(self, shot: Shot, part: ShotImage) -> dict[str, Any]:
        """Remove what a shot, whose image is safe, left behind; return what it did. Collective over the group.

        Returns
        -------
        dict
            ``planned`` and ``counted``: counts in the order of `NAMES`, alike on all ranks. Bytes, planned and counted,
            puts, gets and damage are summed over the ranks of the group, the rest is that of the rank with most.
        """
        self.scratch.remove(shot.id)
        choice, needs = self.choice(shot), self.decision.needs
        assert needs is not None
        own = needs.sizes(shot, self.group.size, self.group.rank)
        sums = sum(a.nbytes for a in part.sums.values())
        written, read = disk_traffic(choice.scheme, choice.counts, own, sums)
        # shells that stay in memory are moved by a store, too, but to no file
        shells_in_memory = choice.scheme.strategy == "boundary" and choice.scheme.snapshots_on == "memory"
        stores = StoreCounts() if shells_in_memory else part.storage
        mine = {
            "counted": [getattr(part.counts, n) for n in NAMES],
            "bytes_written": [written, stores.bytes_written],
            "bytes_read": [read, stores.bytes_read],
            **{n: getattr(stores, n) for n in ("puts", "gets", "damaged")},
            "recomputed": part.recomputed,
            "resumed": part.resumed,
            **{n: getattr(stores, n) for n in SECONDS},
        }
        ranks, planned = self.group.allgather(mine), [getattr(choice.counts, n) for n in NAMES]
        # all ranks do the same steps: one that does not is what a reader must see
        counted = next((r["counted"] for r in ranks if r["counted"] != planned), planned)
        return {
            "strategy": choice.best.name,
            "scheme": scheme_facts(choice.scheme),
            "planned": planned,
            "counted": counted,
            **{n: [sum(r[n][i] for r in ranks) for i in (0, 1)] for n in ("bytes_written", "bytes_read")},
            **{n: sum(r[n] for r in ranks) for n in ("puts", "gets", "damaged")},
            **{n: max(r[n] for r in ranks) for n in ("recomputed", "resumed", *SECONDS)},
        }


def records_of_shots(folder: Path, done: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return what finished shots said of their strategy, by id, from the events of the run, whoever did them."""
    events = done_events(folder, done)
    return {
        shot: event["checkpoint"] for shot, event in events.items() if _is_record(event.get("checkpoint"))
    }


def _is_record(told: Any) -> bool:
    """Return whether this is what a shot says of its strategy: what stands in a log may be damaged."""
    if not isinstance(told, dict):
        return False
    numbers = [told.get(name) for name in ("puts", "gets", "damaged", "recomputed", "resumed", *SECONDS)]
    for name, count in (
        ("bytes_written", 2),
        ("bytes_read", 2),
        ("planned", len(NAMES)),
        ("counted", len(NAMES)),
    ):
        part = told.get(name)
        if not isinstance(part, list) or len(part) != count:
            return False
        numbers += part
    return all(isinstance(n, int | float) for n in numbers)


def facts_of(decision: Decision, told: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Return what run.json says of checkpoints: the choice, every shot, sums, and whether plan and run agree."""
    choice = decision.choice
    sums = {
        name: sum(t[name] for t in told.values())
        for name in ("puts", "gets", "damaged", "recomputed", "resumed", *SECONDS)
    }
    sums |= {name: sum(t[name][1] for t in told.values()) for name in ("bytes_written", "bytes_read")}
    counted = {n: sum(t["counted"][i] for t in told.values()) for i, n in enumerate(NAMES)}
    return {
        **({} if choice is None else choice.to_dict()),
        "budget_bytes": decision.budget,
        "shots": {
            str(shot): {
                **{k: v for k, v in t.items() if k not in ("planned", "counted")},
                "planned": dict(zip(NAMES, t["planned"], strict=True)),
                "counted": dict(zip(NAMES, t["counted"], strict=True)),
            }
            for shot, t in told.items()
        },
        "sums": sums | counted,
        "differing": differing(told),
    }


def differing(told: dict[int, dict[str, Any]]) -> list[int]:
    """Return the shots whose counters are not those of the plan; damage and restarts have counters of their own."""
    return [
        shot
        for shot, t in told.items()
        if not t["damaged"]
        and (
            t["planned"] != t["counted"]
            or (not t["resumed"] and any(p != c for p, c in (t["bytes_written"], t["bytes_read"])))
        )
    ]


def findings_of(told: dict[int, dict[str, Any]]) -> list[Finding]:
    """Return a warning when a shot did not do what was planned."""
    wrong = differing(told)
    if not wrong:
        return []
    some = ", ".join(map(str, wrong[:5])) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
    return [
        Finding(
            "W664",
            "warning",
            f"shots {some}: steps, states or bytes are not those of the plan; the image is not concerned",
            "report it with run.json",
            {"shots": wrong},
        )
    ]


#: points per second, and bytes per second of a disk, that strategies are ranked with: a slow disk and a slow core
POINTS, DISK = 3e8, 1.5e8

#: the same of a GPU, with bytes per second of a copy in its memory and over its link
GPU_POINTS, GPU_COPY, LINK = 2e10, 4e11, 2e10

#: part of the free memory of a GPU that is left alone
MARGIN = 0.02


def on_device(setup: MigrationSetup) -> bool:
    """Return whether wavefields are in the memory of a GPU."""
    return kernels.get(setup.propagation.device).OWN_MEMORY


def device_room(setup: MigrationSetup, shots: list[Shot]) -> int:
    """Return the bytes of the GPU of this process that are left beside the largest of some shots."""
    from subsalt.kernels.cuda import library

    sums = len(condition_of(setup.imaging.condition).accumulators)
    needs = [RankArrays.of(setup, shot).on_gpu(setup.axis.nt, sums) for shot in shots]
    bare = max(sum(need.values()) for need in needs)
    return int((1 - MARGIN) * library.free_memory()[0]) - bare


@dataclass
class ArrayStrategies:
    """How each shot is done.

    Parameters
    ----------
    setup : MigrationSetup
        What all shots share.
    options : CheckpointOptions
        What is asked for.
    limits : Limits
        Bytes there are for snapshots and states.
    scratch : Scratch or None
        Where files go.
    """

    setup: MigrationSetup
    options: CheckpointOptions
    limits: Limits
    scratch: Scratch | None

    @classmethod
    def of(cls, setup: MigrationSetup, shots: list[Shot], options: CheckpointOptions) -> ArrayStrategies:
        """Return the ways of a survey.

        Raises
        ------
        MemoryPlanError
            When the largest shot fits by none.
        ConfigError
            When something is to be kept: that needs a run directory.
        """
        if options.keep != "none" or options.restart_every:
            raise ConfigError(
                "keep and restart_every are for runs: nothing stays of a migration of arrays",
                "leave them out, or migrate a job",
                code="E664",
            )
        have, several = available_memory(), len(shots) > 1
        worst = largest_shots(setup, shots)
        there = on_device(setup)
        arrays = (RankArrays.of(setup, s) for s in worst)
        bare = (shot_memory(setup, a, several=several, kept={}, on_device=there) for a in arrays)
        room = have - max(sum(need.values()) for need in bare)
        folders = [Path(d) for d in options.directories]
        disk = min((shutil.disk_usage(d).free for d in folders), default=0)
        scratch = (
            Scratch(uuid.uuid4().hex, folders, options.threads or 2, options.direct, options.compression)
            if folders
            else None
        )
        if scratch is not None:
            scratch.tolerance = options.tolerance
        device = device_room(setup, worst) if there else 0
        ways = cls(setup, options, Limits(room, disk, device), scratch)
        choice = ways.choice(worst[0])
        if not choice.fits:
            if options == CheckpointOptions() and not there:
                check_memory(setup, shots, have)
            raise MemoryPlanError(
                f"{choice.best.name} {choice.best.problem}",
                "name folders in CheckpointOptions(directories=...), or reduce aperture",
                code="E988" if choice.lacks_device else "E610",
            )
        return ways

    def choice(self, shot: Shot) -> Choice:
        """Return what a shot does."""
        arrays = RankArrays.of(self.setup, shot)
        sizes = sizes_of(self.setup, [arrays], on_device=on_device(self.setup), halved=self.options.halved)
        domain = arrays.domain
        rates = Rates(domain.held.size / POINTS, DISK, DISK)
        if sizes.on_device:
            rates = replace(rates, step=domain.held.size / GPU_POINTS, copy=GPU_COPY, down=LINK, up=LINK)
        return choose(self.options, sizes, self.limits, rates)

    def of_shot(self, shot: Shot) -> dict[str, Any]:
        """Return the arguments of `migrate_shot` for a shot."""
        return {
            "scheme": self.choice(shot).scheme,
            "scratch": self.scratch,
            "halved": self.options.halved,
        }

    def over(self, shot: Shot) -> None:
        """Remove what a shot left on disk."""
        if self.scratch is not None:
            self.scratch.remove(shot.id)
