"""One rank of `lab io`, started by ``python -m subsalt_lab.io_worker REQUEST`` under a launcher; rank 0 prints JSON.

A sample is one run: model volumes read, wavefields stepped with a slice of both sets each, an image summed and written.
Everything that reads, computes and writes is what a migration uses.

The time steps of `lab io`: two wavefields on this rank's slab, each fed a slice per step, and their image.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.earth.model import EarthModel
from subsalt.earth.planes import Planes
from subsalt.io import broadcast
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.broadcast import InputReading
from subsalt.io.input_traffic import COUNTED, InputTraffic
from subsalt.io.prestack.time_slices import SliceStream, TimeSlices, stream_slices
from subsalt.io.shared_file import write_together
from subsalt.io.volumes.volume import open_volume
from subsalt.kernels import prepare
from subsalt.kernels.problem import State
from subsalt.kernels.work import Correlation, Snapshots, Source
from subsalt.machine import records
from subsalt.parallel.comm import Comm, world
from subsalt.parallel.decomp import Slab, cut
from subsalt.propagation.dense import attach
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator
from subsalt_lab.io_case import (
    BLOCK,
    DT,
    GHOSTS,
    RANGES,
    SETS,
    SPACING,
    VOLUMES,
    WAYS,
    ReadingCase,
    grid_of,
    inputs,
    slices_path,
    volume_path,
)


class HeldModel:
    """A model of which this rank has some planes in memory, as it read them.

    Parameters
    ----------
    case : ReadingCase
        The whole grid.
    first : int
        First plane held.
    volumes : dict of ndarray
        Values of the planes held.
    """

    medium = "vti"

    def __init__(self, case: ReadingCase, first: int, volumes: dict[str, NDArray[np.float32]]) -> None:
        self.grid = grid_of(case)
        self.first = first
        last = first + len(volumes["vp"])
        _, ny, nz = case.grid
        self._held = EarthModel(self.grid.window(Box((first, 0, 0), (last, ny, nz))), **volumes)  # type: ignore[arg-type]

    @property
    def fastest(self) -> float:
        """Largest P velocity that the files can hold, m/s."""
        return float(RANGES["vp"][1] * (1 + 2 * RANGES["epsilon"][1]) ** 0.5)

    def window(self, box: Box) -> EarthModel:
        """Return the model in a box of the planes held."""
        shift = self.first
        return self._held.window(Box((box.lo[0] - shift, *box.lo[1:]), (box.hi[0] - shift, *box.hi[1:])))


class Steps:
    """Source and receiver wavefield of one shot on the slab of this rank.

    Parameters
    ----------
    case : ReadingCase
        Grid, number of steps, and the share of them that is computed.
    comm : Comm
        All ranks: the group of the shot.
    slab : Slab
        The planes owned.
    model : dict of ndarray
        Volumes on the planes held.
    inputs : sequence of (TimeSlices, SliceStream)
        Source and receivers, and their slices of the x positions from `held` on.
    held : tuple of int
        Range of x positions that the feeds bring.
    """

    def __init__(
        self,
        case: ReadingCase,
        comm: Comm,
        slab: Slab,
        model: dict[str, NDArray[np.float32]],
        inputs: Sequence[tuple[TimeSlices, SliceStream]],
        held: tuple[int, int],
    ) -> None:
        self.case, self.feeds = case, [source for _, source in inputs]
        _, ny, nz = case.grid
        self.image = np.zeros((slab.hi - slab.lo, ny, nz), np.float32)
        self.sources: list[Source] = []
        if case.compute == 0:
            return
        options = PropagationOptions(boundary="none", source_taper=None, decomp="slabs")
        earth = HeldModel(case, held[0], model)
        group = comm if comm.size > 1 else None
        self.propagator = Propagator(earth, options, DT, group=group)  # type: ignore[arg-type]
        self.states: list[State] = [self.propagator.new_state() for _ in inputs]
        # two rows below the top: the stencil's own rows are those of any other source
        depth = 2 * SPACING
        self.sources = [attach(self.propagator, s, held, f, case.steps, depth) for s, f in inputs]
        self._sample = np.empty(self.propagator.interior.shape, np.float32)

    def run(self) -> None:
        """Take all slices, and compute the share of the steps that was asked for."""
        for begin in range(0, self.case.steps, BLOCK):
            count = min(BLOCK, self.case.steps - begin)
            computed = round(self.case.compute * (begin + count)) - round(self.case.compute * begin)
            if self.sources and computed:
                self._advance(computed)
            for brought in self.feeds:
                for _ in range(count - computed):
                    brought.next_slice()

    def _advance(self, n: int) -> None:
        """Advance both wavefields by `n` steps and add the product of the last samples to the image."""
        box, (src, rcv) = self.propagator.interior, self.states
        last = src.it + n
        keep = Snapshots(box, {last: self._sample})
        self.propagator.advance(src, n, sources=self.sources[:1], snapshots=keep)
        product = Correlation(box, {last: self._sample}, self.image, 1.0)
        self.propagator.advance(rcv, n, sources=self.sources[1:], correlation=product)


#: phases in the order in which they come
PHASES = ("init", "steps", "image")


class VolumeReading:
    """A model volume, opened by the rank that reads it."""

    dtype = np.dtype(np.float32)

    def __init__(self, path: Path, case: ReadingCase) -> None:
        self.shape, self._path = case.grid, path
        self._planes: Planes | None = None

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes lo ... hi - 1."""
        if self._planes is None:
            self._planes = open_volume(self._path).planes
        return self._planes.read(lo, hi)


class Clock:
    """Seconds and bytes of the phases of one sample on this rank."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.traffic: dict[str, InputTraffic] = {}
        self.storage: dict[str, int | None] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure a ``with`` block."""
        begin, moved, fetched = time.perf_counter(), COUNTED.now(), records.storage_bytes()
        yield
        self.seconds[name] = time.perf_counter() - begin
        self.traffic[name] = COUNTED.now() - moved
        last = records.storage_bytes()
        self.storage[name] = None if last is None or fetched is None else last - fetched


class ReadingWorker:
    """The part of a case on this rank.

    Parameters
    ----------
    comm : Comm
        All ranks of the run: they share one shot.
    case : ReadingCase
        Case that is read and computed.
    folder : Path
        The files.
    """

    def __init__(self, comm: Comm, case: ReadingCase, folder: Path) -> None:
        self.comm, self.case, self.folder = comm, case, folder
        nx = case.grid[0]
        self.slab: Slab = cut(nx, comm.size, medium="vti", radius=GHOSTS)[comm.rank]
        self.range = max(0, self.slab.lo - GHOSTS), min(nx, self.slab.hi + GHOSTS)

    def sample(self, way: str, *, cold: bool) -> dict[str, Any]:
        """Run once; return the times and bytes of this rank, and the hash of its planes of the image."""
        dropped = self._prepare_cache(cold)
        reading, clock = broadcast.of(way, self.comm), Clock()
        self._wait()
        begin = time.perf_counter()
        with clock.phase("init"):
            model = {name: self._volume(name, reading) for name in VOLUMES}
        with clock.phase("steps"):
            image, waited, read = self._step(model, reading)
        with clock.phase("image"):
            self._write(image)
        self._wait()
        total = time.perf_counter() - begin
        return {
            "seconds": clock.seconds | {"trace": waited, "reading": read, "total": total},
            "traffic": {p: [t.wanted, t.read, t.received] for p, t in clock.traffic.items()},
            "storage": clock.storage,
            "dropped": dropped,
            "planes": [hashlib.sha256(raw_bytes(p)).hexdigest() for p in image],
        }

    def _prepare_cache(self, cold: bool) -> bool:
        """Have the files in the page cache, or not; return whether that is so as far as the system tells."""
        self._wait()
        hosts = self.comm.allgather(self.comm.host)
        done = True
        if hosts.index(self.comm.host) == self.comm.rank:  # one rank of each node
            files = inputs(self.folder, self.case)
            if cold:
                done = records.drop_from_cache(files)
            else:
                records.load_into_cache(files)
        return all(self.comm.allgather(done))

    def _volume(self, name: str, reading: InputReading) -> NDArray[np.float32]:
        return reading.planes(
            VolumeReading(volume_path(self.folder, name, self.case), self.case), *self.range
        )

    def _step(
        self, model: dict[str, NDArray[np.float32]], reading: InputReading
    ) -> tuple[NDArray[np.float32], float, float]:
        """Step both wavefields; return the image of the own planes, seconds waited for slices, seconds of reading."""
        sets = [TimeSlices(slices_path(self.folder, name)) for name in SETS]
        orders = (range(self.case.steps), range(self.case.steps - 1, -1, -1))
        feeds: list[SliceStream] = []
        try:
            for slices, order in zip(sets, orders, strict=True):
                feeds.append(stream_slices(slices, *self.range, order, reading))
            steps = Steps(
                self.case, self.comm, self.slab, model, list(zip(sets, feeds, strict=True)), self.range
            )
            steps.run()
            return steps.image, sum(f.waited for f in feeds), sum(f.read_seconds for f in feeds)
        finally:
            for f in feeds:
                f.close()
            for slices in sets:
                slices.close()

    def _write(self, image: NDArray[np.float32]) -> None:
        plane = self.case.volume_bytes // self.case.grid[0]
        with write_together(self.folder / "image", self.comm, self.case.volume_bytes) as part:
            part.write_at(self.slab.lo * plane, raw_bytes(image))

    def _wait(self) -> None:
        """Let all ranks begin and end a sample together; this is a stopwatch, not a part of what is measured."""
        if self.comm.mpi is not None:
            self.comm.mpi.Barrier()


def reduced(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one sample of all ranks: the slowest rank's seconds, the sum of bytes, and the hash of the image."""
    seconds = {k: max(s["seconds"][k] for s in samples) for k in samples[0]["seconds"]}
    traffic = {
        p: dict(
            zip(
                ("wanted", "read", "received"),
                map(sum, zip(*(s["traffic"][p] for s in samples), strict=True)),
                strict=True,
            )
        )
        for p in PHASES
    }
    storage = {
        p: None if any(s["storage"][p] is None for s in samples) else sum(s["storage"][p] for s in samples)
        for p in PHASES
    }
    planes = [h for s in samples for h in s["planes"]]
    return {
        "seconds": seconds,
        "traffic": traffic,
        "storage": storage,
        "dropped": all(s["dropped"] for s in samples),
        "image": hashlib.sha256("".join(planes).encode()).hexdigest(),
    }


def samples(comm: Comm, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the samples of a request: one untimed round, then every way and state of the cache in each round."""
    worker = ReadingWorker(comm, ReadingCase.from_dict(request["case"]), Path(request["folder"]))
    out = []
    prepare("cpu", request["threads"])
    worker.sample(WAYS[-1], cold=False)  # touches what the first run touches
    pairs = [(way, cold) for cold in request["cold"] for way in WAYS]
    for r in range(request["repeats"]):
        for way, cold in pairs if r % 2 == 0 else reversed(pairs):
            gathered = comm.gather(worker.sample(way, cold=cold))
            if gathered is not None:
                out.append({"way": way, "cold": cold, "round": r} | reduced(gathered))
    return out


def main() -> None:
    """Read the request, run it, print what rank 0 gathered."""
    with open(sys.argv[1], encoding="utf-8") as f:
        request = json.load(f)
    comm = world()
    hosts = comm.allgather(comm.host)
    gathered = samples(comm, request)
    if comm.is_root:
        print(json.dumps({"ranks": comm.size, "nodes": len(set(hosts)), "samples": gathered}))


if __name__ == "__main__":
    main()
