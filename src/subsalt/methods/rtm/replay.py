"""Wavefields of one shot at some samples, thinned: read from what a run has kept, or propagated again."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.checkpoint.kept import KeptWavefield
from subsalt.io.scratch import UnnamedFile
from subsalt.kernels.problem import State
from subsalt.methods.rtm.rtm import receiver_samples
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.propagator import Propagator

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

    def __init__(self, kept: KeptWavefield, cut: Cut) -> None:
        self._kept, self._cut = kept, cut

    def expect(self, samples: Sequence[int]) -> None:
        """Say in which order samples will be read."""
        self._kept.expect(samples)

    def read(self, sample: int) -> NDArray[np.float32]:
        """Return the field at a sample."""
        return self._kept.read(sample)[self._cut]


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
        Of the run.
    survey : Survey
        With the traces of the shot.
    shot : Shot
        Which.
    samples : sequence of int
        Numbers of the imaged samples that are wanted, one after the other.
    cut : tuple of slice
        Which points of the window are wanted.
    folder : Path, optional
        Of the unnamed files; that of the system for temporary files when None.
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
