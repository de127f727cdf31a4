"""How each shot of a run recovers its source wavefield: its scheme on the ranks of a group, and its scratch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from subsalt.acquisition.survey import Shot
from subsalt.checkpoint.choice.candidates import name_of
from subsalt.checkpoint.choice.choose import Choice
from subsalt.checkpoint.choice.footprint import disk_traffic, footprint
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import counts_of
from subsalt.checkpoint.storage.scratch import Scratch, scratch_folders
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.methods.rtm.engine import ShotImage
from subsalt.methods.rtm.grouping import Grouping
from subsalt.methods.rtm.restart import scheme_left
from subsalt.methods.rtm.scheme_records import NAMES, SECONDS
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm

#: threads that write and read, where their number is not given
THREADS = 2


@dataclass
class RunSchemes:
    """Schemes of the shots of a run on the ranks of one group.

    Parameters
    ----------
    setup : MigrationSetup
        Setup that all shots share.
    decision : Grouping
        The plan of the run.
    group : Comm
        The ranks that share a shot.
    scratch : Scratch
        Scratch files of this rank.
    """

    setup: MigrationSetup
    decision: Grouping
    group: Comm
    scratch: Scratch
    #: scheme of the previous shot
    _last: Scheme | None = None
    #: choices for shots that resume from a restart point of another scheme than would be chosen now
    _left: dict[int, Choice] = field(default_factory=dict)

    @classmethod
    def of_run(
        cls,
        setup: MigrationSetup,
        decision: Grouping,
        group: Comm,
        options: CheckpointOptions,
        run_dir: Path,
        run_id: str,
    ) -> RunSchemes:
        """Return the schemes of a run, with its scratch on this rank."""
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

    def __enter__(self) -> RunSchemes:
        return self

    def __exit__(self, *error: object) -> None:
        self.scratch.close()

    def choice(self, shot: Shot) -> Choice:
        """Return what a shot does; the same on all ranks of the group."""
        if shot.id in self._left:
            return self._left[shot.id]
        choice = self.decision.choice_of(shot, self.group.size)
        assert choice is not None
        return choice

    def of(self, shot: Shot) -> dict[str, Any]:
        """Return the arguments of `migrate_shot` that depend on it. Collective over the group."""
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
        ranks = self.group.allgather(None if left is None else left.to_dict())
        if left is None or any(r != ranks[0] for r in ranks) or left == now:
            return
        same = ("steps", "image_step", "restart_every", "keep")
        if any(getattr(left, n) != getattr(now, n) for n in same) or left.strategy == "boundary":
            return
        assert self.decision.needs is not None
        sizes = [self.decision.needs.sizes(shot, self.group.size, r) for r in range(self.group.size)]
        need = max((footprint(left, s) for s in sizes), key=lambda f: f.memory)
        if need.memory > chosen.inputs.memory:
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
            "scheme": choice.scheme.to_dict(),
            "planned": planned,
            "counted": counted,
            **{n: [sum(r[n][i] for r in ranks) for i in (0, 1)] for n in ("bytes_written", "bytes_read")},
            **{n: sum(r[n] for r in ranks) for n in ("puts", "gets", "damaged")},
            **{n: max(r[n] for r in ranks) for n in ("recomputed", "resumed", *SECONDS)},
        }
