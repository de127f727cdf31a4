"""Demigration: the Born data of an image at the positions of a job, to SEG-Y, as `subsalt model` writes its shots.

The traces are those that least-squares migration models (`subsalt.methods.rtm.born`). The folder belongs to job, image
and scale together; shots that are already there are kept, so that a stopped run can be resumed. Ranks share a shot that
does not fit into the memory of one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.earth.grid import Grid
from subsalt.earth.model_like import ModelLike
from subsalt.earth.regrid import Regridder
from subsalt.errors import ConfigError, MemoryPlanError, ModelError, raise_on_errors
from subsalt.io.input_file import InputFile
from subsalt.io.volumes import volume
from subsalt.kernels import threads_to_use
from subsalt.methods.rtm.born import born_memory, scattered_traces
from subsalt.methods.rtm.linear_setup import linear_setup
from subsalt.methods.rtm.model_job import ModelResult, ModelRun, ShotsFolder
from subsalt.methods.rtm.modelling import ModelledTraces, ModellingSetup
from subsalt.parallel.comm import Comm
from subsalt.plan import World
from subsalt.plan.plan import counted
from subsalt.run.engine import Engine
from subsalt.run.method_run import RunRequest, RunState

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job

#: codes of an image that is no perturbation, and of a job whose waves have no Born operator
NO_PERTURBATION, NOT_WITH = "E837", "E838"
#: factors to s^2/m^2 by the units that a file may name
UNITS = {"": 1.0, "s2/m2": 1.0, "s^2/m^2": 1.0, "s2/km2": 1e-6, "s^2/km^2": 1e-6}
#: share of 1 / v^2 that the largest perturbation has with the scale that a cure names
SHARE = 0.1
#: files whose beginning says what wrote them, its bytes, and the words of reverse time migration there
HEADED, HEAD, MIGRATED = (".rsf", ".sgy", ".segy"), 3200, ", reverse time migration"
#: part of a cell by which places in a file may differ from those of the model: headers are rounded
NEAR = 1e-3


@dataclass(frozen=True)
class BornImage:
    """The image that is demigrated.

    Parameters
    ----------
    path : Path
        Volume of a perturbation of 1 / v^2, s^2/m^2, on the grid of the model.
    scale : float
        Factor on its values.
    """

    path: Path
    scale: float = 1.0

    def read(self, model: ModelLike) -> NDArray[np.float64]:
        """Return the perturbation, shape of the model, s^2/m^2.

        Raises
        ------
        ConfigError
            E837: the scale is zero or not finite.
        ModelError
            E837: the volume has another grid or unit, nothing in it, values that are not finite, or values that are no
            perturbation of the model; or it is the image of a migration, without a scale.
        """
        if not (np.isfinite(self.scale) and self.scale != 0):
            raise ConfigError(
                f"--born-scale {self.scale:g}", "use a number other than 0", code=NO_PERTURBATION
            )
        opened = volume.read(self.path)
        _refuse_grid(self.path, opened.grid, model.grid)
        dm = self.scale * in_si(self.path, opened.values, opened.unit)
        _refuse_values(self.path, dm)
        share = float(np.abs(dm).max()) * model.vp_min**2
        if share > 1.0:
            raise ModelError(
                f"{self.path}: its largest value, {np.abs(dm).max():.3g} s2/m2, is {share:.3g} times 1 / v^2 of the "
                f"slowest velocity, {model.vp_min:g} m/s: that is no perturbation of 1 / v^2",
                f"give a scale: --born-scale {self.scale * SHARE / share:.2g} makes it a tenth of that; the data are "
                "proportional to it",
                code=NO_PERTURBATION,
            )
        if self.scale == 1.0 and of_migration(self.path):
            raise ModelError(
                f"{self.path} is the image of a reverse time migration: near the adjoint of modelling, in a unit of "
                "its own, and no perturbation of 1 / v^2",
                f"give a scale: --born-scale {SHARE / share:.2g} makes its largest value a tenth of 1 / v^2; the data "
                "are proportional to it. Or give an image of least-squares migration",
                code=NO_PERTURBATION,
            )
        return dm


def of_migration(path: Path) -> bool:
    """Return whether the header of a file, RSF or SEG-Y, says that a reverse time migration wrote it."""
    if path.suffix.lower() not in HEADED:
        return False
    with InputFile(path, ModelError) as file:
        head = file.read_at(0, min(file.size, HEAD))
    return any(MIGRATED in head.decode(encoding, "replace") for encoding in ("latin-1", "cp037"))


def in_si(path: Path, values: NDArray[np.float32], unit: str) -> NDArray[np.float64]:
    """Return the values of an image in s^2/m^2.

    Raises
    ------
    ModelError
        E837: the unit is another quantity's.
    """
    if unit not in UNITS:
        raise ModelError(
            f"{path} is in {unit}: Born data are those of a perturbation of 1 / v^2, in s2/m2",
            "write 1 / v_new^2 - 1 / v^2, in s2/m2, or without a unit",
            code=NO_PERTURBATION,
        )
    return UNITS[unit] * values.astype(np.float64)


def _refuse_grid(path: Path, own: Grid, grid: Grid) -> None:
    """Raise when an image has another grid than the model."""
    near = own.shape == grid.shape and all(
        abs(a - b) <= NEAR * h and abs(o - p) <= NEAR * h
        for a, b, o, p, h in zip(
            own.spacing, grid.spacing, own.origin, grid.origin, grid.spacing, strict=True
        )
    )
    if not near:
        raise ModelError(
            f"{path} has {own.shape} points every {own.spacing} m from {own.origin}; the model has "
            f"{grid.shape} every {grid.spacing} m from {grid.origin}",
            "give an image on the grid of the model: that of a migration with the same [model] and [grid]",
            code=NO_PERTURBATION,
        )


def _refuse_values(path: Path, values: NDArray[np.float64]) -> None:
    """Raise when an image has values that are not finite, or none but zeros."""
    bad = int(np.count_nonzero(~np.isfinite(values)))
    if bad:
        raise ModelError(
            f"{path}: {bad} of {values.size} values are not finite", "set them to 0", code=NO_PERTURBATION
        )
    if not values.any():
        raise ModelError(
            f"{path} is zero throughout: it scatters nothing", "give another image", code=NO_PERTURBATION
        )


def on_grid_of_waves(dm: NDArray[np.float64], grid: Grid, waves: Grid) -> NDArray[np.float64]:
    """Return a perturbation on the grid of the waves: carried as 1 / vp^2 of the model is, which is linear."""
    if grid == waves:
        return dm
    return Regridder(grid, waves, cells=True).carried(dm, 0, 0, waves.shape[0])


def born_job(
    job: Job, image: BornImage, out_dir: Path, progress: Callable[..., None] | None = None
) -> ModelResult:
    """Write the Born data of an image at the positions of a job: `model_job`'s twin.

    Parameters
    ----------
    job : Job
        With `[acquisition]`.
    image : BornImage
        Perturbation that scatters.
    out_dir : Path
        Folder for the shot files; made when missing, refused when it holds shots of another job or image.
    progress : callable, optional
        ``progress(done, total, message)``.

    Raises
    ------
    FindingsError
        When a check finds an error; nothing was started.
    """
    from subsalt.job.checking import check_job

    state = RunState.of(RunRequest(Path(out_dir), progress))
    with state.clock("check"):
        raise_on_errors(check_job(job).findings)
    return born_checked(job, image, state)


def born_checked(job: Job, image: BornImage, state: RunState) -> ModelResult:
    """Write the Born data of an image for a job whose checks have passed. Collective.

    Raises
    ------
    ModelError, ConfigError
        When the image is no perturbation of the model (E837), or the job has no Born operator (E838).
    MemoryPlanError
        When a shot does not fit into the memory of a rank.
    """
    run = BornRun(job, image, state)
    return Engine(run, ShotsFolder(run)).carry()


class BornRun(ModelRun):
    """See `MethodRun`: its units are the shots of the job, of which the scattered traces are computed.

    Parameters
    ----------
    job : Job
        With `[acquisition]`.
    image : BornImage
        Perturbation that scatters.
    state : RunState
    """

    what = "Born modelling"

    def __init__(self, job: Job, image: BornImage, state: RunState) -> None:
        super().__init__(job, state)
        self.image = image

    def load(self) -> None:
        """Read the model, and the image on its grid."""
        with self.state.world.together():
            _refuse_job(self.job)
        super().load()
        given = self.job.open_model()
        with self.state.clock("model input"), self.state.world.together():
            self.dm = on_grid_of_waves(self.image.read(given), given.grid, self.model.grid)

    def share_shots(self) -> None:
        """Decide which ranks share a shot: as many as the job says, or the fewest in whose memory it fits."""
        super().share_shots()
        modelling = self.setup
        self.linear = linear_setup(
            modelling.model, modelling.wavelet, modelling.record, modelling.propagation, modelling.aperture
        )
        world, plan = self.state.world, self.plan
        room = World.of(world, threads_to_use(self.state.threads)).memory_per_rank
        most = min(world.size, plan.largest or world.size)
        sizes = range(plan.group_size, 1 + (most if self.job.parallel.group == "auto" else plan.group_size))
        with world.together():
            for size in sizes:
                if (need := self._need(size)) <= room:
                    self.sharing = size
                    return
            raise MemoryPlanError(
                f"Born data of a shot need {need / 1e9:.2f} GB on each of {counted(size, 'rank')} that share it, "
                f"{room / 1e9:.2f} GB are available",
                "set [imaging] aperture, start fewer ranks on a node or more on other nodes, or compute on a coarser "
                "grid",
                code="E610",
            )

    def _need(self, ranks: int) -> int:
        """Return the bytes of the rank that takes most, of the shot that takes most."""
        parts = [(rank, ranks) for rank in range(ranks)]
        return max(
            sum(born_memory(self.linear, shot, part).values()) for shot in self.survey.shots for part in parts
        )

    def identify(self) -> None:
        """Set inputs, id and numerics of the run: image and scale belong to its identity."""
        super().identify()
        state = self.state
        # of the values, as they are read and scaled: a file may keep them in another one
        digest = hashlib.sha256(self.dm.tobytes()).hexdigest()
        facts = {"key": "born", "path": str(self.image.path), "bytes": self.dm.nbytes, "sha256": digest}
        state.inputs = [*state.inputs, facts]
        state.run_id = self.job.run_id(state.inputs)

    def group_sizes(self) -> tuple[int, int | None]:
        """Return the ranks that share a shot, and among how many the smallest window can be cut."""
        return self.sharing, self.plan.largest

    def units_at_once(self) -> int:
        """Return that a process computes one shot at a time, by all of its threads."""
        return 1

    def traces_of(
        self, setup: ModellingSetup, shot: Shot, progress: Callable[[float], None], group: Comm | None
    ) -> ModelledTraces:
        """Return the scattered traces of a shot; collective over the group that shares it."""
        # with the model as the group reads it
        return scattered_traces(replace(self.linear, model=setup.model), shot, self.dm, progress, group)


def _refuse_job(job: Job) -> None:
    """Raise when a job asks for what Born modelling does not have."""
    if job.propagation.topography is not None:
        raise ConfigError(
            "[propagation.topography]: there is no Born operator below a free surface inside the model",
            "leave the topography out: sources and receivers at the top of the model",
            code=NOT_WITH,
        )
