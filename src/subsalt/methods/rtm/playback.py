"""The movie of a shot of a run: from the wavefields it has kept, or by propagating the shot again.

Everything is done on the thinned grid of the movie: products are taken point by point, so that fewer points change
none of the others.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt import kernels
from subsalt.acquisition.survey import Shot, Survey
from subsalt.checkpoint.storage.wavefield import StoredWavefield
from subsalt.earth.even_depths import EvenDepths
from subsalt.earth.grid import Box, Grid
from subsalt.errors import ConfigError, CorruptionError
from subsalt.io.scratch import UnnamedFile
from subsalt.io.tile_cache import remember_tiles
from subsalt.kernels.problem import State
from subsalt.methods.rtm.conditions import ImagingSums, condition_of
from subsalt.methods.rtm.engine import receiver_samples, window_weights
from subsalt.methods.rtm.image_sum import ILLUMINATION
from subsalt.methods.rtm.job_setup import migration_setup, survey_of
from subsalt.methods.rtm.partial_image import open_partial
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.source_run import SourceRun
from subsalt.methods.rtm.wavefields import by_shot, open_wavefield
from subsalt.propagation.propagator import Propagator
from subsalt.run.progress import duration
from subsalt.view.frame_thinning import ordinal, thinning
from subsalt.view.movie import FIELDS, Frames, Movie, MovieAxis

#: which points of a window are taken, per axis
Cut = tuple[slice, slice, slice]


class Reader(Protocol):
    """A wavefield at the samples of a shot."""

    def expect(self, samples: Sequence[int]) -> None:
        """Say in which order samples will be read."""

    def read(self, sample: int) -> NDArray[np.float32]:
        """Return the field at a sample."""


class Thinned:
    """A kept wavefield, thinned as it is read."""

    def __init__(self, stored: StoredWavefield, cut: Cut) -> None:
        self._stored, self._cut = stored, cut

    def expect(self, samples: Sequence[int]) -> None:
        """Say in which order samples will be read."""
        self._stored.expect(samples)

    def read(self, sample: int) -> NDArray[np.float32]:
        """Return the field at a sample."""
        return self._stored.read(sample)[self._cut]


class Replayed:
    """A wavefield that was propagated again: thinned samples in an unnamed file."""

    def __init__(self, file: UnnamedFile, shape: tuple[int, ...], first: int) -> None:
        self._file, self._shape, self._first = file, shape, first
        self._bytes = 4 * math.prod(shape)
        self._written: set[int] = set()

    def put(self, sample: int, field: NDArray[np.float32]) -> None:
        """Keep the field at a sample."""
        self._file.write(np.ascontiguousarray(field).tobytes(), (sample - self._first) * self._bytes)
        self._written.add(sample)

    def expect(self, samples: Sequence[int]) -> None:
        """Need nothing: all is there."""

    def read(self, sample: int) -> NDArray[np.float32]:
        """Return the field at a sample; one that was never put is at rest."""
        if sample not in self._written:
            return np.zeros(self._shape, dtype=np.float32)
        data = self._file.read(self._bytes, (sample - self._first) * self._bytes)
        return np.frombuffer(data, dtype=np.float32).reshape(self._shape)


class Replay:
    """Propagates a shot of a run again.

    Parameters
    ----------
    setup : MigrationSetup
        Setup of the run.
    survey : Survey
        With the traces of the shot.
    shot : Shot
        Which.
    samples : sequence of int
        Numbers of the imaged samples that are wanted, one after the other.
    cut : tuple of slice
        Which points of the window are wanted.
    folder : Path, optional
        Folder of the unnamed files; that of the system for temporary files when None.
    """

    def __init__(
        self,
        setup: MigrationSetup,
        survey: Survey,
        shot: Shot,
        samples: Sequence[int],
        cut: Cut,
        folder: Path | None = None,
    ) -> None:
        self.setup, self.survey, self.shot, self.folder = setup, survey, shot, folder
        self.first, self.last, self._cut = samples[0], samples[-1], cut
        points = np.concatenate([shot.src[None], shot.rcv])
        self._prop = Propagator(
            setup.model,
            setup.propagation,
            setup.axis.dt,
            window=setup.window(shot),
            points=points,
            taper_at=points,
        )
        box = self._prop.interior.shape
        self.shape = tuple(len(range(*c.indices(n))) for c, n in zip(cut, box, strict=True))

    @property
    def bytes(self) -> int:
        """Bytes of the unnamed file of a wavefield."""
        return 4 * (self.last - self.first + 1) * int(np.prod(self.shape))

    @property
    def points(self) -> int:
        """Points of the computational grid."""
        return self._prop.point_count

    def steps(self, name: str) -> int:
        """Return the time steps from rest to the last sample that is wanted of a wavefield."""
        k, n = self.setup.image_step, self.setup.axis.nt - 1
        return self.last * k if name == "source" else n - self.first * k

    @contextmanager
    def propagated(self, name: str, progress: Callable[[float], None]) -> Iterator[Replayed]:
        """Yield a wavefield of the shot, propagated when the block is entered.

        Parameters
        ----------
        name : {"source", "receiver"}
            Which; w is that at the times of u.
        progress : callable
            Called with the fraction done.
        """
        setup, shot, prop = self.setup, self.shot, self._prop
        k, n, steps = setup.image_step, setup.axis.nt - 1, self.steps(name)
        if name == "source":
            injected = prop.source(shot.src[None], setup.signature[None])
            at = {i * k: i for i in range(self.first, self.last + 1)}
        else:
            injected = prop.source(shot.rcv, receiver_samples(setup, shot, self.survey.traces(shot)))
            at = {n - i * k: i for i in range(self.first, self.last + 1)}
        with closing(UnnamedFile(self.folder or tempfile.gettempdir())) as file:
            # at time 0 the field is at rest, and is not put
            fields = Replayed(file, self.shape, self.first)

            def take(state: State) -> None:
                whole = prop.kernels.to_host(prop.kernels.imaged(prop.problem, state.curr, prop.interior))
                fields.put(at[state.it], whole[self._cut])

            prop.advance(
                prop.new_state(),
                steps,
                sources=[injected],
                hook=take,
                at=at,
                progress=lambda it: progress(it / max(1, steps)),
            )
            progress(1.0)
            yield fields


#: wavefields behind what is shown
BEHIND = {"source": ("source",), "receiver": ("receiver",), "image": ("source", "receiver")}
#: ``progress(done, total, message)``
Progress = Callable[..., None]


def movie_of(
    run: Path,
    shot: int | None = None,
    *,
    fields: Sequence[str] = FIELDS,
    max_bytes: float = 50e6,
    size: int | None = None,
    every: int | None = None,
    start: float | None = None,
    stop: float | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Movie:
    """Return the movie of a shot.

    Parameters
    ----------
    run : Path
        Run directory; only read.
    shot : int, optional
        Its id; the first one that the run has finished when None.
    fields : sequence of str
        ``"source"``, ``"receiver"``, ``"image"``: what is shown.
    max_bytes : float
        Most bytes of the frames: rules how much they are thinned.
    size : int, optional
        Most points along an axis.
    every : int, optional
        Samples from one frame to the next.
    start, stop : float, optional
        First and last time, s, as in the traces.
    folder : Path, optional
        Where frames are kept in an unnamed file; in memory when None.
    progress : callable, optional
        ``progress(done, total, message)``.
    say : callable, optional
        Callback for progress text: the cost, when the shot has to be propagated again.

    Raises
    ------
    MissingInputError
        When there is no such run, or its inputs are gone.
    ConfigError
        When the shot or the times are not in it, or the movie cannot fit.

    Notes
    -----
    The frame of the image at time t holds what samples up to t have added, so that the image grows as the movie goes
    on. The migration adds the same samples from the last to the first: the last frame is the image of the shot but for
    the rounding of another order. What a condition divides by is the illumination of the whole shot in every frame.
    """
    source = SourceRun.open(run)
    job = source.job
    model = job.open_propagation_model()
    survey = survey_of(job, model)
    kernels.prepare(job.propagation_options.device, job.propagation_options.threads)
    remember_tiles()
    setup = migration_setup(job, model, survey)
    chosen = _shot(survey, source, shot)
    window = setup.window(chosen)
    grid = model.grid.window(window)
    samples = samples_between(setup, start, stop)
    shown = [f for f in FIELDS if f in fields]
    if not shown or len(shown) < len(set(fields)):
        raise ConfigError(
            f"fields {', '.join(fields) or '(none)'}", f"name some of {', '.join(FIELDS)}", code="E865"
        )
    depths = None if grid.depth_axis is None else EvenDepths(grid)
    even = grid if depths is None else depths.even
    thin, stride = thinning(even.shape, len(samples), len(shown), max_bytes, size=size, every=every)
    every_nth = slice(None, None, thin)
    # products are taken at the nodes, which a stretched axis has at other depths
    cut = (every_nth, every_nth, every_nth if depths is None else slice(None))
    stages = _Stages(progress)
    with ExitStack() as stack:
        stored = by_shot(source.wavefields).get(chosen.id, {})
        needed = list(dict.fromkeys(w for f in shown for w in BEHIND[f]))
        # damaged or gone: the shot is propagated again, as if it had not been kept
        readers: dict[str, Reader] = {}
        for name in needed:
            if name in stored:
                try:
                    readers[name] = Thinned(
                        stack.enter_context(open_wavefield(source.folder, stored[name])), cut
                    )
                except CorruptionError as error:
                    say(f"{error.message}: it is propagated again")
        again = [n for n in needed if n not in readers]
        stages.stages = len(again) + 1
        if again:
            replay = Replay(setup, survey, chosen, samples, cut, folder)
            say(_said(replay, again, source))
            for name in again:
                readers[name] = stack.enter_context(
                    replay.propagated(name, stages.stage(f"{name} wavefield of shot {chosen.id}"))
                )
        images = None
        if "image" in shown:
            images = _Images(setup, window, cut, source, chosen.id, readers["source"], samples)
        frames = {f: Frames(len(samples[::stride]), _shape(even, thin), folder) for f in shown}
        sink = frames if depths is None else {f: _AtDepths(frames[f], depths, thin, f) for f in shown}
        _fill(sink, readers, samples, stride, images, stages.stage("frames"))
    vp = model.values("vp", window)[cut]
    return Movie(
        chosen.id,
        job.title or job.name,
        source.run_id,
        _axes(even, thin),
        setup.axis.t0 + setup.axis.dt * setup.image_step * np.array(samples[::stride], dtype=np.float64),
        np.array(samples[::stride], dtype=np.int64),
        np.ascontiguousarray(
            (vp if depths is None else depths.nearest(vp, thin)).reshape(_shape(even, thin))
        ),
        frames,
        chosen.src[None],
        chosen.rcv,
        facts=_facts(setup, again, needed, thin, stride),
    )


def samples_between(setup: MigrationSetup, start: float | None, stop: float | None) -> list[int]:
    """Return the numbers of the imaged samples between two times, s; of all where a time is None."""
    axis, k = setup.axis, setup.image_step
    times = {i: axis.t0 + i * k * axis.dt for i in range(1, len(setup.imaged_samples) + 1)}
    low, high = -np.inf if start is None else start, np.inf if stop is None else stop
    samples = [i for i, t in times.items() if low <= t <= high]
    if not samples:
        raise ConfigError(
            f"no sample between {low:g} and {high:g} s",
            f"the samples go from {times[1]:.4g} to {times[len(times)]:.4g} s",
            code="E865",
        )
    return samples


def _shot(survey: Survey, source: SourceRun, wanted: int | None) -> Shot:
    """Return a shot of the survey: the wanted one, else the first that the run has finished."""
    by_id = {s.id: s for s in survey.shots}
    done = [int(r["id"]) for r in source.rows if r["state"] == "done" and r["id"] in by_id]
    shot = wanted if wanted is not None else next(iter([*done, *by_id]))
    if shot not in by_id:
        ids = ", ".join(map(str, list(by_id)[:10])) + (", ..." if len(by_id) > 10 else "")
        raise ConfigError(
            f"{source.folder} has no shot {shot}", f"its {len(by_id)} shots: {ids}", code="E865"
        )
    return by_id[shot]


def _said(replay: Replay, names: Sequence[str], source: SourceRun) -> str:
    """Return the cost of propagating a shot again, in words."""
    steps = sum(replay.steps(n) for n in names)
    whole = 2 * (replay.setup.axis.nt - 1)
    took = next((r["seconds"] for r in source.rows if r["id"] == replay.shot.id), None)
    about = f", about {duration(took * steps / whole)} at the speed of the run" if took else ""
    return (
        f"the {' and '.join(names)} wavefield{'s' * (len(names) > 1)} of shot {replay.shot.id} "
        f"{'were' if len(names) > 1 else 'was'} not kept: propagating again, {steps} steps of {replay.points:,} points"
        f"{about}, {len(names) * replay.bytes / 1e6:.3g} MB of temporary files"
    )


class _Stages:
    """Progress of one stage after the other."""

    def __init__(self, call: Progress | None) -> None:
        self.call, self.stages, self._stage = call, 1, 0

    def stage(self, message: str) -> Callable[[float], None]:
        """Return what is called with the fraction of the next stage that is done."""
        number, self._stage = self._stage, self._stage + 1

        def reached(fraction: float) -> None:
            if self.call is not None:
                self.call(number + fraction, self.stages, message)

        return reached


class _Images:
    """Makes the image of a shot on the thinned grid from the sum of the products so far.

    The illumination is that of the partial image where it is there, else summed over the source wavefield first.
    """

    def __init__(
        self,
        setup: MigrationSetup,
        window: Box,
        cut: Cut,
        source: SourceRun,
        shot: int,
        field: Reader,
        samples: Sequence[int],
    ) -> None:
        self.setup, self.condition = setup, condition_of(setup.imaging.condition)
        self.scale = setup.image_step * setup.axis.dt
        #: the outer edges of a window that ends inside the model fade, as in the image
        self.weight = np.ones((1, 1, 1), np.float32)
        for w in window_weights(setup, window):
            self.weight = self.weight * w
        self.weight = np.broadcast_to(self.weight, window.shape)[cut]
        self.light: NDArray[np.float64] | None = None
        if ILLUMINATION in self.condition.accumulators:
            light = _partial_illumination(source, shot, window)
            self.light = (self._summed(field, samples) if light is None else light[cut]).astype(np.float64)
        whole = setup.model.grid.window(window)
        steps = [s.step or 1 for s in _of_axes(cut, whole)]
        self.grid = replace(
            whole,
            shape=tuple(-(-n // k) for n, k in zip(whole.shape, steps, strict=True)),
            spacing=tuple(h * k for h, k in zip(whole.spacing, steps, strict=True)),
        )
        self.correlation = np.zeros(self.weight.shape, np.float32)

    def _summed(self, field: Reader, samples: Sequence[int]) -> NDArray[np.float32]:
        out = np.zeros(self.weight.shape, np.float32)
        field.expect(samples)
        for i in samples:
            out += np.float32(self.scale) * field.read(i) ** 2
        return out * self.weight

    def add(self, u: NDArray[np.float32], w: NDArray[np.float32]) -> None:
        """Add the product of both wavefields at a sample."""
        self.correlation += np.float32(self.scale) * u * w

    def image(self) -> NDArray[np.float64]:
        """Return the image of what was added so far; fields are not separated, whatever the condition."""
        fields = {self.condition.product: (self.correlation * self.weight).astype(np.float64)}
        light = (0.0, 1)
        if self.light is not None:
            fields[ILLUMINATION] = self.light
            light = float(self.light.sum()), self.light.size
        return self.condition.finish(ImagingSums(fields, self.grid, self.setup.imaging.normalise, light))


def _partial_illumination(source: SourceRun, shot: int, window: Box) -> NDArray[np.float32] | None:
    """Return the illumination of a shot from its partial image, None when that does not have it."""
    sha = source.partials.get(shot)
    if sha is None:
        return None
    try:
        with open_partial(source.folder / "images", shot, sha) as file:
            return file.read(window.lo[0], window.hi[0]).get(ILLUMINATION)
    except CorruptionError:
        return None


class _AtDepths:
    """Frames that take fields of a stretched depth axis."""

    def __init__(self, frames: Frames, depths: EvenDepths, thin: int, name: str) -> None:
        self._frames, self._thin = frames, thin
        self._carry = depths.image if name == "image" else depths.field
        self.shape = frames.shape

    def put(self, frame: int, values: NDArray[np.floating]) -> None:
        """Keep a frame."""
        self._frames.put(frame, self._carry(values, self._thin).reshape(self.shape))


def _fill(
    frames: Mapping[str, Frames | _AtDepths],
    readers: dict[str, Reader],
    samples: Sequence[int],
    stride: int,
    images: _Images | None,
    progress: Callable[[float], None],
) -> None:
    """Fill the frames: every sample where the image is shown, else every one of a frame."""
    wanted = samples if images is not None else samples[::stride]
    for reader in readers.values():
        reader.expect(wanted)
    for number, i in enumerate(wanted):
        planes = {name: reader.read(i) for name, reader in readers.items()}
        if images is not None:
            images.add(planes["source"], planes["receiver"])
        frame, rest = divmod(number, stride) if images is not None else (number, 0)
        if rest == 0:
            for name, out in frames.items():
                values = images.image() if images is not None and name == "image" else planes[name]
                out.put(frame, values if isinstance(out, _AtDepths) else values.reshape(out.shape))
        progress((number + 1) / len(wanted))


def _of_axes(cut: Cut, grid: Grid) -> tuple[slice, ...]:
    return cut if grid.ndim == 3 else (cut[0], cut[2])


def _shape(grid: Grid, thin: int) -> tuple[int, ...]:
    return tuple(-(-n // thin) for n in grid.shape)


def _axes(grid: Grid, thin: int) -> tuple[MovieAxis, ...]:
    names = "xz" if grid.ndim == 2 else "xyz"
    shape = _shape(grid, thin)
    return tuple(
        MovieAxis(name, o, h * thin, n)
        for name, o, h, n in zip(names, grid.origin, grid.spacing, shape, strict=True)
    )


def _facts(
    setup: MigrationSetup, again: Sequence[str], needed: Sequence[str], thin: int, stride: int
) -> dict[str, str]:
    """Return what the page says of the movie."""
    points = "every point" if thin == 1 else f"every {ordinal(thin)} point"
    times = "every sample" if stride == 1 else f"every {ordinal(stride)} sample"
    origin = "kept wavefields"
    if again:
        origin = (
            "propagated again"
            if len(again) == len(needed)
            else f"kept wavefields, {again[0]} propagated again"
        )
    return {
        "medium": setup.model.medium,
        "condition": setup.imaging.condition,
        "frames": origin,
        "thinned": f"{points}, {times}",
    }
