"""What a rank of `two_nodes.py` does to see what crosses the link: plain messages, or the ghost planes of time steps.

    python two_nodes_rank.py wire BYTES
    python two_nodes_rank.py halo NX NY NZ STEPS

Rank 0 prints one JSON object. `wire` sends from rank 0 to the last rank and back; `halo` steps a VTI wavefield on one
slab per rank and prints the bytes that all ranks say they sent.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time

import numpy as np

from subsalt.parallel.comm import Comm, world


def wire(comm: Comm, nbytes: int) -> dict[str, object]:
    """Send `nbytes` from rank 0 to the last rank, and back."""
    message, last = np.ones(nbytes, np.uint8), comm.size - 1
    comm.mpi.Barrier()
    begin = time.perf_counter()
    if comm.rank == 0:
        comm.mpi.Send(message, last)
        comm.mpi.Recv(message, last)
    elif comm.rank == last:
        comm.mpi.Recv(message, 0)
        comm.mpi.Send(message, 0)
    return {"seconds": time.perf_counter() - begin, "bytes": 2 * nbytes}


def halo(comm: Comm, shape: tuple[int, ...], steps: int) -> dict[str, object]:
    """Step a field on slabs; the hash of all planes does not depend on where the ranks are."""
    from subsalt import kernels
    from subsalt.earth.grid import Grid
    from subsalt.earth.model import EarthModel
    from subsalt.propagation.options import PropagationOptions
    from subsalt.propagation.propagator import Propagator

    kernels.prepare("cpu", 1).set_front(False)  # slabs advance what the wave has not reached
    vp = np.full(shape, 2000, np.float32)
    model = EarthModel(Grid(shape, (10.0,) * 3), vp, epsilon=vp * 0 + 0.2, delta=vp * 0 + 0.1)
    options = PropagationOptions(boundary="none", source_taper=None, decomp="slabs")
    middle = np.array([[10.0 * (shape[0] // 2), 10.0 * (shape[1] // 2), 100.0]])
    pulse = np.sin(np.arange(steps) * 0.3)[None]
    with Propagator(model, options, 1e-3, group=comm) as prop:
        state = prop.new_state()
        comm.mpi.Barrier()
        begin = time.perf_counter()
        prop.advance(state, steps, sources=[prop.source(middle, pulse)])
        seconds = time.perf_counter() - begin
        planes = prop.layout.view(state.curr[0])[prop.owned.slices]
        hashes = [hashlib.sha256(np.ascontiguousarray(p).tobytes()).hexdigest() for p in planes]
        traffic = prop.traffic
    reports = comm.allgather([hashes, traffic.bytes, traffic.exchanges, traffic.waited])
    return {
        "seconds": seconds,
        "waited": max(t[3] for t in reports),
        "bytes": sum(t[1] for t in reports),
        "exchanges": reports[0][2],
        "field": hashlib.sha256("".join(h for t in reports for h in t[0]).encode()).hexdigest(),
    }


def main() -> None:
    """Do what the words say."""
    comm, (what, *numbers) = world(), sys.argv[1:]
    values = [int(n) for n in numbers]
    seconds = wire(comm, values[0]) if what == "wire" else halo(comm, tuple(values[:3]), values[3])
    if comm.is_root:
        print(json.dumps(seconds))


if __name__ == "__main__":
    main()
