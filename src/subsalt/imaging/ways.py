"""The strategy of every shot of a survey on this process alone, without a run directory: for arrays in and out."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.checkpoint.choice import Choice, Limits, Rates, choose
from subsalt.checkpoint.footprint import Sizes
from subsalt.checkpoint.storage import Scratch
from subsalt.errors import ConfigError, MemoryPlanError
from subsalt.host import available_memory
from subsalt.imaging.memory import check_memory, domain_of, largest_shots, shot_memory
from subsalt.imaging.setup import MigrationSetup
from subsalt.imaging.sizes import level_bytes, shell_bytes, snapshot_bytes, state_bytes
from subsalt.options import CheckpointOptions
from subsalt.survey import Shot

#: points per second, and bytes per second of a disk, that strategies are ranked with: a slow disk and a slow core
POINTS, DISK = 3e8, 1.5e8


@dataclass
class Ways:
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
    def of(cls, setup: MigrationSetup, shots: list[Shot], options: CheckpointOptions) -> Ways:
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
        room = have - max(sum(shot_memory(setup, s, several=several, kept={}).values()) for s in worst)
        folders = [Path(d) for d in options.directories]
        disk = min((shutil.disk_usage(d).free for d in folders), default=0)
        scratch = (
            Scratch(uuid.uuid4().hex, folders, options.threads or 2, options.direct, options.compression)
            if folders
            else None
        )
        if scratch is not None:
            scratch.tolerance = options.tolerance
        ways = cls(setup, options, Limits(room, disk), scratch)
        choice = ways.choice(worst[0])
        if not choice.fits:
            if options == CheckpointOptions():
                check_memory(setup, shots, have)
            raise MemoryPlanError(
                f"{choice.best.name} {choice.best.problem}",
                "name folders in CheckpointOptions(directories=...), or reduce aperture",
                code="E610",
            )
        return ways

    def choice(self, shot: Shot) -> Choice:
        """Return what a shot does."""
        setup = self.setup
        sizes = Sizes(
            setup.axis.nt - 1,
            setup.image_step,
            snapshot_bytes(setup, shot),
            state_bytes(setup, shot),
            shell_bytes(setup, shot),
            level_bytes(setup, shot),
        )
        domain = domain_of(setup.model, setup.propagation, setup.window(shot), shot)
        return choose(self.options, sizes, self.limits, Rates(domain.held.size / POINTS, DISK, DISK))

    def of_shot(self, shot: Shot) -> dict[str, Any]:
        """Return what `migrate_shot` is told of a shot."""
        return {"scheme": self.choice(shot).scheme, "scratch": self.scratch}

    def over(self, shot: Shot) -> None:
        """Remove what a shot left on disk."""
        if self.scratch is not None:
            self.scratch.remove(shot.id)
