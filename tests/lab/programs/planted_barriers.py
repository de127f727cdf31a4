"""Barriers planted for the audit to find, in Python. Usage: python planted_barriers.py plain|kept FOLDER."""

import sys
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
x, total = array("d", [world.rank + 1.0] * 4), array("d", [0.0] * 4)


def plain():
    for _ in range(6):
        world.Barrier()  # 1: candidate
        world.Allreduce(x, total)
    for _ in range(2):
        world.Barrier()  # 2: weak
        world.bcast({"pickled": True})
    world.Barrier()  # 3: candidate
    world.Sendrecv(x, (world.rank + 1) % world.size, recvbuf=total, source=(world.rank - 1) % world.size)


def kept(folder):
    if world.rank == 0:
        for _ in range(world.size - 1):
            world.Recv(total, MPI.ANY_SOURCE)
    else:
        world.Send(x, 0)
    world.Barrier()  # 1: keep
    world.Allreduce(x, total)
    world.Barrier()  # 2: keep
    file = MPI.File.Open(world, f"{folder}/planted", MPI.MODE_CREATE | MPI.MODE_WRONLY)
    file.Write_at(8 * world.rank, x[:1])
    file.Close()
    world.Barrier()  # 3: keep
    world.Allreduce(x, total)


if sys.argv[1] == "plain":
    plain()
else:
    kept(sys.argv[2])
if world.rank == 0:
    print("sum", total[0])
