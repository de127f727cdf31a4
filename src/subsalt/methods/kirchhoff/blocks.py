"""The blocks of a time migration: every rank takes the next one that is not done, and sums the traces in its reach.

A block counts as done only after its sums are published. While it is summed, restart points are published now and then,
and once more when somebody stops the run, so that the next start goes on from there.

A signal waits until the traces being summed are in the sums (`HeldSignals`).
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from subsalt.io.prestack.trace_blocks import TraceBlocks
from subsalt.methods.kirchhoff.assemble import block_path
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.engine import migrate_block, select, start
from subsalt.methods.kirchhoff.partial import write_sums
from subsalt.methods.kirchhoff.restart import RestartPoints
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.methods.kirchhoff.sums import Sums
from subsalt.run.crashes import CrashNote
from subsalt.run.facts import log_event
from subsalt.run.scheduler import Outcome
from subsalt.run.units import Report
from subsalt.timing import Phases

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


class HeldSignals:
    """A context in which signals that stop a run are only noted; their handlers run at its end.

    A sum that a handler left in the middle could not be stored: nobody would know which traces are in it. In threads
    other than the main one, which get no signals, it does nothing.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came: list[tuple[int, FrameType | None]] = []

    def __enter__(self) -> HeldSignals:
        if threading.current_thread() is threading.main_thread():
            for number in STOPPING:
                if callable(handler := signal.getsignal(number)):
                    self._before[number] = handler
                    signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came.append((number, frame))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if error is None:
            for number, frame in self._came:
                self._before[number](number, frame)


@dataclass
class Counted:
    """What the blocks of a rank took in this start."""

    contributions: int = 0
    traces: int = 0
    bytes: int = 0
    read_seconds: float = 0.0
    saves: int = 0


@dataclass
class BlockRunner:
    """Sums the blocks that this rank takes.

    Parameters
    ----------
    setup : KirchhoffSetup
        What all blocks share.
    images : Path
        Folder of finished sums.
    points : RestartPoints
        Of the run.
    clock : Phases
        Takes the seconds.
    threads : int
        Of this rank.
    size : int
        Traces that are read, prepared and summed at a time.
    save_every : float
        Seconds between two restart points; 0: none.
    crash : CrashNote, optional
        Where it is said which block this rank begins.
    device : str
        Where traces are summed.
    by : str
        What that is, in words.
    """

    setup: KirchhoffSetup
    images: Path
    points: RestartPoints
    clock: Phases
    threads: int
    size: int
    save_every: float
    crash: CrashNote | None = None
    device: str = "cpu"
    by: str = ""
    counted: Counted = field(default_factory=Counted)

    def __post_init__(self) -> None:
        self._finished: Block | None = None

    def one(self, block: Block, ahead: Block | None, report: Report) -> Outcome:
        """Sum the traces of a block and publish the sums; return what became of it."""
        begin = time.monotonic()
        if self._finished is not None:
            # rank 0 knows that it is done: nobody needs its restart point any more
            self.points.remove(self._finished)
            self._finished = None
        report(block, 0.0)
        if self.crash is not None:
            self.crash.now(block.id)
        with self.clock("restart"):
            sums = self._begin(block)
        with self.clock("selection"):
            index = select(self.setup, block)
        done = int(np.searchsorted(index, sums.next))
        before = sums.contributions
        self._sum(
            sums, index[done:], lambda: report(block, self._share(sums, index), sums.contributions - before)
        )
        with self.clock("block output"):
            sha = write_sums(block_path(self.images, block.id), sums)
        self._finished = block
        facts = {"contributions": sums.contributions, "traces": sums.traces}
        return {
            "block": block.id,
            "shot": block.id,
            "sha256": sha,
            "seconds": time.monotonic() - begin,
            "counted": sums.contributions - before,
            "facts": facts,
            "by": self.by,
        }

    def _begin(self, block: Block) -> Sums:
        """Return the sums of a block as far as a restart point has them."""
        sums = self.points.load(block) if self.save_every else None
        for text in self.points.dropped:
            log_event(self.images.parent, event="restart point dropped", reason=text)
        self.points.dropped.clear()
        if sums is not None:
            log_event(self.images.parent, event="goes on", block=block.id, trace=sums.next)
        return start(self.setup, block) if sums is None else sums

    def _share(self, sums: Sums, index: np.ndarray) -> float:
        return float(np.searchsorted(index, sums.next)) / max(1, len(index))

    def _sum(self, sums: Sums, index: np.ndarray, told: Callable[[], None]) -> None:
        """Add the traces that are left, and publish restart points; also when the run is stopped."""
        saved, stored = time.monotonic(), sums.next
        contributions, traces = sums.contributions, sums.traces

        def after(_: Sums) -> None:
            nonlocal saved, stored
            told()
            if self.save_every and time.monotonic() - saved >= self.save_every:
                self._save(sums)
                saved, stored = time.monotonic(), sums.next

        with TraceBlocks(self.setup.table, index, self.size) as blocks:
            try:
                migrate_block(
                    self.setup, sums, blocks, self.threads, self.clock, after, HeldSignals, self.device
                )
            except BaseException as error:
                # somebody wants the end: what was summed since the last point is kept as well
                if not isinstance(error, Exception) and self.save_every and sums.next > stored:
                    self._save(sums)
                raise
            finally:
                self.counted.contributions += sums.contributions - contributions
                self.counted.traces += sums.traces - traces
                self.counted.bytes += blocks.bytes_read
                self.counted.read_seconds += blocks.read_seconds

    def _save(self, sums: Sums) -> None:
        sums.settle()
        with self.clock("save"):
            self.points.save(sums)
        self.counted.saves += 1
