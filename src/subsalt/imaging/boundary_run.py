"""The two sweeps of a shot when the source wavefield is not stored: it runs backwards in time beside the receivers'.

On its way forward it leaves its shell at every step (`subsalt.imaging.reversal`), in chunks of whole imaged samples.
Then, chunk by chunk from the last to the first, it goes back over the steps of the chunk, leaving its imaged samples in
a few arrays, and the receiver wavefield comes over the same samples and is correlated with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.shell import Chunks
from subsalt.imaging.conditions import Condition
from subsalt.imaging.reversal import Backwards, shell_of
from subsalt.imaging.shell_store import ShellStore
from subsalt.kernels.problem import State
from subsalt.propagator import Propagator
from subsalt.segment import Shells, Source
from subsalt.timing import Phases


@dataclass
class ReversalRun:
    """One shot by reversal.

    Parameters
    ----------
    prop : Propagator
        Of both wavefields.
    source, receivers : Source
        What is injected, the receivers' in reversed time.
    condition : Condition
        Takes the image.
    samples : sequence of int
        Imaged time indices: k, 2 k, ...
    scale : float
        The time that a sample stands for.
    steps : int
        Time steps of the receiver wavefield.
    chunk : int
        Samples of a chunk.
    store : ShellStore
        Holds the shells of the chunks.
    clock : Phases
        Takes the seconds of ``source`` (both ways) and ``receivers``.
    reached : callable
        Called with the steps done of ``2 steps``.
    """

    prop: Propagator
    source: Source
    receivers: Source
    condition: Condition
    samples: Sequence[int]
    scale: float
    steps: int
    chunk: int
    store: ShellStore
    clock: Phases
    reached: Callable[[int], None]

    def __post_init__(self) -> None:
        self.shell = shell_of(self.prop.domain, self.prop.medium)
        step, last = self.samples[0], self.samples[-1]
        self.chunks = Chunks(step, last, self.chunk)
        self.last = last
        self.room = self._room()

    def _room(self) -> list[NDArray]:
        """Return arrays for the samples of a chunk, and of what the last two levels hold."""
        shape = self.prop.interior.shape
        count = self.chunks.buffers
        memory = self.prop.kernels.reserve(count * int(np.prod(shape)), self.prop.dtype)
        return list(memory.reshape(count, *shape))

    def image(self) -> None:
        """Run both sweeps; the sums of the condition hold the image afterwards."""
        with self.clock("source"):
            state, at_end = self.forward()
        behind = Backwards(self.last)
        back = behind.state(state)
        with self.prop.without_layer() as bare:
            source = behind.source(self.source)
            receivers = self.prop.new_state()
            self.receive(receivers, at_end)
            for number in reversed(range(self.chunks.count)):
                with self.clock("source"):
                    fields = self.backward(bare, back, source, number)
                self.receive(receivers, fields)
            self.receive(receivers, {}, self.steps)

    def forward(self) -> tuple[State, dict[int, NDArray]]:
        """Advance the source wavefield to the last sample; return it, and the samples that its two levels hold."""
        prop, state = self.prop, self.prop.new_state()
        at_end = dict(zip((n for n in self.samples if n >= self.last - 1), self.room, strict=False))
        snapshots = self.condition.snapshots({n: at_end.get(n) for n in self.samples}, self.scale)

        def advance(until: int, shells: Shells | None = None) -> None:
            prop.advance(
                state,
                until - state.it,
                sources=[self.source],
                snapshots=snapshots,
                shells=shells,
                progress=self.reached,
            )

        for number in range(self.chunks.count):
            first, last = self.chunks.steps(number)
            advance(first - 1)
            with self.store.writing(number, last + 1 - first) as rows:
                advance(last, Shells(self.shell, rows, first))
        advance(self.last)
        return state, at_end

    def backward(
        self, bare: Propagator, back: State, source: Source, number: int
    ) -> dict[int, NDArray]:
        """Run the source wavefield back over a chunk; return its imaged samples by time index."""
        first, last = self.chunks.steps(number)
        fields = dict(zip((n for n in self.samples if first <= n <= last), self.room, strict=False))
        with self.store.reading(number, last + 1 - first) as rows:
            bare.advance(
                back,
                last + 1 - first,
                sources=[source],
                snapshots=self._copies({self.last - n: u for n, u in fields.items()}),
                shells=Shells(self.shell, rows, self.last - first, -1, put_back=True),
                inner=self.shell.inside,
            )
        return fields

    def receive(self, state: State, fields: dict[int, NDArray], until: int | None = None) -> None:
        """Advance the receiver wavefield over some samples of the source's, and correlate it with them."""
        until = self.steps - min(fields) if until is None else until
        with self.clock("receivers"):
            self.prop.advance(
                state,
                until - state.it,
                sources=[self.receivers],
                correlation=self.condition.correlation(
                    {self.steps - n: u for n, u in fields.items()}, self.scale
                ),
                progress=lambda it: self.reached(self.steps + it),
            )
