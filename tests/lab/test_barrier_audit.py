"""The audit on planted programs in C and in Python, with both MPIs: counts exact, classes right."""

import re

import pytest
from mpis import PROGRAMS, mpi, openmpi  # noqa: F401

from subsalt_lab.barriers.audit import sites_of
from subsalt_lab.barriers.records import barriers
from thorough import some

pytestmark = pytest.mark.mpi
#: programs that are made
MADE = {}


@pytest.fixture
def made(mpi, tmp_path_factory):  # noqa: F811
    """Return a function that compiles a planted program, once for each MPI."""

    def compile_once(name):
        if (mpi.mpi.library, name) not in MADE:
            MADE[mpi.mpi.library, name] = mpi.compile(name, tmp_path_factory.mktemp("planted"))
        return MADE[mpi.mpi.library, name]

    return compile_once


def audited(mpi, ranks, program):  # noqa: F811
    return sites_of(barriers(mpi.profile(ranks, program).profile.audit))


def table(sites):
    return [(s.row(1.0)["count"], s.kind) for s in sites]


PLAIN = [
    (7, "candidate"),
    (3, "weak"),
    (4, "candidate"),
    (4, "candidate"),
    (2, "candidate"),
    (1, "weak"),
    (5, "keep"),
    (1, "keep"),
]


@pytest.mark.parametrize(
    ("name", "ranks"), some([("planted_barriers_large.c", 2), ("planted_barriers.c", 4)], 1)
)
def test_candidates_in_a_c_program(mpi, made, name, ranks):  # noqa: F811
    sites = audited(mpi, ranks, [made(name), "plain"])
    assert table(sites) == PLAIN
    # two communicators of half the ranks meet in two of the places: together as many calls as one of all
    calls = [7, 3, 4, 2, 1, 1, 5, 1]
    assert [s.row(1.0)["calls"] for s in sites] == [ranks * n for n in calls]
    assert sites[3].row(1.0)["comm"] == "world/0.0, world/0.1"
    assert {f.relation for r in sites[4].records for f in r.follows} == {"larger"}
    assert {f.relation for r in sites[5].records for f in r.follows} == {"smaller"}
    # _c calls count under the plain name
    assert {f.call for s in sites for r in s.records for f in r.follows} == {
        *("MPI_Allreduce", "MPI_Bcast", "MPI_Sendrecv", "MPI_Finalize")
    }
    assert not any(r.wildcard for s in sites for r in s.records)


KEPT = [
    ("keep", "a receive from any source is in the run"),
    ("candidate", "waits for all ranks"),
    ("keep", "receive or probe from any source comes right before"),
    ("keep", "file through MPI comes right after"),
    ("keep", "file through MPI comes right before"),
    ("keep", "first call after the communicator was made"),
    ("keep", "window for one-sided communication is open"),
    ("candidate", "waits for all ranks"),
    ("keep", "not all ranks come through this place together"),
    ("keep", "not all ranks come through this place together"),
    ("keep", "ranks share memory"),
]


def test_what_is_kept_in_a_c_program(mpi, made, tmp_path):  # noqa: F811
    sites = audited(mpi, 3, [made("planted_barriers.c"), "kept", tmp_path])
    assert [s.kind for s in sites] == [kind for kind, _ in KEPT]
    for site, (_, words) in zip(sites, KEPT, strict=True):
        assert words in site.judgement.reason
    assert [s.row(1.0)["count"] for s in sites] == [1] * 11


def test_barriers_of_a_python_program(mpi, tmp_path):  # noqa: F811
    script = PROGRAMS / "planted_barriers.py"
    lines = [n for n, text in enumerate(script.read_text().splitlines(), 1) if "world.Barrier()" in text]
    sites = audited(mpi, 2, [mpi.python, script, "plain"])
    assert table(sites) == [(6, "candidate"), (2, "weak"), (1, "candidate")]
    # every one at its line, not at the one address of mpi4py
    assert [s.name for s in sites] == [f"{script}:{n}" for n in lines[:3]]
    sites = audited(mpi, 2, [mpi.python, script, "kept", tmp_path])
    assert [s.kind for s in sites] == ["keep"] * 3
    assert [s.name for s in sites] == [f"{script}:{n}" for n in lines[3:]]
    assert [next(iter(s.records[0].reasons)) for s in sites] == ["wildcard", "file after", "file before"]


def test_a_rank_that_comes_late_lets_the_others_wait(mpi, made, capfd):  # noqa: F811
    """The late one sleeps 5 times after the others have told it that they are about to enter the barrier."""
    ranks = 3
    # each of the others is in the barrier for as long as the late one sleeps, but for the moment between its message
    # and its entry, in which a busy machine may put it aside: it sleeps longer then
    for sleep in (0.06, 0.6, 6.0):
        (site,) = audited(mpi, ranks, [made("planted_barriers.c"), "late", sleep])
        (record,) = site.records
        if all(waited >= 0.5 * 5 * sleep for waited in record.seconds[1:]):
            break
    assert (record.count, site.kind) == (5, "candidate")
    # the program's own clock around the barriers of the late rank has all of what the interposer measured inside, and
    # the own cost is the least over ranks; 1e-6: six figures of float32 sums
    inside = float(re.findall(r"inside ([0-9.]+)", capfd.readouterr().out)[-1])
    assert record.seconds[0] <= inside
    assert record.own <= inside * (1 + 1e-6)
    for waited in record.seconds[1:]:
        assert waited >= 0.5 * 5 * sleep
    assert record.own <= record.tight <= record.loose * (1 + 1e-6)


def test_a_program_without_barriers(mpi, made):  # noqa: F811
    assert audited(mpi, 2, [made("planted_barriers.c"), "none"]) == []
