"""Files that ranks write together: the bytes of one process, and failures that all ranks hear of."""

import numpy as np
import pytest
from launch import needs_mpi, run

from subsalt.earth.grid import Box, Frame, Grid
from subsalt.io.volumes import volume
from subsalt.io.volumes.plane_file import PlaneLayout, write_planes
from subsalt.parallel.comm import single

GRID = Grid((11, 3, 7), (12.5, 10.0, 5.0), (100.0, 0.0, 0.0))
IMAGE = np.random.default_rng(2).normal(size=GRID.shape).astype(np.float32)
TEXT = ["made_by: a test"]

WRITE = """
    import sys
    from pathlib import Path
    import numpy as np
    from subsalt.parallel.comm import world
    from subsalt.earth.grid import Box, Frame, Grid
    from subsalt.io.volumes.plane_file import PlaneLayout, write_planes
    from subsalt.io.volumes.planes import OwnPlanes
    from subsalt.io.volumes.volume import write_planes as write_volume
    w, folder = world(), Path(sys.argv[1] if len(sys.argv) > 1 else "FOLDER")
    grid = Grid((11, 3, 7), (12.5, 10.0, 5.0), (100.0, 0.0, 0.0))
    image = np.random.default_rng(2).normal(size=grid.shape).astype(np.float32)
    # all but the first rank have planes when there are many ranks: also an empty part is one
    edges = [0, 0, 4, 6, 11] if w.size == 4 else [11 * r // w.size for r in range(w.size + 1)]
    lo, hi = edges[w.rank], edges[w.rank + 1]
"""


@needs_mpi
@pytest.mark.parametrize("n", [2, 4])
def test_the_bytes_of_one_process(tmp_path, n):
    one, many = tmp_path / "one", tmp_path / "many"
    one.mkdir()
    many.mkdir()
    frame = Frame(1000.0, 2000.0, 0.3)
    for suffix in (".sgy", ".rsf", ".npy"):
        volume.write(one / f"image{suffix}", GRID, IMAGE, frame, text=TEXT, name="image")
    fields = {"correlation": IMAGE, "illumination": IMAGE**2}
    box = Box((20, 0, 0), (31, 3, 7))
    sha = write_planes(one / "shot.planes", PlaneLayout(box, tuple(fields)), box, fields, single())
    done = run(
        n,
        WRITE.replace("FOLDER", str(many))
        + """
    frame = Frame(1000.0, 2000.0, 0.3)
    for suffix in (".sgy", ".rsf", ".npy"):
        own = OwnPlanes(lo, image[lo:hi], w)
        write_volume(folder / f"image{suffix}", grid, own, frame, text=["made_by: a test"], name="image")
    fields = {"correlation": image[lo:hi], "illumination": image[lo:hi] ** 2}
    box, own = Box((20, 0, 0), (31, 3, 7)), Box((20 + lo, 0, 0), (20 + hi, 3, 7))
    print(write_planes(folder / "shot.planes", PlaneLayout(box, tuple(fields)), own, fields, w))
    """,
    )
    assert done.rc == 0, done
    assert done.out == [f"{sha}\n"] * n
    assert sorted(p.name for p in many.iterdir()) == sorted(p.name for p in one.iterdir())
    for path in one.iterdir():
        assert (many / path.name).read_bytes() == path.read_bytes(), path.name


@needs_mpi
def test_a_failure_on_one_rank_is_one_of_all_and_leaves_nothing(tmp_path):
    done = run(
        3,
        WRITE.replace("FOLDER", str(tmp_path))
        + """
    import errno
    from subsalt.errors import CannotCreateError, DataError, DiskError, SubsaltError
    from subsalt.io.faults import FaultCounter, set_fault
    old = folder / "image.rsf@"
    old.write_bytes(b"what was there") if w.is_root else None
    for rank in range(3):
        for k in range(1, 4):
            w.allgather(0)
            if w.rank == rank:
                set_fault(FaultCounter(k, errno.ENOSPC))
            try:
                write_volume(folder / "image.rsf", grid, OwnPlanes(lo, image[lo:hi], w))
                raise SystemExit("wrote")
            except DiskError as error:
                assert error.code == "E621", error
                assert ("(rank" in error.message) == (rank != 0), error
            set_fault(None)
            w.allgather(0)
            assert [p.name for p in folder.iterdir()] == ["image.rsf@"], list(folder.iterdir())
            assert old.read_bytes() == b"what was there"
    bad = image[lo:hi].copy()
    if w.rank == 2:
        bad[0, 0, 0] = np.nan
    try:
        write_volume(folder / "image.sgy", grid, OwnPlanes(lo, bad, w))
        raise SystemExit("wrote what is not finite")
    except DataError as error:
        assert error.code == "E250"
    # a folder that one rank sees as another one
    if w.rank == 1:
        folder = folder.parent / "elsewhere"
        folder.mkdir()
    try:
        write_volume(folder / "image.npy", grid, OwnPlanes(lo, image[lo:hi], w))
        raise SystemExit("wrote into two folders")
    except CannotCreateError as error:
        assert error.code == "E830", error
    print("fine")
    """,
    )
    assert done.rc == 0, done
    assert done.out == ["fine\n"] * 3
    assert [p.name for p in tmp_path.iterdir()] == ["image.rsf@"]
