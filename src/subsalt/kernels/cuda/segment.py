"""Many time steps on a GPU between two returns to Python (native/cuda/segment.cu).

A call of the plug-in computes the steps of a slice, which lasts a fraction of a second. Between two slices Python
handles signals and reports progress. Copies to and from the host run at the same time; they have arrived when
`Segment.advance` returns, however it ends.

The fastest tuning of the field step on this GPU is found in the first steps of a run, as on the CPU. The plug-in
names the tunings worth trying (`Tuning` of native/cuda/kernels.hpp); ``SUBSALT_TUNE=off`` takes its first. The result
is remembered by GPU, medium, order, layer and rough shape.

On large grids, points that the wavefield has not reached are left out (native/cuda/reached.cu), unless
``SUBSALT_FRONT=off``. `Segment.advance` finds the extent of the wavefield when it begins, and updates it every slice.
"""

from __future__ import annotations

import ctypes
import math
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.earth.grid import Box
from subsalt.errors import DeviceError
from subsalt.kernels import cpu, tuning
from subsalt.kernels.cuda.arrays import DeviceArray, address
from subsalt.kernels.cuda.plan import levels, on_device, plan_of
from subsalt.kernels.cuda_library import call, check, chosen, corner, library, pointers
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.sizes import SERIES_BYTES
from subsalt.kernels.stepper import Stepper
from subsalt.kernels.tuning import batch_seed
from subsalt.kernels.work import Correlation, Recorder, Shells, Snapshots, Source, Work

#: grids with fewer points spend their time on launches, whatever the tuning
SMALLEST = 1_000_000

#: steps between two looks at how far a wavefield has come, at least and at most; the first costs half a step
LOOKS = 4, 32

#: point-steps between two looks, if `LOOKS` allows: the device waits for about 20 us
LOOK_POINTS = 50_000_000

#: point-steps of one trial, at least: some ten milliseconds
TRIAL = 2e9

MOST = 16

_TUNER = "cuda.tuner"


class DeviceTuner(tuning.Tuner):
    """Choose the tuning of one problem on the GPU of this process while it runs."""

    def __init__(self, problem: Problem) -> None:
        gpu, choices = chosen(), tunings(problem)
        processor = f"{gpu.name} {gpu.processors} processors"
        isa = f"sm_{gpu.capability[0]}{gpu.capability[1]}"
        self.best, self.threads = choices[0], 1
        self.key = tuning.key(problem, 1, isa, processor)
        self.points = math.prod(problem.layout.shape3)
        self.choose_among(choices, worth_it=self.points >= SMALLEST)

    def steps(self, tried: tuning.Cut) -> int:
        """Return the steps of a trial."""
        return max(8, math.ceil(TRIAL / self.points))


def tunings(problem: Problem) -> tuple[tuning.Cut, ...]:
    """Return the tunings worth trying, rows and planes of a block, the usual one first."""
    pairs, count = (ctypes.c_int32 * (2 * MOST))(), ctypes.c_int32()
    call("subsalt_cuda_tunings", plan_of(problem).pointer, pairs, MOST, ctypes.byref(count))
    return tuple((pairs[2 * i], pairs[2 * i + 1]) for i in range(count.value))


def tuner_of(problem: Problem) -> DeviceTuner:
    """Return the tuner of this problem, made at the first call."""
    made = problem.cache.get(_TUNER)
    if not isinstance(made, DeviceTuner):
        made = problem.cache[_TUNER] = DeviceTuner(problem)
    return made


#: a slice takes about so long: Ctrl-C is noticed within a second, and the pause between two slices costs nothing
SLICE_SECONDS = 0.15

#: a slice has at most so many times the steps of the one before: a first measurement may be far off
GROWTH = 16

_PACE = "cuda.pace"


class _Pace(NamedTuple):
    """How fast a problem was advanced last: points per second, and the steps of that slice."""

    rate: float
    steps: int


_CORNER = (np.int64, 3)

#: SubsaltCudaSeries, SubsaltCudaSample of api.h
_SERIES = np.dtype([("points", np.uintp), ("series", np.uintp), ("nt", np.int64)])
_SAMPLE = np.dtype(
    [
        ("it", np.int64),
        ("lo", *_CORNER),
        ("hi", *_CORNER),
        ("copy", np.uintp),
        ("energy", np.uintp),
        ("partner", np.uintp),
        ("image", np.uintp),
        ("scale", np.float32),
        ("unused", np.int32),
    ]
)


class _Shells(ctypes.Structure):
    """SubsaltCudaShells of api.h."""

    _fields_ = [
        ("lo", ctypes.c_int64 * 3),
        ("hi", ctypes.c_int64 * 3),
        ("width", ctypes.c_int64 * 6),
        ("rows", ctypes.c_int64),
        ("first", ctypes.c_int64),
        ("direction", ctypes.c_int32),
        ("put_back", ctypes.c_int32),
        ("data", ctypes.c_void_p),
    ]


class _Steps(ctypes.Structure):
    """SubsaltCudaSteps of api.h."""

    _fields_ = [
        ("it", ctypes.c_int64),
        ("steps", ctypes.c_int64),
        ("until", ctypes.c_int64),
        ("finite_every", ctypes.c_int64),
        ("check_last", ctypes.c_int32),
        ("front", ctypes.c_int32),
        ("again", ctypes.c_int32),
        ("finite", ctypes.c_int32),
        ("whole", ctypes.c_int32),
        ("unused", ctypes.c_int32),
        ("done", ctypes.c_int64),
        ("points", ctypes.c_int64),
    ]


class _Work(ctypes.Structure):
    """SubsaltCudaWork of api.h."""

    _fields_ = [
        ("feeds", ctypes.c_void_p),
        ("n_feeds", ctypes.c_int64),
        ("taps", ctypes.c_void_p),
        ("n_taps", ctypes.c_int64),
        ("samples", ctypes.c_void_p),
        ("n_samples", ctypes.c_int64),
        ("shells", ctypes.POINTER(_Shells)),
        ("inner", ctypes.POINTER(ctypes.c_int64)),
        ("series_bytes", ctypes.c_int64),
    ]


def _usable(array: Any, shape: tuple[int, ...], what: str, *, written: bool = True) -> Any:
    """Return an array that the plug-in may use as it is; a converted copy would be written, and the result be lost."""
    if isinstance(array, DeviceArray):
        fine = array.dtype == np.float32
    else:
        flags = array.flags
        fine = array.dtype == np.float32 and flags.c_contiguous and (flags.writeable or not written)
    if not fine:
        raise ValueError(f"{what} must be float32, contiguous, and writeable where it is written")
    if tuple(array.shape) != shape:
        raise ValueError(f"{what} has the shape {tuple(array.shape)}, not {shape}: that of the box")
    return array


class Segment(Stepper):
    """Many time steps in one call of the plug-in; the arguments that stay the same are prepared once.

    Parameters
    ----------
    problem : Problem
        Medium and grid of the wavefield.
    work : Work, optional
        Sources, recorders and the like (`Work.compiles`); none when None. Samples and recorded data stay on the host.
        Snapshots go to arrays of the GPU or of the host; page-locked ones (`reserve_host`) are filled while the next
        steps are computed. The fields of a correlation lie on the GPU, or on the host, from where they are fetched
        ahead. Shells lie on either.

    Notes
    -----
    Sums (`energy`, `image`) belong on the GPU; sums on the host are copied there and back for every `advance`.
    """

    def __init__(self, problem: Problem, work: Work | None = None) -> None:
        work = Work() if work is None else work
        self.problem = problem
        self.plan = plan_of(problem)
        self.levels_shape = problem.layout.padded_shape
        #: arrays that the plug-in points to
        self._held: list[Any] = [work]
        #: sums of the host, and where they are on the GPU
        self._sums: dict[int, tuple[NDArray, DeviceArray]] = {}
        self._sums_there = False
        if work.inner is not None and problem.boundary == "pml":
            raise ValueError("a PML is advanced as a whole")
        given = _Work(series_bytes=SERIES_BYTES)
        self._put(given, "feeds", self._sources(work.sources))
        self._put(given, "taps", self._recorders(work.recorders))
        self._put(given, "samples", self._samples(work.snapshots, work.correlation))
        if work.shells is not None and work.shells.shell.cells:
            given.shells = ctypes.pointer(self._shells(work.shells))
        if work.inner is not None:
            self._inside(work.inner)
            given.inner = corner((*work.inner.lo, *work.inner.hi))
        out = pointers([None])
        call("subsalt_cuda_segment", self.plan.pointer, ctypes.byref(given), out)
        self.pointer: int = out[0]
        free = library().subsalt_cuda_free_segment
        weakref.finalize(self, _free, free, self.pointer, self.plan, self._held).atexit = False

    def _put(self, work: _Work, name: str, rows: NDArray) -> None:
        self._held.append(rows)
        setattr(work, name, rows.ctypes.data)
        setattr(work, f"n_{name}", len(rows))

    def _sources(self, sources: Sequence[Source]) -> NDArray:
        rows = []
        for source in sources:
            samples = np.ascontiguousarray(source.samples.T, dtype=np.float32)
            self._held.append(samples)
            rows.append(self._series(source.points, samples))
        return np.array(rows, dtype=_SERIES)

    def _recorders(self, recorders: Sequence[Recorder]) -> NDArray:
        rows = []
        for recorder in recorders:
            data = recorder.data.T
            _usable(data, data.shape, "recorded data")
            rows.append(self._series(recorder.points, data))
        return np.array(rows, dtype=_SERIES)

    def _series(self, points: Any, series: NDArray) -> tuple[int, int, int]:
        if series.ndim != 2 or series.shape[1] != len(points.base):
            raise ValueError(
                f"{len(points.base)} points and series of shape {series.shape}: samples need one column per point"
            )
        there = on_device(self.problem, points) if len(points.base) else 0
        return there, series.ctypes.data, len(series)

    def _samples(self, snapshots: Snapshots | None, correlation: Correlation | None) -> NDArray:
        rows: list[tuple[Any, ...]] = []
        if snapshots is not None and snapshots.box.size:
            box, shape = snapshots.box, self._inside(snapshots.box)
            energy = self._sum(snapshots.energy, shape, "the energy")
            for it, out in snapshots.fields.items():
                copy = 0 if out is None else address(_usable(out, shape, "the snapshot"))
                if copy or energy:
                    rows.append((it, box.lo, box.hi, copy, energy, 0, 0, snapshots.scale, 0))
        if correlation is not None and correlation.box.size:
            box, shape = correlation.box, self._inside(correlation.box)
            image = self._sum(correlation.image, shape, "the image")
            for it, field in correlation.fields.items():
                u = address(_usable(field, shape, "the partner", written=False))
                rows.append((it, box.lo, box.hi, 0, 0, u, image, correlation.scale, 0))
        rows.sort(key=lambda row: row[0])
        return np.array(rows, dtype=_SAMPLE)

    def _inside(self, box: Box) -> tuple[int, int, int]:
        """Return the shape of a box, which must lie in the grid."""
        shape3 = self.problem.layout.shape3
        if box.size and (min(box.lo) < 0 or any(h > n for h, n in zip(box.hi, shape3, strict=True))):
            raise ValueError(f"the box from {box.lo} to {box.hi} leaves the grid of {shape3}")
        return box.shape

    def _sum(self, array: Any, shape: tuple[int, ...], what: str) -> int:
        """Return where a sum is on the GPU; 0 for none."""
        if array is None:
            return 0
        _usable(array, shape, what)
        if isinstance(array, DeviceArray):
            return array.pointer
        there = DeviceArray(shape, zeroed=False)
        self._sums[id(array)] = array, there
        return there.pointer

    def _shells(self, shells: Shells) -> _Shells:
        shell, data = shells.shell, shells.data
        self._inside(shell.box)
        _usable(data, (len(data), self.problem.n_fields, shell.cells), "the shells")
        return _Shells(
            corner(shell.box.lo),
            corner(shell.box.hi),
            corner(shell.widths),
            len(data),
            shells.first,
            shells.direction,
            int(shells.put_back),
            address(data),
        )

    def advance(
        self,
        state: State,
        n: int,
        finite_every: int,
        check_last: bool,
        progress: Callable[[int], None] | None = None,
    ) -> bool:
        """Advance `state` by `n` steps, or up to where it is not finite; Ctrl-C is noticed several times a second."""
        self._check(state)
        tuner, until, finite = tuner_of(self.problem), state.it + n, True
        front, anew = self._front(state, n), True
        with self._arriving():
            while finite and state.it < until:
                left = until - state.it
                cut, steps = tuner.trial(left)
                trial = tuner.tries(left)
                if not trial:
                    steps = self._slice(left, state.it)
                call("subsalt_cuda_tune", self.plan.pointer, *cut)
                # trials compare tunings at equal work
                looks = 0 if trial else front
                steps_of_slice = _Steps(
                    state.it, steps, until, finite_every, check_last and steps == left, looks, anew
                )
                start = time.perf_counter()
                self._run(state, steps_of_slice)
                seconds = max(time.perf_counter() - start, 1e-6)
                tuner.took(cut, steps_of_slice.done, seconds)
                self.problem.cache[_PACE] = _Pace(steps_of_slice.points / seconds, steps)
                self.points += steps_of_slice.points
                finite = bool(steps_of_slice.finite)
                state.whole |= bool(steps_of_slice.whole)
                anew = anew and trial
                if progress is not None:
                    progress(state.it)
        return finite

    def _front(self, state: State, n: int) -> int:
        """Return the steps between two looks at how far `state` comes in `n` steps; 0: nothing is left out."""
        looks = look_after(math.prod(self.problem.layout.shape3))
        return 0 if n < LOOKS[0] or state.whole or not cpu.leaves_out() else looks

    def _slice(self, left: int, it: int) -> int:
        """Return how many of the `left` steps from time index `it` the next slice has."""
        seed = batch_seed()
        if seed is not None:
            return min(left, _native.drawn_steps(seed, it))
        pace = self.problem.cache.get(_PACE)
        if not isinstance(pace, _Pace):
            return 1
        whole = math.prod(self.problem.layout.shape3)
        return max(1, min(left, int(pace.rate * SLICE_SECONDS / whole), GROWTH * pace.steps))

    def _run(self, state: State, steps_of_slice: _Steps) -> None:
        """Do the steps of a slice."""
        lib = library()
        run, arrays, steps = lib.subsalt_cuda_segment_run, levels(state), ctypes.byref(steps_of_slice)
        try:
            status = run(self.pointer, arrays, steps)
        finally:
            # Ctrl-C shows here, behind the call; no call is made before the state is what was computed
            if steps_of_slice.done & 1:
                state.prev, state.curr = state.curr, state.prev
            state.it += steps_of_slice.done
        check(lib, status)

    def part(
        self,
        state: State,
        it: int,
        memory: Box | None,
        boxes: Sequence[Box],
        *,
        last: bool,
        until: int,
    ) -> None:
        """Queue a part of the step from time index `it`; nothing waits, and the state is not rotated.

        After the last part comes `finish`.

        Parameters
        ----------
        state : State
            The time levels that the step reads; it writes the new level over `prev`.
        it : int
            Time index of `curr`.
        memory : Box, optional
            Box in which Psi is advanced, before the other boxes.
        boxes : sequence of Box
            Boxes of the next level that are written. Then sources act, and shells are put back.
        last : bool
            The level is complete now: shells are kept, and the level is recorded, copied and imaged.
        until : int
            Time index up to which the host's arrays may be read ahead: the end of these steps.
        """
        self._bring_sums()
        psi = None if memory is None else corner((*memory.lo, *memory.hi))
        given = corner([i for box in boxes if box.size for i in (*box.lo, *box.hi)])
        n = sum(1 for box in boxes if box.size)
        call(
            "subsalt_cuda_segment_part",
            self.pointer,
            levels(state),
            it,
            psi,
            given,
            n,
            int(last),
            until,
        )

    def finish(self) -> None:
        """Wait until all that came out is on the host, and nothing is read from it any more."""
        call("subsalt_cuda_segment_finish", self.pointer)
        if self._sums_there:
            self._sums_there = False
            for array, there in self._sums.values():
                array[...] = np.asarray(there)

    def _bring_sums(self) -> None:
        """Bring the sums of the host to the GPU, unless they are there."""
        if not self._sums_there:
            for array, there in self._sums.values():
                there[...] = array
            self._sums_there = True

    @contextmanager
    def _arriving(self) -> Iterator[None]:
        """Wait at the end of the block, whatever happens, for all that comes back to the host."""
        self._bring_sums()
        try:
            yield
        except BaseException:
            with suppress(DeviceError):  # what has been raised says more
                self.finish()
            raise
        self.finish()

    def _check(self, state: State) -> None:
        for level in (state.prev, state.curr):
            if len(level) != self.problem.n_fields:
                raise ValueError("the state has the wrong number of fields")
            for field in level:
                if tuple(field.shape) != tuple(self.levels_shape):
                    raise ValueError(
                        f"a field of shape {tuple(field.shape)} on a grid of {self.levels_shape}"
                    )


def _free(free: Callable[[int], int], pointer: int, *held: object) -> None:
    """Free a segment of the plug-in before what it points to goes."""
    free(pointer)


def look_after(points: int) -> int:
    """Return the steps between two looks at how far a wavefield has come; 0: so few points are advanced whole."""
    return 0 if points < SMALLEST else max(LOOKS[0], min(LOOKS[1], LOOK_POINTS // points))


def settle(problem: Problem, state: State) -> tuning.Cut:
    """Advance `state` until the tuning of this problem is chosen, and return it: rows and planes of a block."""
    segment, tuner = Segment(problem), tuner_of(problem)
    while not tuner.settled:
        segment.advance(state, tuner.steps(tuner.left[0]), 1 << 30, False)
    return tuner.best


def counters() -> dict[str, int]:
    """Return the work of this process on the GPU: steps, launches, bytes to and from it, snapshots."""
    out = corner([0] * 5)
    call("subsalt_cuda_counters", out)
    return dict(zip(("steps", "launches", "to_device", "to_host", "snapshots"), out, strict=True))
