"""What ranks wrote is merged and shown rightly: sums, sizes, phases, tables, files."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from subsalt.errors import DataError, MissingInputError
from subsalt_lab.pmpi.places import shown
from subsalt_lab.pmpi.raw import profile_of
from subsalt_lab.pmpi.records import MpiProfile, load
from subsalt_lab.pmpi.tables import clock, size_text, tables, whole_rows


def row(call, seconds, **more):
    """Return a row as write.c writes it."""
    values = {"main": 1, "phase": 0, "site": "", "comm": "world", "size": 2, "calls": 1, "bytes": 0}
    return {"call": call, "seconds": seconds, "least": seconds, "most": seconds} | values | more


def raw():
    """Return two ranks of a run: 4 s and 6 s, of which 1 s and 3 s in MPI."""
    return {
        "schema": "subsalt-pmpi-raw-1",
        "library": "MPICH",
        "audit": {"barriers": []},
        "ranks": [
            {
                "rank": 1,
                "host": "b",
                "wall": 6.0,
                "init": 0.2,
                "objects": [],
                "phases": [[0, 1.0], [5, 5.0]],
                "calls": [
                    row(
                        "MPI_Allreduce_c",
                        2.5,
                        phase=5,
                        calls=4,
                        bytes=32,
                        sizes=[[4, 4, 2.5, 32]],
                        least=0.5,
                        most=1,
                    ),
                    row("MPI_Barrier", 0.5, site="a.c:3", phase=5),
                    row("MPI_Barrier", 9.0, main=0),
                ],
            },
            {
                "rank": 0,
                "host": "a",
                "wall": 4.0,
                "init": 0.1,
                "objects": [],
                "phases": [[0, 3.0], [5, 1.0]],
                "calls": [
                    row(
                        "MPI_Allreduce",
                        0.75,
                        phase=5,
                        calls=2,
                        bytes=8,
                        sizes=[[0, 1, 0.25, 0], [4, 1, 0.5, 8]],
                    ),
                    row(
                        "MPI_File_read_at",
                        0.25,
                        comm="",
                        size=0,
                        bytes=500_000_000,
                        sizes=[[29, 1, 0.25, 500_000_000]],
                    ),
                ],
            },
        ],
    }


@pytest.fixture
def profile():
    return profile_of(raw(), "mpiexec -n 2 waves", "MPICH 5.0.2", ["a note"])


def test_ranks_are_in_order_and_nodes_numbered(profile):
    assert profile.wall == (4.0, 6.0)
    assert profile.mpi_seconds == (1.0, 3.0)
    assert profile.hosts == ("node 1", "node 2")
    assert profile.init_seconds == (0.1, 0.2)


def test_the_part_in_mpi_is_that_of_the_means(profile):
    # document 002: MPI time over wall time, 4098 s of 12505 s are 32.77 %; here 2 s of 5 s
    assert (profile.mpi_time, profile.mean_wall, profile.mpi_percent) == (2.0, 5.0, 40.0)


def test_plain_and_large_forms_are_one_call(profile):
    first = profile.by_call()[0]
    assert (first.call, first.calls, first.bytes, first.seconds) == ("MPI_Allreduce", 6, 40, 3.25)
    assert first.per_rank == (0.75, 2.5)
    assert (first.least, first.most) == (0.5, 1)
    assert [(b.bytes_from, b.calls, b.seconds, b.bytes) for b in first.sizes] == [
        (0, 1, 0.25, 0),
        (8, 5, 3.0, 40),
    ]


def test_calls_of_other_threads_are_apart(profile):
    assert [(r.call, r.seconds) for r in profile.background] == [("MPI_Barrier", 9.0)]
    assert sum(r.seconds for r in profile.calls) == sum(profile.mpi_seconds)


def test_phases(profile):
    assert [(p.phase, p.per_rank) for p in profile.phases] == [("", (3.0, 1.0)), ("phase 5", (1.0, 5.0))]
    assert {(r.call, r.phase) for r in profile.by_phase()} == {
        ("MPI_Allreduce", "phase 5"),
        ("MPI_Barrier", "phase 5"),
        ("MPI_File_read_at", ""),
    }


def test_a_profile_survives_a_file(profile, tmp_path):
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(profile.to_dict()))
    assert load(file) == profile
    file.write_text(json.dumps({"schema": "subsalt-lab-1", "profile": profile.to_dict()}))
    assert load(file) == profile


def test_json_has_one_entry_for_each_call(profile):
    entries = profile.to_dict()
    assert entries["mpi_percent"] == 40.0
    main = {c["call"]: c for c in replace(profile, background=()).to_dict()["calls"]}
    assert main["MPI_Allreduce"] == {"call": "MPI_Allreduce", "calls": 6, "seconds": 3.25, "bytes": 40}
    assert len(main) == 3


def test_json_counts_the_calls_of_all_threads(profile):
    other = replace(profile.calls[0], call="MPI_Get_count", calls=7)
    calls = replace(profile, background=(other, other)).to_dict()["calls"]
    assert sum(c["calls"] for c in calls) == sum(r.calls for r in profile.calls) + 14
    assert next(c["calls"] for c in calls if c["call"] == "MPI_Get_count") == 14


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"schema": "subsalt-lab-1"}', '{"schema": "subsalt-mpi-profile-1"}']
)
def test_another_file_is_refused(tmp_path, content):
    file = tmp_path / "other.json"
    file.write_text(content)
    with pytest.raises(DataError) as caught:
        load(file)
    assert caught.value.code == "E906"


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(MissingInputError) as caught:
        load(tmp_path / "none.json")
    assert caught.value.code == "E110"


def test_what_the_interposer_cannot_have_written_is_refused():
    broken = raw()
    del broken["ranks"][0]["wall"]
    with pytest.raises(DataError) as caught:
        profile_of(broken, "waves", "MPICH")
    assert caught.value.code == "E906"


def test_tables_show_the_shape_of_document_002(profile):
    run, calls, phases, sizes, files, other = tables(profile, "text")
    assert run.splitlines()[2].split()[-6:] == ["2", "5.000", "2.000", "40.00", "25.00", "50.00"]
    # 3.25 s of 4 s in MPI, of 10 s of wall; 6 calls of 40 bytes; 0.75 s to 2.5 s, at most 1.54 of the mean
    first = "MPI_Allreduce 3.2500 81.25 32.50 6 40 541,666.67 0.7500 2.5000 1.54"
    assert calls.splitlines()[2].split() == first.split()
    assert phases.splitlines()[2].split()[:5] == ["phase", "5", "3.0000", "60.0", "1.8750"]
    assert "8-15" in sizes
    read = ["MPI_File_read_at", "1", "500,000,000", "0.2500", "2", "0.0000", "0.2500", "2.00"]
    assert files.splitlines()[2].split() == read
    assert "9.0000" in other


def test_csv_is_one_table_with_everything(profile):
    (text,) = tables(profile, "csv")
    lines = text.splitlines()
    assert lines[0].startswith("call,site,place,comm,comm_size,phase,seconds")
    assert len(lines) == 1 + len(profile.calls)


def test_long_runs_are_told_as_document_002_does(profile):
    assert [clock(s) for s in (12505, 4098, 59.5, 60, 22171)] == [
        "3:28:25",
        "1:08:18",
        "59.50 s",
        "0:01:00",
        "6:09:31",
    ]
    values = profile.to_dict() | {"wall": [12505.0, 12505.0], "mpi_seconds": [4098.0, 4098.0]}
    (long,) = whole_rows(MpiProfile.from_dict(values))
    assert (long["wall_text"], long["mpi_text"], f"{long['mpi_percent']:.2f}") == (
        "3:28:25",
        "1:08:18",
        "32.77",
    )


@pytest.mark.parametrize(
    ("bytes_from", "text"),
    [(0, "0"), (1, "1"), (2, "2-3"), (512, "512-1023"), (1024, "1-2 Ki"), (1 << 24, "16-32 Mi")],
)
def test_sizes_in_words(bytes_from, text):
    assert size_text(bytes_from) == text


def test_names_of_places(tmp_path):
    assert shown("waves+0x11db", {"waves+0x11db": "waves.c:12"}, tmp_path) == "waves.c:12"
    assert shown("waves+0x11db", {}, tmp_path) == "waves+0x11db"
    assert shown(f"{tmp_path}/sub/waves.py:3", {}, tmp_path) == "sub/waves.py:3"
    assert shown("/usr/lib/python3/package/module.py:3", {}, tmp_path) == "package/module.py:3"
