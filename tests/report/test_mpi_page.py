"""The page of an MPI profile: what it shows, that it needs nothing else, and that no name in it becomes code."""

import re
from html.parser import HTMLParser

import pytest

from subsalt_lab.pmpi.page import page, stacked, write
from subsalt_lab.pmpi.records import CallRow, MpiProfile, PhaseRow, SizeBin

SIZES = (SizeBin(0, 2, 0.0, 0), SizeBin(1024, 6, 0.5, 8192))


def profile(**more):
    """A profile of two ranks: 10 s each, in a phase with its waiting and in one without."""
    calls = (
        CallRow("MPI_Allreduce", "", "world", 2, "setup", 8, 0.5, 8192, (0.125, 0.375), SIZES),
        CallRow("MPI_Testall", "", "", 0, "source, waiting", 1000, 1.0, 0, (0.25, 0.75)),
        CallRow(
            "MPI_File_write_at_all",
            "",
            "",
            0,
            "output",
            2,
            0.25,
            10**9,
            (0.125, 0.125),
            (SizeBin(2**28, 2, 0.25, 10**9),),
        ),
    )
    known = {
        "command": "mpiexec -n 2 subsalt migrate job.toml",
        "mpi": "MPICH 5.0.2",
        "ranks": 2,
        "hosts": ("node 1", "node 1"),
        "wall": (10.0, 10.0),
        "mpi_seconds": (0.5, 1.25),
        "calls": calls,
        "phases": (
            PhaseRow("setup", (2.0, 2.0)),
            PhaseRow("source", (5.0, 3.0)),
            PhaseRow("source, waiting", (2.25, 4.75), True),
            PhaseRow("output", (0.75, 0.25)),
        ),
    }
    return MpiProfile(**(known | more))


class Reader(HTMLParser):
    """Tags that are open, rows of tables by section, and everything that could load or run something."""

    VOID = {"meta", "br", "img", "rect"}

    def __init__(self, text):
        super().__init__()
        self.open, self.loads, self.rows, self.section = [], [], {}, ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, name, attributes):
        given = dict(attributes)
        if name not in self.VOID:
            self.open.append(name)
        if name == "section":
            self.section = given["id"]
            self.rows[self.section] = []
        if name == "tr":
            self.rows[self.section].append([])
        if name in ("td", "th"):
            self.rows[self.section][-1].append("")
        if name in ("script", "link", "iframe", "object", "img") or {"style", "src", "onclick"} & set(given):
            self.loads.append((name, given))

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        if self.open and {"td", "th"} & set(self.open):
            self.rows[self.section][-1][-1] += data


def test_phases_stand_in_one_row_with_their_waiting_and_sum_to_the_wall():
    reader = Reader(page(profile()))
    assert reader.loads == []
    rows = {r[0]: r[1:5] for r in reader.rows["phases"]}
    # source: 4 s at work and 3.5 s of waiting, mean of the ranks; of that 0.5 s in MPI_Testall
    assert rows["source"] == ["7.500", "75.00", "0.500", "3.000"]
    assert rows["setup"] == ["2.000", "20.00", "0.250", "0.000"]
    assert rows["all"][:2] == ["10.000", "100.00"]
    assert "source, waiting" not in rows
    # waiting of each rank: the phase less what of it is in MPI
    assert [r[:4] for r in reader.rows["ranks"][1:]] == [
        ["0", "10.000", "0.500", "2.000"],
        ["1", "10.000", "1.250", "4.000"],
    ]


def test_waiting_is_told_beside_the_time_in_mpi():
    profiled = profile()
    assert profiled.mpi_percent == 8.75
    assert profiled.waiting == (2.0, 4.0)
    assert profiled.waiting_percent == 38.75
    text = page(profiled)
    assert "8.75 %" in text
    assert "38.75 %" in text


def test_a_program_without_phases_has_no_row_of_waiting():
    text = page(profile(phases=(PhaseRow("", (10.0, 10.0)),)))
    assert 'id="phases"' not in text
    assert "waiting between looks" not in text
    assert profile(phases=()).waiting_percent == profile().mpi_percent


def test_calls_sizes_and_files():
    reader = Reader(page(profile()))
    calls = {r[0]: r for r in reader.rows["calls"]}
    assert calls["MPI_Testall"][1:5] == ["1.0000", "57.14", "5.00", "1,000"]
    assert calls["MPI_Allreduce"][5] == "8.19 kB"
    assert reader.rows["files"][1][:3] == ["MPI_File_write_at_all", "2", "1 GB"]
    assert "1-2 Ki bytes: 6 calls, 0.5 s, 8,192 bytes" in page(profile())


@pytest.mark.parametrize(
    "parts",
    [
        [("work", 1.0), ("mpi", 2.0), ("wait", 1.0)],
        [("work", 3.0), ("mpi", 3.0)],
        [("mpi", 0.0)],
        [("work", -1.0)],
    ],
)
def test_a_bar_never_goes_beyond_its_end(parts):
    text = stacked(parts, 4.0)
    boxes = [(float(x), float(w)) for x, w in re.findall(r'x="([\d.]+)" y="0" width="([\d.]+)"', text)]
    assert len(boxes) == len(parts)
    at = 0.0
    for x, w in boxes:
        assert x == pytest.approx(at, abs=2e-3)
        at += w
    assert at <= 100.001
    # HTML knows no end of a rect: each has a group of its own, or the next would be inside of it
    assert text.count("<g>") == text.count("</g>") == len(parts)


def test_no_name_becomes_code():
    evil = '"><script>alert(1)</script><img src=x>'
    rows = (CallRow(f"MPI_{evil}", evil, evil, 2, evil, 1, 1.0, 0, (1.0, 0.0)),)
    reader = Reader(
        page(
            profile(command=evil, mpi=evil, notes=(evil,), calls=rows, phases=(PhaseRow(evil, (10.0, 10.0)),))
        )
    )
    assert reader.loads == []
    assert any(evil in r[0] for r in reader.rows["calls"])


def test_of_many_ranks_some_are_shown_from_the_least_to_the_most():
    n = 500
    seconds = tuple(float((7 * r) % n) / 100 for r in range(n))
    rows = (CallRow("MPI_Barrier", "", "world", n, "", n, sum(seconds), 0, seconds),)
    text = page(
        profile(ranks=n, hosts=("node 1",) * n, wall=(10.0,) * n, mpi_seconds=seconds, calls=rows, phases=())
    )
    shown = [int(r[0]) for r in Reader(text).rows["ranks"][1:]]
    assert len(shown) == 48
    assert [seconds[shown[0]], seconds[shown[-1]]] == [min(seconds), max(seconds)]
    assert sorted(shown, key=lambda r: seconds[r]) == shown
    assert "48 of 500 ranks are shown" in text


def test_a_program_that_does_nothing(tmp_path):
    nothing = profile(ranks=1, hosts=("node 1",), wall=(0.0,), mpi_seconds=(0.0,), calls=(), phases=())
    written = write(nothing, tmp_path / "page.html").read_text()
    Reader(written)
    assert "calls nothing of MPI" in written
