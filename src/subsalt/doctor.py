"""`subsalt doctor`: what this machine offers, and a self-test of the program on it.

What `subsalt doctor` says of MPI: whether ranks could be started here, and how those started see each other.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import __version__
from subsalt.errors import DiskError, SubsaltError, install
from subsalt.host import ALL_LEVELS, gpus_of_driver, usable_cores
from subsalt.parallel import comm, mpi_library
from subsalt.parallel.mpi_library import launched, reaches_gpus
from subsalt.propagation import devices

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class Mpi:
    """Facts about MPI; every value is plain, for ``--json``.

    Parameters
    ----------
    mpi4py : str or None
        Version of MPI for Python, None where it is missing.
    library, standard, module : str
        The MPI library that it loads, the MPI standard of that, and the part of mpi4py that drives it.
    mpiexec : str or None
        The launcher beside this Python, or on PATH.
    launcher : str or None
        Launcher that started this process, if any.
    ranks : int
        Processes that see each other.
    hosts : dict
        Ranks by host.
    threads : str
        The thread level that was granted, when MPI runs.
    gpus : list of str
        Notes on the GPUs of the ranks; empty where no rank has one.
    cuda_aware : bool or None
        Whether MPI sends from and receives into the memory of a GPU; None when MPI does not run.
    problem, fix : str
        Why no ranks can be started, and the cure.
    """

    mpi4py: str | None = None
    library: str = ""
    standard: str = ""
    module: str = ""
    mpiexec: str | None = None
    launcher: str | None = None
    ranks: int = 1
    hosts: dict[str, int] = field(default_factory=dict)
    threads: str = ""
    gpus: list[str] = field(default_factory=list)
    cuda_aware: bool | None = None
    problem: str = ""
    fix: str = ""

    def lines(self) -> list[str]:
        """Return the text for people."""
        if self.mpi4py is None:
            return [f"mpi none: one process (for more: {install('mpi')})"]
        if self.problem:
            return [f"mpi mpi4py {self.mpi4py}, not usable: {self.problem}", f"    fix: {self.fix}"]
        text = f"mpi {self.library}, MPI {self.standard}, mpi4py {self.mpi4py} ({self.module})"
        if self.ranks == 1:
            start = (
                f"start ranks with {self.mpiexec} -n 2"
                if self.mpiexec
                else "no mpiexec here: the site's srun?"
            )
            return [f"{text}; {start}"]
        places = ", ".join(f"{count} on {host}" for host, count in self.hosts.items())
        out = [f"{text}; {self.ranks} ranks by {self.launcher}: {places}; {self.threads}"]
        if self.threads != "MPI_THREAD_MULTIPLE" and len(self.hosts) > 1:
            out.append("    a host that freezes is not noticed by the others: give jobs a time limit")
        cores, here = usable_cores(), self.hosts.get(os.uname().nodename, 1)
        if here > cores:
            out.append(f"    {here} ranks share {cores} core{'s' * (cores > 1)} of {os.uname().nodename}")
        return out + [f"    {text}" for text in self.gpus]


def examine_mpi() -> Mpi:
    """Look for mpi4py and its library, and count the ranks; collective where a launcher started several.

    Raises
    ------
    ParallelError
        When several ranks were started that cannot reach each other.
    """
    world = comm.world()
    launch = launched()
    mpi = Mpi(launcher=None if launch is None else launch.name, ranks=world.size)
    try:
        mpi.mpi4py = metadata.version("mpi4py")
    except metadata.PackageNotFoundError:
        return mpi
    mpi.mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    try:
        facts = mpi_library.describe()
    except (ImportError, RuntimeError, OSError) as error:
        mpi.problem = " ".join(str(error).split())
        mpi.fix = f"{install('mpi')}; or set MPI4PY_LIBMPI to the library of the site's MPI"
        return mpi
    mpi.library, mpi.standard = facts["library"], facts["standard"]
    mpi.module, mpi.threads = facts["module"], facts["threads"]
    mpi.hosts = dict(Counter(world.allgather(world.host)))
    if world.size > 1:
        _look_at_gpus(world, mpi)
    return mpi


def _look_at_gpus(world: comm.Comm, mpi: Mpi) -> None:
    """Say which ranks have GPUs, and how messages go between these; collective."""
    reach = reaches_gpus()
    mpi.cuda_aware = reach.yes
    ranks = devices.look(world)
    without = [r for r, one in enumerate(ranks) if not one["gpus"]]
    if len(without) == len(ranks):
        return
    if without:
        first = ranks[without[0]]
        mpi.gpus.append(
            f"no GPU for rank {without[0]} on {first['host']}: {first['why']}; all would use CPUs"
        )
    else:
        taken = devices.Gpus.of(ranks)
        gpus = len({(s.host, s.bus) for s in taken.seats})
        mpi.gpus.append(f"{world.size} ranks on {gpus} GPU{'s' * (gpus != 1)}")
        mpi.gpus += [f"{f.message}: {f.fix}" for f in taken.findings()]
    how = "go straight from GPU to GPU" if reach.yes else "pass through the memory of the host"
    mpi.gpus.append(f"CUDA-aware: {'yes' if reach.yes else 'no'} ({reach.why}); ghost planes {how}")


#: bytes written to measure a folder
SCRATCH_BYTES = 64 << 20


@dataclass
class Test:
    """One self-test: its name, whether it passed, and the number behind it."""

    name: str
    passed: bool
    detail: str


@dataclass
class Examination:
    """Findings of `examine`; every value is plain, for ``--json``."""

    version: str
    isa: str
    numerics: str
    cpu: str
    cores: int
    mpi: Mpi
    gpu: str
    ram_bytes: int
    ram_free_bytes: int
    scratch: str
    scratch_free_bytes: int
    scratch_write_mb_s: float | None
    #: snapshots put and got as `subsalt lab storage` measured them on this file system
    scratch_put_gb_s: float | None = None
    scratch_get_gb_s: float | None = None
    #: every GPU that can be used: name, memory in bytes, compute capability, address
    gpus: list[dict[str, Any]] = field(default_factory=list)
    #: in words, which instruction set of this processor the kernels were not compiled for; empty where there is none
    left_out: str = ""
    tests: list[Test] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def healthy(self) -> bool:
        """Whether every self-test passed."""
        return all(t.passed for t in self.tests)

    def lines(self) -> list[str]:
        """Return the text for people."""
        cores = f"{self.cores} core{'s' * (self.cores != 1)}"
        speed = self.scratch_write_mb_s
        written = "cannot be written, see --scratch" if speed is None else f"{speed:.0f} MB/s written"
        if self.scratch_put_gb_s is not None:
            written += (
                f" (lab storage: put {self.scratch_put_gb_s:.2g}, get {self.scratch_get_gb_s:.2g} GB/s)"
            )
        out = [
            f"subsalt {self.version}  cpu {self.isa} ({cores})",
            f"{self.cpu}, numerics class {self.numerics}",
            *([f"    {self.left_out}", f"    fix: {ALL_LEVELS}"] if self.left_out else []),
            f"gpu {self.gpu}",
            f"ram {self.ram_bytes / 1e9:.1f} GB, {self.ram_free_bytes / 1e9:.1f} GB free  "
            f"scratch {self.scratch} {self.scratch_free_bytes / 1e9:.0f} GB free, {written}",
            *self.mpi.lines(),
        ]
        tests = " | ".join(f"{t.name} {t.detail} {'ok' if t.passed else 'FAILED'}" for t in self.tests)
        out.append(f"self-test: {tests}  ({self.seconds:.1f} s)")
        return out


def gpus_here() -> tuple[str, list[dict[str, Any]]]:
    """Return the GPUs that `device = "auto"` finds, in one line, or why there are none; and their facts."""
    from subsalt.kernels import cuda_library

    available = cuda_library.availability()
    if not available.devices:
        listed = gpus_of_driver()
        return f"none: {', '.join([*listed, available.why])}" + f" ({available.fix})" * bool(listed), []
    names = Counter(f"{g.name}, {g.memory / (1 << 30):.0f} GiB" for g in available.devices)
    said = "; ".join(f"{n} x {name}" if n > 1 else name for name, n in names.items())
    only_for_tests = ", emulated: for tests, never chosen by itself" if available.emulated else ""
    facts = [asdict(g) for g in available.devices]
    return f"{said}, driver {available.driver}, plug-in {__version__}{only_for_tests}", facts


def examine(scratch: Path = Path("."), self_test: bool = True, mpi: Mpi | None = None) -> Examination:
    """Look at the machine, measure the scratch folder, and run the self-test; in one process.

    Parameters
    ----------
    scratch : Path
        Folder whose speed is measured.
    self_test : bool
        Compute the dot product and restart tests too (seconds).
    mpi : Mpi, optional
        Facts about MPI, when ranks looked together; looked for here when left out.
    """
    from subsalt.host import available_memory, machine_facts

    begin = time.perf_counter()
    machine = machine_facts()
    kernels = _kernels()
    gpu, gpus = gpus_here()
    try:
        speed = write_speed(scratch)
    except DiskError:
        if not scratch.is_dir():
            raise
        speed = None  # a folder one may only read: the rest is worth knowing
    examination = Examination(
        version=__version__,
        isa=str(kernels.get("isa", "none")),
        numerics=str(kernels.get("class", "none")),
        cpu=str(machine["cpu"]),
        cores=int(machine["cores"]),
        mpi=mpi or examine_mpi(),
        gpu=gpu,
        gpus=gpus,
        ram_bytes=int(machine["ram_bytes"]),
        ram_free_bytes=available_memory(),
        scratch=str(scratch),
        scratch_free_bytes=shutil.disk_usage(scratch).free,
        scratch_write_mb_s=speed,
        left_out=str(kernels.get("left_out", "")),
    )
    examination.scratch_put_gb_s, examination.scratch_get_gb_s = measured_rates(scratch)
    if self_test:
        examination.tests = [_tested("dot product", dot_product), _tested("restart", restart_identity)]
        if gpus:
            examination.tests.append(_tested("gpu", gpu_agrees))
    examination.seconds = time.perf_counter() - begin
    return examination


def measured_rates(folder: Path) -> tuple[float, float] | tuple[None, None]:
    """Return GB/s of putting and getting snapshots on the file system of a folder, if the lab measured them."""
    from subsalt.machine import machine_file as machine
    from subsalt.machine.storage import rates_of

    try:
        known = machine.read(machine.default_path())
    except SubsaltError:
        return None, None
    rates = rates_of(known, folder) if known.is_same(machine.Machine.here()) else None
    return (rates.put / 1e9, rates.get / 1e9) if rates is not None else (None, None)


def _kernels() -> dict[str, Any]:
    from subsalt.kernels import cpu

    try:
        return cpu.describe() | {"left_out": cpu.is_slower()}
    except (SubsaltError, ImportError):
        return {}


def write_speed(folder: Path, nbytes: int = SCRATCH_BYTES) -> float:
    """Return MB/s of writing and flushing a file of `nbytes` in `folder`; the file is removed.

    Raises
    ------
    DiskError
        When the folder cannot be written.
    """
    from subsalt.io.publish import write_all

    block = memoryview(os.urandom(1 << 20))
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            begin = time.perf_counter()
            for _ in range(nbytes >> 20):
                write_all(file.fileno(), block, str(folder))
            os.fsync(file.fileno())
            return nbytes / 1e6 / (time.perf_counter() - begin)
    except OSError as error:
        if isinstance(error, SubsaltError):
            raise
        raise DiskError(
            f"{folder} cannot be written: {error.strerror}",
            "choose another folder with --scratch",
            code="E620",
        ) from None


def _tested(name: str, test: Callable[[], tuple[bool, str]]) -> Test:
    try:
        passed, detail = test()
    except (SubsaltError, ImportError) as error:
        return Test(name, False, str(error))
    return Test(name, passed, detail)


class _InBand:
    """A modelling operator without static loads and the Nyquist frequency, whose rounding nothing carries
    away.

    The filter over time is symmetric, so that forward and adjoint stay transposes of each other.
    """

    def __init__(self, operator: Any) -> None:
        self.operator = operator
        self.domain_shape, self.range_shape = operator.domain_shape, operator.range_shape

    @staticmethod
    def band(x: NDArray[Any]) -> NDArray[Any]:
        import numpy as np

        x = np.asarray(x, dtype=np.float64)
        for weight in (-1.0, 1.0, 1.0, 1.0):
            edge = np.zeros((*x.shape[:-1], 1))
            x = (
                weight * np.concatenate([x[..., 1:], edge], -1)
                + 2 * x
                + weight * np.concatenate([edge, x[..., :-1]], -1)
            )
            x = x / 4
        return x

    def forward(self, x: NDArray[Any]) -> NDArray[Any]:
        return self.band(self.operator.forward(self.band(x)))

    def adjoint(self, y: NDArray[Any]) -> NDArray[Any]:
        return self.band(self.operator.adjoint(self.band(y)))


def dot_product() -> tuple[bool, str]:
    """Compare <F x, y> with <x, F^T y> for the modelling operator on a small VTI model."""
    import numpy as np

    from subsalt.earth.grid import Grid
    from subsalt.earth.model import EarthModel
    from subsalt.methods.rtm.linear_operator import dot_test
    from subsalt.methods.rtm.operators import ModellingOperator
    from subsalt.propagation.options import PropagationOptions

    rng = np.random.default_rng(1)
    grid = Grid((41, 31), (10.0, 10.0))
    vp = 2000 + 500 * rng.random(grid.shape)
    epsilon, delta = (np.full(grid.shape, v, np.float32) for v in (0.2, 0.1))
    model = EarthModel(grid, vp.astype(np.float32), epsilon, delta)
    options = PropagationOptions(device="cpu")  # a GPU has a test of its own
    operator = ModellingOperator(model, [[123.0, 50.0]], [[100.0, 20.0], [300.0, 33.0]], 80, options)
    result = dot_test(_InBand(operator))
    return result.error <= result.tolerance, f"{result.error:.0e}"


def gpu_agrees() -> tuple[bool, str]:
    """Model a shot in a small VTI medium on the GPU and on the processor: the traces must have the same bytes."""
    import numpy as np

    from subsalt.earth.grid import Grid
    from subsalt.earth.model import EarthModel
    from subsalt.kernels import cpu
    from subsalt.methods.rtm.operators import ModellingOperator
    from subsalt.propagation.options import PropagationOptions

    if cpu.describe()["class"] != "fma":
        return True, "not compared: this processor has no fused multiply-add"
    grid = Grid((31, 27, 35), (10.0, 10.0, 10.0))
    epsilon, delta = (np.full(grid.shape, v, np.float32) for v in (0.2, 0.1))
    vp = (2000 + 500 * np.random.default_rng(2).random(grid.shape)).astype(np.float32)
    model, nt = EarthModel(grid, vp, epsilon, delta), 60
    signature = np.hanning(nt)[None]
    both = []
    for device in ("cpu", "cuda"):
        options = PropagationOptions(device=device)
        places = [[123.0, 131.0, 50.0]], [[100.0, 90.0, 20.0], [200.0, 140.0, 333.0]]
        both.append(ModellingOperator(model, *places, nt, options).forward(signature).tobytes())
    return both[0] == both[1], "same bytes" if both[0] == both[1] else "other bytes than the processor"


def restart_identity() -> tuple[bool, str]:
    """Migrate two small shots at once, and with a stop between them: the images must have the same bytes."""
    from subsalt.io.segy.writing import write_survey
    from subsalt.methods.rtm.job import Job
    from subsalt.run.migrate import migrate_job

    with tempfile.TemporaryDirectory(prefix="subsalt-doctor-") as name:
        folder = Path(name)
        survey = _small_survey()
        write_survey(folder / "shots.sgy", survey)
        job = Job.from_dict(
            {
                "data": {"files": "shots.sgy", "line": "2d"},
                "model": {"vp": {"z": [0, 250, 260, 400], "value": [2000, 2000, 2500, 2500]}},
                "grid": {"spacing": 10, "shape": [61, 41]},
                "source": {"f0": 20},
                "output": {"formats": ["segy"], "pictures": False},
            },
            folder,
        )
        whole = migrate_job(job, folder / "whole")

        def stop(done: float, total: float, message: str = "") -> None:
            if done >= 1:
                raise KeyboardInterrupt

        try:
            migrate_job(job, folder / "stopped", stop)
            return False, "could not be stopped"
        except KeyboardInterrupt:
            pass
        again = migrate_job(job, folder / "stopped")
        same = again.sha256 == whole.sha256
        return same, "identical" if same else "differs"


def _small_survey() -> Any:
    """Model two shots over a flat reflector."""
    import numpy as np

    from subsalt.acquisition.survey import Survey
    from subsalt.acquisition.wavelet import ricker
    from subsalt.api import forward
    from subsalt.earth.grid import Grid
    from subsalt.earth.model import EarthModel

    grid = Grid((61, 41), (10.0, 10.0))
    vp = np.full(grid.shape, 2000.0, np.float32)
    vp[:, 25:] = 2500.0
    receivers = np.stack([np.arange(50.0, 551.0, 25.0), np.full(21, 20.0)], axis=1)
    survey = Survey.from_arrays([[200.0, 20.0], [400.0, 20.0]], receivers, nt=101, dt=0.004)
    return forward(EarthModel(grid, vp), survey, ricker(20.0, 0.001), device="cpu").survey
