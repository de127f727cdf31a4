"""Time steps of a slab by the compiled kernels, in passes of several steps, overlapped with messages.

The order of the pieces is that of `subsalt.kernels.passes`. A piece is one call of compiled code; between two pieces
the exchange of ghost planes is poked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from subsalt import _native
from subsalt.kernels import cpu, tuning
from subsalt.kernels.passes import Pass, Planes, pass_of
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.stepper import Exchange, Sharing, Stepwise
from subsalt.kernels.work import Work

#: point-steps per thread between two pokes: about a millisecond
PIECE = 1 << 20

#: looks at an exchange between two pieces: a library that moves a message in parts moves one per look
LOOKS = 32

#: point-steps of a piece of one tile from which threads share it: below, waking them takes longer
SHARED = 1 << 15


class SlabPasses(Stepwise):
    """One pass per call; the arguments that stay the same are prepared once.

    That the wavefield is not finite, progress and Ctrl-C are noticed after passes. The bits do not depend on how many
    steps a pass has, nor on whether the ranks agree on it.

    Parameters
    ----------
    problem : Problem
        The planes held; isotropic or VTI.
    work : Work
        Its points have weights on owned planes only; its shells lie on owned planes.
    sharing : Sharing
        How the wavefield is shared with other ranks.
    """

    def __init__(self, problem: Problem, work: Work, sharing: Sharing) -> None:
        super().__init__(problem, cpu.is_finite)
        cuts, depth, self.exchange = sharing.cuts, sharing.depth, sharing.exchange
        whole = cpu.Segment(problem, work)
        self.cuts = cuts
        self.threads, self.isa = cpu.in_use()
        rows, _, fetch = tuning.cut(problem)
        self.recorders = [
            (points, data, np.zeros((depth, len(r.points), r.points.width), dtype=np.float32))
            for r, (points, data) in zip(work.recorders, whole.recorders, strict=True)
        ]
        taps = [(points, data.shape[0], shares) for points, data, shares in self.recorders]
        self.native: Any = _native.SlabPasses(
            whole.plan,
            whole.sources,
            taps,
            whole.samples,
            (rows, depth, fetch),
            self.threads,
            self.isa,
            whole.shells,
            whole.inner,
            cpu.slow_thread(),
        )
        self.depth = min(depth, self.native.depth)
        seed = tuning.batch_seed()
        #: seed of random passes in tests; it depends on the held planes, so that neighbours draw different passes
        self.seed = None if seed is None else (seed + cuts.planes + 7 * cuts.lo + 31 * cuts.sent_hi) % 2**63
        ny, nz = problem.layout.shape3[1:]
        self.plane = ny * nz
        # threads have tiles of their own, or, where there is but one (2-D), steps of it
        steps = self.depth if self.native.tiles > 1 else -(-self.depth // self.threads)
        per_plane = max(1, ny // self.native.tiles) * nz
        #: planes of the first step between two pokes; two at least, since some kernels do two at once
        self.stride = max(2, PIECE // (per_plane * steps))

    def begin(self, state: State) -> None:
        """Begin the exchange of the newest level."""
        self.exchange.start(state.curr)

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """Wait at the end of the block for the ghost planes; not after an error, when they may never come."""
        yield
        self.exchange.finish()

    def steps(self, state: State, n: int) -> None:
        """Do one pass of at most `n` steps, after which the exchange of the newest level has started.

        The exchange of the level of `state` may still be.
        """
        exchange = self.exchange
        steps = min(n, self.depth)
        if self.seed is not None:
            steps = min(steps, _native.drawn_steps(self.seed, state.it, self.depth))
        made = pass_of(self.cuts, steps)
        while made is None:
            steps -= 1
            made = pass_of(self.cuts, steps)
        self.native.begin(state.prev, state.curr, list(state.memory.values()), state.it, steps)
        reached: int | None = None
        levels = state.prev, state.curr
        for k, pieces in enumerate(made.stages):
            exchange.finish()
            for planes in pieces:
                self._run(k, planes)
            exchange.start(levels[k % 2])
            if k + 1 < steps:
                reached = self._go_ahead(made, exchange, reached)
        if made.core:
            self._core(made, exchange, reached)
        for points, data, shares in self.recorders:
            _native.add_shares(points, shares, data, state.it, steps, self.isa)
        if steps % 2:
            state.prev, state.curr = state.curr, state.prev
        state.it += steps

    def _run(
        self,
        first: int,
        planes: Sequence[Planes],
        tiles: tuple[int, int] | None = None,
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        """Do the steps from `first` on in their planes."""
        end = self.cuts.planes if stop is None else stop
        threads = self.threads
        if self.native.tiles == 1:
            span = min(end - start, max(hi - lo for lo, hi, *_ in planes))
            threads = threads if span * self.plane * len(planes) >= SHARED else 1
        self.native.run(first, planes, tiles or (0, self.native.tiles), (start, end), threads)

    @property
    def _leading(self) -> tuple[int, int]:
        """The tiles that go ahead: one per thread."""
        return 0, min(self.threads, self.native.tiles)

    def _go_ahead(self, made: Pass, exchange: Exchange, reached: int | None) -> int | None:
        """Sweep over the first tiles until the exchange is complete, or the shells are near; return how far."""
        while made.core and not _poke(exchange):
            start = made.ahead[0][0] if reached is None else reached
            if start >= made.ahead_to:
                break
            reached = min(start + self.stride, made.ahead_to)
            self._run(0, made.ahead, self._leading, start, reached)
        return reached

    def _core(self, made: Pass, exchange: Exchange, reached: int | None) -> None:
        """Do what is left of all steps of a pass in one pass over memory."""
        tile = 0
        if reached is not None:
            tile = self._leading[1]
            if reached < made.ahead[0][1]:
                self._sweep(made.ahead, self._leading, reached, exchange)
            if made.wedge:  # writes over what the sweep has read
                self._run(0, made.wedge, self._leading)
        while tile < self.native.tiles:
            if _poke(exchange):
                self._run(0, made.core, (tile, self.native.tiles))
                return
            some = tile, min(tile + self.threads, self.native.tiles)
            self._sweep(made.core, some, made.core[0][0], exchange)
            tile = some[1]

    def _sweep(
        self, planes: Sequence[Planes], tiles: tuple[int, int], start: int, exchange: Exchange
    ) -> None:
        """Do some tiles from plane `start` on, with pokes until the exchange is complete."""
        end = planes[0][1]
        while start + self.stride < end and not _poke(exchange):
            self._run(0, planes, tiles, start, start + self.stride)
            start += self.stride
        self._run(0, planes, tiles, start)


def _poke(exchange: Exchange) -> bool:
    """Make progress on an exchange; return whether it is complete."""
    return any(exchange.poke() for _ in range(LOOKS))
