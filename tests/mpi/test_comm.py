"""The communicator: messages, agreement on errors, and the ends of a run."""

import subprocess
import sys

import numpy as np
import pytest
from launch import needs_mpi, run

from patience import PATIENCE
from subsalt.errors import ConfigError
from subsalt.parallel.comm import single

MESSAGES = """
    import os, sys
    import numpy as np
    from subsalt.parallel.comm import world
    from subsalt.parallel.mpi_library import thread_multiple
    w = world()
    r, n = w.rank, w.size
    assert r == int(os.environ["PMI_RANK"]) and n == int(os.environ["PMI_SIZE"])
    assert w is world() and w.is_root == (r == 0) and w.host and thread_multiple() == (n > 1)
    assert (w.mpi is None) == (n == 1)

    told = {"shot": 7, "seconds": 0.1, "names": ["a", "\\u00e9"], "none": None, "nan": float("inf")}
    assert w.bcast(told if r == n - 1 else None, root=n - 1) == told
    assert w.bcast("" if w.is_root else None) == ""
    every = [["x" * k, k] for k in range(n)]
    assert w.allgather(["x" * r, r]) == every
    assert w.gather(["x" * r, r]) == (every if w.is_root else None)
    assert (w.max(r), w.min(r - 0.5), w.sum(2**60 + r)) == (n - 1, -0.5, n * 2**60 + n * (n - 1) // 2)

    for dtype, shape in ((np.float32, (3, 4)), (np.bool_, (5,)), (np.int64, ()), (np.float64, (0, 3))):
        a = np.full(shape, 3, dtype) if w.is_root else np.zeros(shape, dtype)
        w.bcast_array(a)
        assert (a == np.full(shape, 3, dtype)).all()
    joined = w.allgather_array(np.arange(r, dtype=np.int32))
    assert joined.dtype == np.int32 and joined.tolist() == [i for k in range(n) for i in range(k)]
    try:
        w.bcast_array(np.zeros((4, 4))[:, ::2])
        raise SystemExit("a strided array was sent")
    except ValueError:
        pass

    # parts: even and odd ranks, in reversed order
    part = w.split(r % 2, key=-r)
    mine = [k for k in range(n) if k % 2 == r % 2][::-1]
    assert part.size == len(mine) and mine[part.rank] == r
    assert part.allgather(r) == mine
    again = part.duplicate()
    assert again.sum(1) == part.size
    again.free()
    # what cannot be sent is an error on all ranks, and the next message goes through
    for bad in (lambda: w.bcast({1, 2} if w.is_root else None), lambda: w.allgather(object() if r == n - 1 else 1)):
        if n > 1:
            try:
                bad()
                raise SystemExit("sent what is no JSON")
            except (TypeError, RuntimeError):
                pass
    assert w.sum(1) == n
    # `part` is left to the end of the program
    print("fine")
"""


@pytest.mark.parametrize("n", [1, 2, 4])
@needs_mpi
def test_messages_and_parts(n):
    done = run(n, MESSAGES)
    assert done.rc == 0, done
    assert done.out == ["fine\n"] * n
    # MPICH complains of what was not freed
    assert not any(done.err), done
    assert not done.mpiexec, done


AGREE = """
    import pytest
    from subsalt.parallel.comm import world
    from subsalt.errors import ConfigError, Finding, FindingsError, MissingInputError, ResourceError
    from subsalt.parallel.relay import describe
    w = world()
    r, n = w.rank, w.size
    agree = lambda what: pytest.raises(BaseException, w.agree, what).value

    w.agree()
    with w.together():
        pass

    # one rank fails: all raise its error, which says where it was
    e = agree(MissingInputError("vp.rsf does not exist", "check the name", code="E110") if r == 1 else None)
    assert type(e) is MissingInputError and isinstance(e, FileNotFoundError)
    assert e.message == f"vp.rsf does not exist (rank 1 on {w.host})", e.message
    assert (e.fix, e.code, e.exit_code, e.agreed_ranks) == ("check the name", "E110", 66, n)
    assert any("on rank 1" in note for note in getattr(e, "__notes__", [])) == (r != 1)

    # all fail: what rank 0 brought, and no rank in the text
    own = ConfigError(f"bad key {r}", code="E101")
    e = agree(own)
    assert (e.message, e.code) == ("bad key 0", "E101") and (e is own) == w.is_root

    # the exit code of an instance, errors of Python, and classes that nobody can build again
    special = ResourceError("odd")
    special.exit_code = 11
    assert agree(special if r == 0 else None).exit_code == 11
    e = agree(PermissionError(13, "Permission denied", "/x/y") if r == 1 else None)
    assert type(e) is PermissionError and (e.errno, e.filename) == (13, "/x/y")
    assert isinstance(agree(KeyboardInterrupt() if r == n - 1 else None), KeyboardInterrupt)
    assert type(agree(ZeroDivisionError("1/0") if r == 1 else None)) is ZeroDivisionError
    class Odd(Exception):
        exit_code = 3
    e = agree(Odd("what") if r == 0 else None)
    assert (type(e).__name__, e.exit_code) == (("Odd", 3) if r == 0 else ("ParallelError", 3))
    assert "what" in str(e) and (r == 0 or e.code == "E714")
    e = agree(UnicodeDecodeError("utf-8", b"x", 0, 1, "bad") if r == 0 else None)
    assert "bad" in str(e)

    # findings are merged, each said once
    both = Finding("E301", "error", "outside", "move it", {"at": (1, 2)})
    one = Finding(f"E30{r}", "error", f"of rank {r}")
    e = agree(FindingsError([both, one], 65) if r > 0 else None)
    assert [f.code for f in e.findings] == ["E301"] + [f"E30{k}" for k in range(1, n)]
    assert e.exit_code == 65

    # an exception in a common part of the program
    try:
        with w.together():
            if r == n - 1:
                raise ConfigError("only here", code="E104")
        raise SystemExit("went on")
    except ConfigError as error:
        assert error.message == f"only here (rank {n - 1} on {w.host})"
        # agreed on again by more ranks, it is not named twice
        assert agree(error if r == n - 1 else None).message.count("rank") == 1

    part = w.split(r % 2)
    e = None
    try:
        part.agree(ConfigError("odd ones") if r == 1 else None)
    except ConfigError as error:
        e = error
    assert (e is not None) == (r % 2 == 1) and (e is None or e.agreed_ranks == part.size < n)
    print("fine")
"""


@pytest.mark.parametrize("n", [2, 4])
@needs_mpi
def test_errors_are_agreed_on(n):
    done = run(n, AGREE)
    assert done.rc == 0, done
    assert done.out == ["fine\n"] * n


@needs_mpi
def test_abort_says_it_once_and_ends_all():
    done = run(
        3,
        """
        import time
        from subsalt.parallel.comm import world
        from subsalt.errors import DiskError
        w = world()
        if w.rank:
            w.abort(DiskError("the disk is full", "make room", code="E620"))
        w.allgather(1)  # waits for ranks that never come
        """,
    )
    assert done.rc == 74, done
    said = "".join(done.err)
    assert said.count("the disk is full") == 1, done
    assert "error E620  the disk is full (rank 1 on " in said
    assert "make room" in said


@needs_mpi
def test_an_exception_nobody_caught_ends_all():
    done = run(
        3,
        """
        from subsalt.parallel.comm import world
        w = world()
        if w.rank == 1:
            raise ValueError("nobody expects this")
        w.allgather(1)
        """,
    )
    assert done.rc not in (0, None), done
    assert "nobody expects this" in done.err[1]


@needs_mpi
def test_a_library_that_cannot_be_loaded_is_an_error_with_its_cure():
    code = """
        from subsalt.parallel.comm import world
        from subsalt.errors import ParallelError
        try:
            world()
        except ParallelError as error:
            print(error.code, error.exit_code, error)
    """
    done = run(2, code, env={"MPI4PY_LIBMPI": "/nowhere/libmpi.so.12"})
    assert all(
        o.startswith("E711 69 mpiexec started 2 ranks") and "pip install -e '.[mpi]'" in o for o in done.out
    ), done
    # what a launcher of another MPI looks like: every rank is a world of one
    done = run(2, code, env={"PMI_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"})
    assert all(o.startswith("E712 69") and "MPI4PY_LIBMPI" in o for o in done.out), done
    # without MPI for Python
    done = run(2, "import sys; sys.modules['mpi4py'] = None" + code.replace("\n        ", "\n"))
    assert all(o.startswith("E711 69") and "pip install -e '.[mpi]'" in o for o in done.out), done


@needs_mpi
def test_a_launcher_whose_ranks_stay_alone_is_an_error():
    # a launcher that gives rank and size, and an MPI library that knows nothing of it
    code = (
        "from subsalt.parallel.comm import world\n"
        "from subsalt.errors import ParallelError\n"
        "try:\n    world()\nexcept ParallelError as e:\n    print(e.code)\n"
    )
    env = {"PALS_RANKID": "0", "PALS_SIZE": "2", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout == "E712\n", done


def test_a_world_of_one_needs_no_mpi(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    alone = single()
    assert (alone.rank, alone.size, alone.is_root, alone.mpi) == (0, 1, True, None)
    assert alone.bcast({"a": 1}) == {"a": 1}
    assert alone.gather(2) == alone.allgather(2) == [2]
    assert (alone.max(3), alone.min(3), alone.sum(3)) == (3, 3, 3)
    with pytest.raises(TypeError, match="only integers"):
        alone.sum(0.5)
    alone.bcast_array(np.zeros(3))
    part = alone.split(0)
    assert part.size == 1
    part.free()
    with pytest.raises(ConfigError), alone.together():
        raise ConfigError("x")


def test_importing_the_package_does_not_import_mpi4py():
    code = (
        "import sys, subsalt; from subsalt.parallel.comm import world; assert world().size == 1; "
        "assert not any(m.startswith('mpi4py') for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)
