"""The C program of `lab network` on ranks of MPICH and of Open MPI: it counts right, and sees what is wrong."""

import shutil
import subprocess
from collections import Counter

import pytest
from launch import MPI
from openmpi_environment import clean_environment, openmpi  # noqa: F401

from patience import PATIENCE
from subsalt.errors import SubsaltError
from subsalt_lab.compiled import compiled
from subsalt_lab.network import rows
from subsalt_lab.network.lines import read
from subsalt_lab.network.messages import SOURCE, WRONG, Settings, explained, program, starts
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

pytestmark = [
    *MPI,
    pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="no C compiler"),
]

SETTINGS = ["sizes=0,12,4096", "tests=latency,stream,both", "blocks=3", "microseconds=20", "seconds=1"]
ALL = "collectives=" + ",".join(rows.COLLECTIVES)
STRICT = ["-Wall", "-Wextra", "-Werror"]


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """Keep what is compiled here out of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(params=["mpich", "openmpi"])
def place(request):
    """Return an MPI and the variables that its launcher needs here."""
    if request.param == "openmpi":
        there = request.getfixturevalue("openmpi")
        mpi, environment = there.mpi, there.environment
    else:
        # with more ranks than cores the one that is waited for comes when the others sleep
        soon = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "32"}
        mpi, environment = MpiInUse.find(), clean_environment() | soon
    if mpi.compiler is None:
        pytest.skip(f"no compiler of {mpi.name}")
    return mpi, environment


def run(place, path, ranks, *words):
    mpi, environment = place
    command = mpi.start(ranks, [str(path), *words])
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_every_case_has_its_blocks(place, tmp_path):
    mpi, _ = place
    path = compiled("net", [SOURCE], [str(mpi.compiler)], STRICT)
    done = run(place, path, 4, *SETTINGS, ALL, "pairs=0-1", "pairs=0-2,3-1")
    assert done.returncode == 0, done.stderr
    answer = read(done.stdout, 4)
    assert answer.level == "multiple"
    counts = Counter((b.group, b.test, b.nbytes) for b in answer.blocks)
    pairs = {(g, t, n) for g in (0, 1) for t in ("latency", "stream", "both") for n in (0, 12, 4096)}
    # sums are of doubles: 12 bytes are none
    sums = {(-1, t, 4096) for t in ("allreduce", "reduce")}
    others = {(-1, t, n) for t in ("bcast", "allgather", "alltoall") for n in (12, 4096)}
    assert set(counts) == pairs | sums | others | {(-1, "barrier", 0)}
    # one that takes long has fewer blocks, three at least; here three were asked for
    assert set(counts.values()) == {3}
    assert all(b.seconds > 0 and b.calls >= 1 for b in answer.blocks)


@pytest.mark.parametrize("size", [12, 4096])
def test_a_corrupted_message_stops_it(place, size):
    mpi, _ = place
    path = compiled("net-planted", [SOURCE], [str(mpi.compiler)], [f"-DPLANT_CORRUPTION={size}"])
    done = run(place, path, 2, *SETTINGS, "pairs=0-1")
    assert done.returncode != 0
    assert f"what arrived is not what was sent: messages between two ranks, {size} bytes" in done.stderr
    assert f" {size} " not in "".join(x for x in done.stdout.splitlines() if "block" in x)


def test_the_command_says_what_is_wrong_and_gives_no_figure(monkeypatch):
    mpi = MpiInUse.find()
    if mpi.compiler is None:
        pytest.skip("no mpicc")
    planted = compiled("net-planted", [SOURCE], [str(mpi.compiler)], ["-DPLANT_CORRUPTION=4096"])
    monkeypatch.setattr("subsalt_lab.network.messages.program", lambda mpi: planted)
    _, start = starts(Settings([2], [4096]))
    with pytest.raises(
        SubsaltError, match=r"what arrived is not what was sent.*no figure is given"
    ) as caught:
        start(2, [*SETTINGS, "pairs=0-1"])
    assert caught.value.code == "E710"
    # a launcher that says much after it, one that passes another code on, and another error
    for said, code in (
        (f"x ended with exit code {WRONG}: bye", "E710"),
        ("x ended with exit code 9: net: a sum is wrong: reduce, 8 bytes, rank 0 | bye", "E710"),
        (f"x ended with exit code {WRONG}1: bye", "E781"),
    ):
        assert explained(SubsaltError(said, code="E781"), "x").code == code
    with pytest.raises(SubsaltError, match="no such pair") as caught:
        start(2, [*SETTINGS, "pairs=0-7"])
    assert caught.value.code == "E781"


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ("allreduce", "a sum is wrong: allreduce"),
        ("reduce", "a sum is wrong: reduce"),
        ("allgather", "what arrived is not what was sent: allgather"),
        ("alltoall", "what arrived is not what was sent: alltoall"),
    ],
)
def test_a_wrong_answer_of_all_ranks_stops_it(operation, said):
    mpi = MpiInUse.find()
    if mpi.compiler is None:
        pytest.skip("no mpicc")
    path = compiled("net-planted", [SOURCE], [str(mpi.compiler)], ["-DPLANT_CORRUPTION=4096"])
    done = run(
        (mpi, clean_environment()), path, 2, "sizes=8,4096", f"collectives={operation}", "microseconds=1"
    )
    assert done.returncode != 0
    assert f"{said}, 4096 bytes" in done.stderr


def test_slow_messages_end_a_test_and_threads_can_be_left_out():
    mpi = MpiInUse.find()
    if mpi.compiler is None:
        pytest.skip("no mpicc")
    # no message takes less than a femtosecond
    words = ["sizes=8,16,32", "tests=latency", "threads=single", "seconds=1e-15", "blocks=5", "pairs=0-1"]
    done = run((mpi, clean_environment()), program(mpi), 2, *words)
    answer = read(done.stdout, 2)
    assert answer.level == "single"
    assert answer.left == ((0, "latency", 16),)
    assert [b.nbytes for b in answer.blocks] == [8, 8, 8]
