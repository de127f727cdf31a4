"""What the audit of barriers makes of a story with made-up times, told to it on three ranks: every number is exact."""

import json
import shutil
from pathlib import Path

import pytest
from launch import BIN, MPI, run

from subsalt.errors import DataError
from subsalt_lab.barriers.classes import judge
from subsalt_lab.barriers.records import BarrierRecord, barriers
from subsalt_lab.compiled import compiled

PMPI = Path(__file__).parents[2] / "packages" / "lab" / "src" / "subsalt_lab" / "pmpi"
HERE = Path(__file__).parent
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-pthread", "-Wall", "-Wextra", "-Werror", "-I", str(PMPI)]

STORY = """
# three barriers that rank 2 comes to last: 0.25 s of their own each, gaps of 0, 0.5 and 0 s to the next call
0 Barrier world 0 0  10.0 11.25 late:1 0
1 Barrier world 0 0  10.5 11.25 late:1 0
2 Barrier world 0 0  11.0 11.25 late:1 0
0 Comm_rank world 0 0  11.25
0 Allreduce_c world 0 8  11.25
1 Type_get_extent_c none 0 0  11.5
1 Allreduce_c world 0 8  11.75
2 Allreduce_c world 0 8  11.25
0 Barrier world 0 0  12.0 12.75 late:1 0
1 Barrier world 0 0  12.25 12.75 late:1 0
2 Barrier world 0 0  12.5 12.75 late:1 0
* Allgather world 0 8  12.75
# a communicator in a larger one, a larger in a part, and one of the same ranks
* Barrier front 0 0  18.0 19.0 new:1 3
* Allreduce_c front 0 8  19.0
* Barrier front 0 0  20.0 21.0 larger:2 3
* Allreduce_c world 0 8  21.0
* Barrier world 0 0  22.0 23.0 smaller:3 3
* Allreduce_c front 0 8  23.0
2 Bcast world 0 8  23.0
* Barrier copy 0 0  24.0 25.0 again:4 3
* Allreduce_c world 0 8  25.0
* Barrier world 0 0  25.5 25.75 same:5 3
* Allgather copy 0 8  25.75
# a barrier follows, at another place and at the same
* Barrier world 0 0  26.0 26.5 first:6 1
* Barrier world 0 0  26.5 27.0 second:7 1
* Barrier world 0 0  27.0 27.5 second:7 1
* Allreduce_c world 0 0  27.5
# messages; one rank alone; the nonblocking one
* Barrier world 0 0  28.0 28.5 message:8 1
* Send none 0 8  28.5
0 Barrier world 0 0  29.0 29.5 branch:9 1
1 Barrier world 0 0  29.0 29.5 branch:10 1
2 Barrier world 0 0  29.0 29.5 branch:10 1
* Bcast world 0 8  29.5
* Ibarrier world 0 0  30.0 30.5 posted:11 1
* Bcast world 0 8  30.75
# what makes a barrier needed
* Comm_split world 0 0  40.0
* Barrier world 0 0  40.0 40.5 made:12 1
* Allgather world 0 8  40.5
* Barrier world 0 0  41.0 41.5 file:13 1
0 File_write_at_all none 0 8  41.5
1 Bcast world 0 8  41.5
2 Bcast world 0 8  41.5
* File_write_at_all none 0 8  42.0
* Barrier world 0 0  42.0 42.5 wrote:14 1
* Allgather world 0 8  42.5
* Barrier world 0 0  43.0 43.5 open:15 1
* Win_create world 0 0  43.5
* Bcast world 0 8  43.75
* Barrier world 0 0  44.0 44.5 window:16 1
* Allgather world 0 8  44.5
* Win_free none 0 0  44.75
* Bcast world 0 8  44.8
* Barrier world 0 0  44.9 44.95 closed:17 1
* Allgather world 0 8  44.95
WILDCARD
* Win_allocate_shared world 0 0  46.0
* Bcast world 0 8  46.1
* Barrier world 0 0  46.25 46.5 memory:20 1
* Allgather world 0 8  46.5
* Barrier world 0 0  47.0 47.5 end:21 1
* Finalize none 0 0  47.5
"""
WILDCARD = """
0 Recv world 1 8  45.0
1 Send world 0 8  45.0
2 Send world 0 8  45.0
* Barrier world 0 0  45.0 45.25 received:18 1
* Allgather world 0 8  45.25
* Barrier world 0 0  45.3 45.4 receives:19 1
0 Recv world 1 8  45.4
1 Send world 0 8  45.4
2 Bcast world 0 8  45.4
"""


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Return a function that tells a story on three ranks: the records by site, and the raw object."""
    compiler = shutil.which("mpicc", path=str(BIN))
    if compiler is None or not any(shutil.which(c) for c in ("cc", "gcc", "clang")):
        pytest.skip("needs a C compiler and the headers of the mpich wheel")
    sources = [HERE / "audit_harness.c", PMPI / "audit.c", PMPI / "audit_write.c"]
    headers = "".join(p.read_text() for p in sorted(PMPI.glob("*.h")))
    program = compiled("audit-harness", sources, [compiler], FLAGS, made_from=headers)
    folder = tmp_path_factory.mktemp("stories")

    def tell(story, **variables):
        file = folder / "story"
        file.write_text(story)
        done = run(3, [program, file], per_rank_env=variables)
        assert done.rc == 0, done
        raw = json.loads(done.out[0])
        return {r.site: r for r in barriers(raw)}, raw

    return tell


@pytest.fixture(scope="module")
def plain(audited):
    return audited(STORY.replace("WILDCARD", ""))[0]


@pytest.fixture(scope="module")
def wild(audited):
    return audited(STORY.replace("WILDCARD", WILDCARD))[0]


pytestmark = MPI


def test_times_are_split_into_own_cost_and_waiting(plain):
    r = plain["late:1"]
    assert (r.count, r.calls, r.comm, r.comm_size, r.phase) == (2, (2, 2, 2), "world", 3, "")
    assert r.seconds == (2.0, 1.25, 0.5)
    # the last rank spent 0.25 s in each: nobody else's time is the barrier's own
    assert r.own == 0.5
    assert r.late_share == 1 - 3 * 0.5 / 3.75
    assert r.own_cost == 0.5
    # the first: gaps are 0, 0.5, 0 and times less gaps 1.25, 0.25, 0.25; the second has no gaps
    assert r.tight == (0.5 + 0.25) + (0.0 + 0.25)
    assert r.loose == 1.25 + 0.75
    assert r.aligned
    assert (r.stored, r.stored_seconds) == (2, r.seconds)


def test_calls_that_follow_are_told_with_their_communicator(plain):
    def follows(site):
        return [(f.call, f.relation, f.site, f.calls) for f in plain[site].follows]

    # questions are passed over, and a large-count call counts under the plain name
    assert follows("late:1") == [("MPI_Allgather", "same", "", 3), ("MPI_Allreduce", "same", "", 3)]
    assert follows("larger:2") == [("MPI_Allreduce", "larger", "", 2)]
    assert follows("smaller:3") == [("MPI_Allreduce", "smaller", "", 2), ("MPI_Bcast", "same", "", 1)]
    assert follows("again:4") == [("MPI_Allreduce", "same", "", 3)]
    assert follows("same:5") == [("MPI_Allgather", "same", "", 3)]
    assert follows("first:6") == [("MPI_Barrier", "same", "second:7", 3)]
    assert follows("second:7") == [
        ("MPI_Allreduce", "empty", "", 3),
        ("MPI_Barrier", "same", "second:7", 3),
    ]
    assert follows("message:8") == [("MPI_Send", "none", "", 3)]
    assert plain["larger:2"].phase == "phase 3"
    assert (plain["larger:2"].comm, plain["larger:2"].comm_size) == ("world/0.0", 2)
    assert plain["larger:2"].calls == (1, 1, 0)


def test_classes_of_what_may_be_left_out(plain):
    kinds = {site: judge([r]).kind for site, r in plain.items()}
    assert {s for s, k in kinds.items() if k == "candidate"} == {
        *("late:1", "larger:2", "same:5", "first:6", "message:8", "closed:17")
    }
    assert {s for s, k in kinds.items() if k == "weak"} == {"smaller:3", "second:7"}


# "again:4" is the first call on its communicator; branches that ranks take apart are not left out one by one
@pytest.mark.parametrize(
    ("site", "reason", "words"),
    [
        ("again:4", "fresh", "first call after the communicator was made"),
        ("new:1", "fresh", "first call after the communicator was made"),
        ("made:12", "fresh", "first call after the communicator was made"),
        ("file:13", "file after", "file through MPI comes right after"),
        ("wrote:14", "file before", "file through MPI comes right before"),
        ("open:15", "one-sided", "one-sided communication"),
        ("window:16", "window", "window for one-sided communication is open"),
        ("received:18", "wildcard", "from any source"),
        ("receives:19", "wildcard", "from any source"),
        ("memory:20", "shared memory", "ranks share memory"),
        ("end:21", "finalize", "MPI_Finalize comes right after"),
        ("branch:9", None, "not all ranks come through this place together"),
        ("branch:10", None, "not all ranks come through this place together"),
        ("posted:11", None, "does not block"),
    ],
)
def test_classes_of_what_is_kept(wild, site, reason, words):
    judgement = judge([wild[site]])
    assert (judgement.kind, judgement.bound) == ("keep", None)
    assert words in judgement.reason
    assert (reason in wild[site].reasons) == (reason is not None)
    if reason == "wildcard":
        assert set(wild[site].reasons) == {"wildcard"}


def test_messages_keep_a_barrier_where_a_receive_from_any_source_is_in_the_run(plain, wild):
    assert judge([plain["message:8"]]).kind == "candidate"
    assert not plain["message:8"].wildcard
    judgement = judge([wild["message:8"]])
    assert (judgement.kind, judgement.reason) == (
        "keep",
        "MPI_Send follows, and a receive from any source is in the run",
    )
    # a call that waits for all does so whatever was received before
    assert judge([wild["late:1"]]).kind == "candidate"


def test_a_nonblocking_barrier_is_counted_apart(plain):
    r = plain["posted:11"]
    assert (r.call, r.count, r.late_share, r.own_cost, r.follows) == ("MPI_Ibarrier", 1, None, None, ())


def test_barriers_that_are_passed_over(audited):
    story = STORY.replace("WILDCARD", "")
    records, _ = audited(story, SUBSALT_PMPI_SKIP="late:1;first%3A6;no such site")
    assert records["late:1"].skipped == (2, 2, 2)
    assert records["late:1"].calls == (0, 0, 0)
    assert records["late:1"].seconds == (0.0, 0.0, 0.0)
    assert records["first:6"].skipped == (1, 1, 1)
    assert records["second:7"].skipped == (0, 0, 0)
    # what is passed over still has its place in the order
    assert records["same:5"].aligned


def test_more_barriers_than_are_kept_one_by_one(audited):
    # 100,002 barriers of 0.5 s; rank 1 has 0.25 s more of the last two
    lines = [f"* Barrier world 0 0 {t} {t + 0.5} many:1 0\n" for t in range(100_000)]
    lines += [
        f"{r} Barrier world 0 0 {t} {t + 0.5 + 0.25 * (r == 1)} many:1 0\n" for t in (1, 2) for r in range(3)
    ]
    r = audited("".join([*lines, "* Allgather world 0 8 100002\n"]))[0]["many:1"]
    assert (r.count, r.stored) == (100_002, 100_000)
    assert (r.own, r.loose) == (50_000.0, 50_000.0)
    assert r.seconds == (50_001.0, 50_001.5, 50_001.0)
    assert r.own_cost == pytest.approx(50_001.0, rel=1e-12)
    # those beyond count with all their time, of the rank that has most
    assert judge([r]).bound == pytest.approx(r.tight + 1.5, rel=1e-12)


def test_no_barrier_at_all(audited):
    records, raw = audited("* Bcast world 0 8 1.0\n")
    assert (records, raw["rows"], raw["details"], raw["wildcard"]) == ({}, [], [], False)


def test_a_record_survives_json(plain):
    for r in plain.values():
        assert BarrierRecord.from_dict(json.loads(json.dumps(r.to_dict()))) == r


@pytest.mark.parametrize("change", ["rows", "details", "wildcard"])
def test_a_damaged_record_is_refused(audited, change):
    _, raw = audited("* Barrier world 0 0 1.0 2.0 a:1 0\n* Bcast world 0 8 2.0\n")
    raw[change] = {"rows": [{"site": "a"}], "details": ["0\tnext"], "wildcard": None}[change]
    if change == "wildcard":
        del raw["wildcard"]
    with pytest.raises(DataError, match="record of barriers cannot be read") as error:
        barriers(raw)
    assert error.value.code == "E906"
    assert barriers({}) == ()
