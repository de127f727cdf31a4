"""The MPI library under mpi4py: finding it, checking it against the launcher, starting and ending it; only raw MPI.

`launched` reads from the environment, without MPI, which launcher started this process. `reaches_gpus` queries whether
the MPI library sends and receives in the memory of a GPU.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, cast

from subsalt import errors, extensions
from subsalt.errors import ParallelError, install
from subsalt.parallel import waiting
from subsalt.parallel.waiting import wait

#: launchers by the variables of rank and size that they set, and what their MPI library calls itself
_LAUNCHERS = (
    ("Open MPI's mpiexec", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ("Open MPI",)),
    ("mpiexec", "PMI_RANK", "PMI_SIZE", ()),
    ("mpiexec", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", ()),
    ("the launcher", "PALS_RANKID", "PALS_SIZE", ()),
    ("srun", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", ()),
    ("the launcher", "PMIX_RANK", "PMIX_SIZE", ()),
)


@dataclass(frozen=True)
class Launch:
    """How this process was started.

    Parameters
    ----------
    name : str
        Name of the launcher in messages.
    rank, size : int
        Rank of this process, and number of all.
    library : tuple of str
        Words of which the library's own description has one; empty when any library may do.
    connected : bool
        Whether the launcher tells its processes how to reach each other.
    """

    name: str
    rank: int
    size: int
    library: tuple[str, ...] = ()
    connected: bool = True

    def fits(self, description: str) -> bool:
        """Return whether an MPI library can work under this launcher.

        Parameters
        ----------
        description : str
            Version text of the library, such as ``"MPICH Version: 5.0.2"``.
        """
        return not self.library or any(word in description for word in self.library)


def launched(environment: Mapping[str, str] | None = None) -> Launch | None:
    """Return the launcher of this process, None when there is none.

    Parameters
    ----------
    environment : mapping, optional
        Variables; those of this process when left out. ``SUBSALT_MPI=off`` there makes every rank work for itself.
    """
    env = os.environ if environment is None else environment
    if env.get("SUBSALT_MPI", "").lower() in ("off", "0", "no"):
        return None
    for name, rank, size, library in _LAUNCHERS:
        if rank in env and size in env:
            try:
                return Launch(name, int(env[rank]), int(env[size]), library)
            except ValueError:
                continue
    # a batch script has Slurm's variables too, but only a step of srun has this one
    tasks, task = env.get("SLURM_STEP_NUM_TASKS", ""), env.get("SLURM_PROCID", "")
    if tasks.isdigit() and task.isdigit() and int(tasks) > 1:
        return Launch("srun", int(task), int(tasks), connected=False)
    return None


#: seconds that MPI has to end all ranks
ABORT_TIMEOUT = 4.0

#: numbers of phases (`timing.NAMES`) that are known here: outside of all named ones, before the first, after the last
OUTSIDE, START, END, PROFILE = 1000, 1001, 1002, 1004
#: added to the number of a phase while the rank waits for others: a profile cannot see that otherwise, for between two
#: looks at a message a rank that waits is outside of MPI
WAITING = 500

#: `MPI_Pcontrol`, None while MPI does not run or nobody listens; the phase that the main thread is in
_pcontrol: Callable[[int], None] | None = None
_phase = START

#: variable with the file for a profile, which the lab makes where it is set
COUNTING = "SUBSALT_MPI_PROFILE"
_counter: Any = None


def tell_phase(number: int) -> None:
    """Tell MPI, and through it a profile, in which phase the main thread is; `timing.Phases` does it.

    Parameters
    ----------
    number : int
        Number from `timing.number_of`.
    """
    global _phase
    if threading.get_ident() == threading.main_thread().ident:
        _phase = number
        if _pcontrol is not None:
            _pcontrol(number)


def _speak(pcontrol: Callable[[int], None] | None) -> None:
    """Tell phases from here on, or no longer."""
    global _pcontrol
    _pcontrol = pcontrol
    waiting.on_wait = None if pcontrol is None else _tell_waiting
    tell_phase(_phase)


def _listeners() -> Callable[[int], None] | None:
    """Return the callback for changes of phase, None when there is no profiler."""
    preloaded, counting = _preloaded(), None if _counter is None else _counter.tell

    def both(number: int) -> None:
        assert preloaded is not None
        assert counting is not None
        preloaded(number)
        counting(number)

    return both if preloaded is not None and counting is not None else preloaded or counting


def _preloaded() -> Callable[[int], None] | None:
    """Return the `MPI_Pcontrol` that a profile has put in front of MPI, None when there is no profile.

    A profile is loaded before the program, for all to see; mpi4py opens MPI for itself alone. Its own Pcontrol will not
    do: it refuses levels above 2.
    """
    if not os.environ.get("LD_PRELOAD"):
        return None
    import ctypes

    try:
        pcontrol = ctypes.PyDLL(None).MPI_Pcontrol
    except AttributeError:
        return None
    pcontrol.argtypes, pcontrol.restype = [ctypes.c_int], ctypes.c_int
    return cast("Callable[[int], None]", pcontrol)


def _tell_waiting(waits: bool) -> None:
    """Tell the profiler that the main thread has begun to wait for other ranks, or has resumed."""
    if _pcontrol is not None and threading.get_ident() == threading.main_thread().ident:
        _pcontrol(_phase + WAITING if waits else _phase)


@cache
def module() -> Any:
    """Return mpi4py.MPI without starting MPI.

    Raises
    ------
    ImportError, RuntimeError, OSError
        When mpi4py or its MPI library is missing.
    """
    import mpi4py

    mpi4py.rc.initialize = False  # started in `start`, with a look at the library first
    mpi4py.rc.finalize = False
    from mpi4py import MPI

    return MPI


def is_running() -> bool:
    """Return whether MPI was started here and has not ended."""
    if "mpi4py.MPI" not in sys.modules:
        return False
    mpi = module()
    return bool(mpi.Is_initialized() and not mpi.Is_finalized())


def start(launch: Launch, before_end: Callable[[], None]) -> Any:
    """Start MPI and return the communicator of all ranks.

    Parameters
    ----------
    launch : Launch
        Who started this process.
    before_end : callable
        Gives back what is left, before MPI ends with the interpreter.

    Raises
    ------
    ParallelError
        When the ranks cannot reach each other.
    """
    if not launch.connected:
        raise ParallelError(
            f"{launch.name} started {launch.size} tasks that cannot reach each other: each would compute everything",
            "srun --mpi=pmi2 or --mpi=pmix (srun --mpi=list shows them); SUBSALT_MPI=off for runs of their own",
            code="E711",
        )
    try:
        mpi = module()
    except (ImportError, RuntimeError, OSError) as error:
        raise ParallelError(
            f"{launch.name} started {launch.size} ranks, but MPI for Python cannot be loaded: {error}",
            f"{install('mpi')}; or set MPI4PY_LIBMPI to the library of the site's MPI",
            code="E711",
        ) from None
    if not launch.fits(version()):
        raise _mismatch(launch)
    if not mpi.Is_initialized():
        with warnings.catch_warnings():
            # mpi4py suspects what is found below for sure, and each rank would say so
            warnings.simplefilter("ignore", RuntimeWarning)
            mpi.Init_thread(mpi.THREAD_MULTIPLE)
    everybody = mpi.COMM_WORLD
    if path := os.environ.get(COUNTING):
        everybody = _count(path, mpi)
    _speak(_listeners())
    atexit.register(finish, before_end)
    if mpi.COMM_WORLD.Get_size() != launch.size:
        raise _mismatch(launch)
    sys.excepthook = _abort_on_uncaught
    return everybody


def _count(path: str, mpi: Any | None = None) -> Any:
    """Let the calls of this process be counted from here on; return the communicator of all ranks that counts."""
    global _counter
    if preloaded := _preloaded():
        preloaded(PROFILE)  # it makes some calls of its own first
    wrapper = next(iter(extensions.extensions(extensions.MPI_PROFILE).values()), None)
    if wrapper is None:
        raise errors.lab_missing(f"a profile of MPI calls ({COUNTING})")
    _counter = wrapper(path, mpi, "no MPI" if mpi is None else version(), preloaded)
    return _counter.world


def count_alone() -> None:
    """Let a process that needs no MPI have its phases counted, when SUBSALT_MPI_PROFILE asks for it."""
    if _counter is None and (path := os.environ.get(COUNTING)):
        _count(path)
        _speak(_listeners())
        atexit.register(finish, lambda: None)


def counting_error() -> Exception | None:
    """Return why a requested profile cannot be written, to be raised on all ranks."""
    error: Exception | None = None if _counter is None else _counter.error()
    return error


def start_all() -> Callable[[Any], Any]:
    """Return the function that starts persistent requests: that of mpi4py, or a counting one."""
    return module().Prequest.Startall if _counter is None else _counter.start_all


def test_all() -> Callable[[Any], Any]:
    """Return the function that tests whether all requests are complete."""
    return module().Request.Testall if _counter is None else _counter.test_all


def _mismatch(launch: Launch) -> ParallelError:
    return ParallelError(
        f"{launch.name} started {launch.size} ranks, but the MPI library does not belong to it: {version()}",
        "use the mpiexec beside the Python of subsalt, or set MPI4PY_LIBMPI to the launcher's library",
        code="E712",
    )


def finish(before_end: Callable[[], None]) -> None:
    """Give back what is left and end MPI, once; collective.

    Parameters
    ----------
    before_end : callable
        Gives back what is left.
    """
    global _counter
    if not is_running():
        if _counter is not None:
            _counter.finish()
            _counter = None
        return
    everybody = module().COMM_WORLD if _counter is None else _counter.world
    tell_phase(END)
    # the first ranks would wait busily in Finalize
    wait(everybody.Ibarrier().Test)
    before_end()
    if _counter is not None:
        counter, _counter = _counter, None
        counter.finish(lambda: tell_phase(PROFILE))
    _speak(None)
    module().Finalize()


def end_all(code: int) -> NoReturn:
    """End all ranks with an exit code, without a word and without waiting for any.

    Parameters
    ----------
    code : int
        Exit code of mpiexec.
    """
    if is_running():
        # MPI may be held by a call of another thread that never returns; a rank that is gone ends the others too
        rescue = threading.Timer(ABORT_TIMEOUT, os._exit, [code])
        rescue.daemon = True
        rescue.start()
        # the error has been reported: the messages of MPI about an abort add nothing
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        module().COMM_WORLD.Abort(code)
    os._exit(code)


def _abort_on_uncaught(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Show an uncaught exception, as Python does, and end all ranks, which would wait otherwise."""
    sys.__excepthook__(kind, error, trace)
    sys.stderr.flush()
    end_all(130 if issubclass(kind, KeyboardInterrupt) else int(getattr(error, "exit_code", 1)))


def version() -> str:
    """Return name and version of the library, in a line; it need not be started."""
    # Open MPI appends who built it, and when
    text = module().Get_library_version().strip(" \0\n").split("\n")[0].split(",")[0]
    return " ".join(text.replace("Version:", "").split())


def describe() -> dict[str, Any]:
    """Return the library by name, the part of mpi4py that drives it, and what it grants to threads.

    Raises
    ------
    ImportError, RuntimeError, OSError
        When mpi4py or its MPI library is missing.
    """
    mpi = module()
    levels = {
        mpi.THREAD_SINGLE: "MPI_THREAD_SINGLE",
        mpi.THREAD_FUNNELED: "MPI_THREAD_FUNNELED",
        mpi.THREAD_SERIALIZED: "MPI_THREAD_SERIALIZED",
        mpi.THREAD_MULTIPLE: "MPI_THREAD_MULTIPLE",
    }
    return {
        "library": version(),
        "standard": ".".join(map(str, mpi.Get_version())),
        # one build of mpi4py has a module for every binary interface
        "module": Path(mpi.__spec__.origin).name.split(".cpython")[0],
        "threads": levels[mpi.Query_thread()] if is_running() else "",
    }


def thread_multiple() -> bool:
    """Return whether MPI may be called from several threads; False where it does not run."""
    return is_running() and bool(module().Query_thread() == module().THREAD_MULTIPLE)


#: variable that decides in place of the library: "direct" or "staged"
SETTING = "SUBSALT_GPU_MPI"

#: how mpi_memory_alloc_kinds names the memory of NVIDIA GPUs
_MEMORY_KIND = "cuda"

#: MPIX_GPU_SUPPORT_CUDA of MPICH's mpi_proto.h, the first of its kinds
_CUDA_OF_MPICH = 0


@dataclass(frozen=True)
class Reach:
    """Whether messages go straight from and to the memory of a GPU, and who says so."""

    yes: bool
    why: str


def reaches_gpus() -> Reach:
    """Return whether MPI may be given pointers of a GPU.

    In this order: `SUBSALT_GPU_MPI`, the kinds of memory that MPI 4.1 lists for the run, the functions by which MPICH
    and Open MPI answer. A library that says nothing is not trusted: a pointer that it cannot read ends the program.

    Raises
    ------
    ParallelError
        When `SUBSALT_GPU_MPI` is neither ``direct`` nor ``staged``.
    """
    setting = os.environ.get(SETTING, "").strip().lower()
    if setting in ("direct", "staged"):
        return Reach(setting == "direct", f"{SETTING}={setting}")
    if setting not in ("", "auto"):
        raise ParallelError(
            f"{SETTING}={setting} is not one of direct, staged, auto",
            f"leave {SETTING} out: MPI is asked what it can; staged always works",
            code="E992",
        )
    if not is_running():
        return Reach(False, "MPI does not run")
    return _listed() or _queried() or Reach(False, "the library does not say")


def _listed() -> Reach | None:
    """Return the answer in the memory kinds of MPI 4.1; None when there is no list, or CUDA is not in it.

    A library lists the kinds that were requested: without CUDA in the list, it may still reach GPUs.
    """
    kinds = module().COMM_WORLD.Get_info().Get("mpi_memory_alloc_kinds")
    if kinds and any(kind.split(":")[0].strip() == _MEMORY_KIND for kind in kinds.split(",")):
        return Reach(True, f"mpi_memory_alloc_kinds = {kinds}")
    return None


def _queried() -> Reach | None:
    """Return the answer of the query functions of MPICH and Open MPI; None when the library has neither."""
    library: Any = ctypes.CDLL(module().__spec__.origin)
    for name in ("MPIX_Query_cuda_support", "MPIX_GPU_query_support"):
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        if name == "MPIX_Query_cuda_support":
            return Reach(function() == 1, f"{name} says {'yes' if function() == 1 else 'no'}")
        answer = ctypes.c_int()
        if function(_CUDA_OF_MPICH, ctypes.byref(answer)) == 0:
            return Reach(answer.value == 1, f"{name} says {'yes' if answer.value == 1 else 'no'}")
    return None
