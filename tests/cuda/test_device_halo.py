"""Ghost planes between GPUs: straight from and to their memory and through page-locked memory, in order with kernels.

The device is the emulated one, whose streams run late and in any order that events allow. MPI may be given its
pointers: they are memory of the host.
"""

import json
import textwrap

import pytest
from emulated_ranks import MARKS, environment
from launch import run

pytestmark = MARKS

PROGRAM = """
    import numpy as np
    from subsalt import kernels
    from subsalt.parallel.comm import world
    from subsalt.parallel.decomp import Slab, cut
    from subsalt.propagation import devices
    from subsalt.propagation.halo import Halo
    group = world()
    device, host = devices.prepare(group, "cuda", 1), kernels.get("cpu")
    {before}
    radius, fields = 2, {fields}
    slabs = cut(17, group.size, medium="tti" if fields == 2 else "vti", radius=radius)
    own = slabs[group.rank]
    rng = np.random.default_rng(group.rank)
    shape = own.planes + 2 * radius, 5, 32
    levels = [[np.zeros(shape, np.float32) for _ in range(fields)] for _ in range(2)]
    there = [[kernels.cuda.DeviceArray(shape) for _ in range(fields)] for _ in range(2)]
    whole = slabs, [Slab(0, 1, 1, 0, 1, 0, 0)]
    of_host, of_device = Halo(group, whole, radius, levels, host), Halo(group, whole, radius, there, device)
    wrong = 0
    for i in range(6):
        for a, b in zip(levels[i % 2], there[i % 2], strict=True):
            lo, hi = (radius + n for n in own.owned_local)
            a[lo:hi, :, 16:] = rng.standard_normal(a[lo:hi, :, 16:].shape)
            b[...] = a
            if i == 3:  # what is asked for and not yet done travels too
                a[lo:hi] = 0
                b[lo:hi].fill(0)
        if i == 4 and group.rank == 0:
            of_host.stop_soon(4), of_device.stop_soon(4)
        for halo, level in ((of_host, levels[i % 2]), (of_device, there[i % 2])):
            halo.start(level)
            halo.poke()
            halo.finish()
        assert of_device.stop == of_host.stop
        for a, b in zip(levels[i % 2], there[i % 2], strict=True):
            wrong += int((np.asarray(b)[:, :, 16:] != a[:, :, 16:]).any())
    assert of_host.stop is not None or group.rank > 1, of_host.stop
    assert of_device.traffic.exchanges == 6
    of_device.free(), of_host.free()
    assert devices.seat().number == group.rank
    print(wrong, of_device.traffic.bytes == of_host.traffic.bytes + {words} * (1 + (0 < group.rank < group.size - 1)))
"""


def exchange(way, seed, fields=1, words=0, before="", ranks=3, **more):
    """Return what ranks say of an exchange, each with a GPU of its own."""
    env = environment(seed, way, SUBSALT_EMULATED_GPUS=str(ranks), **more)
    lines = textwrap.indent(textwrap.dedent(before), "    ").strip()
    return run(ranks, PROGRAM.format(fields=fields, words=words, before=lines), env=env)


# directly, the word to stop is a message of four bytes beside the planes, which the host cannot look into
@pytest.mark.parametrize(
    ("way", "seed", "fields", "words"), [("staged", "1", 2, 0), ("staged", "", 1, 0), ("direct", "2", 1, 24)]
)
def test_ghost_planes_are_those_that_the_host_exchanges(way, seed, fields, words):
    done = exchange(way, seed, fields, words)
    assert done.rc == 0, done
    assert done.out == ["0 True\n"] * 3, done


#: links of the exchange that can be left out, each noticed by wrong planes under some order of the streams
PLANTED = {
    "MPI sends before the kernels are done": "kernels.cuda.ghosts.GhostPlanes.left = lambda self: True",
    "the GPU does not get what was received": "kernels.cuda.ghosts.GhostPlanes.arrive = lambda self: None",
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_missing_link_is_noticed(what):
    done = exchange("staged", "3", before="import subsalt.kernels.cuda.arrays\n" + PLANTED[what])
    assert done.rc or any(not out.startswith("0 ") for out in done.out), done


def test_a_profile_counts_what_is_in_the_memory_of_a_gpu(tmp_path):
    sent = {}
    for way in ("staged", "direct"):
        file = tmp_path / f"{way}.json"
        done = exchange(way, "", SUBSALT_MPI_PROFILE=str(file))
        assert done.rc == 0, done
        calls = json.loads(file.read_text())["calls"]
        sent[way] = sum(row["bytes"] for row in calls if row["call"] == "MPI_Send_init")
    # two levels, four blocks of planes between three ranks, a word of four bytes beside each
    assert sent["direct"] == sent["staged"] + 2 * 4 * 4
