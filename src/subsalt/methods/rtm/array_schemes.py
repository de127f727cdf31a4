"""How each shot of a survey of arrays recovers its source wavefield on this process alone, without a run directory."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from subsalt import kernels
from subsalt.acquisition.survey import Shot
from subsalt.checkpoint.choice.choose import Choice, choose
from subsalt.checkpoint.choice.inputs import ChoiceInputs
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.errors import ConfigError, MemoryPlanError
from subsalt.host import available_memory
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.conditions import condition_of
from subsalt.methods.rtm.memory import check_memory, largest_shots, shot_memory, sizes_of
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.option_arguments import of_kind

#: points per second, and bytes per second of a disk, that schemes are ranked with: a slow disk and a slow core
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
    from subsalt.kernels import cuda_library

    sums = condition_of(setup.imaging.condition).per_point()
    needs = [RankArrays.of(setup, shot).on_gpu(setup.axis.nt, sums) for shot in shots]
    bare = max(sum(need.values()) for need in needs)
    return int((1 - MARGIN) * cuda_library.free_memory()[0]) - bare


@dataclass
class ArraySchemes:
    """How each shot of a survey recovers its source wavefield."""

    #: setup that all shots share
    setup: MigrationSetup
    #: inputs that the choices share; the seconds of a time step are those of a shot
    inputs: ChoiceInputs
    #: where files go
    scratch: Scratch | None

    @classmethod
    def of(cls, setup: MigrationSetup, shots: list[Shot], options: CheckpointOptions) -> ArraySchemes:
        """Return the schemes of a survey.

        Raises
        ------
        MemoryPlanError
            When the largest shot fits by none.
        ConfigError
            When something is to be kept: that needs a run directory.
        """
        of_kind("checkpoint", options, CheckpointOptions)
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
        bare = (shot_memory(setup, a, several=several, snapshot_arrays={}, on_device=there) for a in arrays)
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
        step = 0.0  # of no shot yet
        inputs = ChoiceInputs(options, room, disk, step, DISK, DISK, device)
        if there:
            inputs = replace(inputs, copy=GPU_COPY, down=LINK, up=LINK)
        schemes = cls(setup, inputs, scratch)
        choice = schemes.choice(worst[0])
        if not choice.fits:
            if options == CheckpointOptions() and not there:
                check_memory(setup, shots, have)
            raise MemoryPlanError(
                f"{choice.best.name} {choice.best.problem}",
                "name folders in CheckpointOptions(directories=...), or reduce aperture",
                code="E988" if choice.lacks_device else "E610",
            )
        return schemes

    def choice(self, shot: Shot) -> Choice:
        """Return what a shot does."""
        arrays = RankArrays.of(self.setup, shot)
        there, halved = on_device(self.setup), self.inputs.options.halved
        step = arrays.domain.held.size / (GPU_POINTS if there else POINTS)
        sizes = sizes_of(self.setup, [arrays], on_device=there, halved=halved)
        return choose(sizes, replace(self.inputs, step=step))

    def of_shot(self, shot: Shot) -> dict[str, Any]:
        """Return the arguments of `migrate_shot` for a shot."""
        return {
            "scheme": self.choice(shot).scheme,
            "scratch": self.scratch,
            "halved": self.inputs.options.halved,
        }

    def over(self, shot: Shot) -> None:
        """Remove what a shot left on disk."""
        if self.scratch is not None:
            self.scratch.remove(shot.id)
