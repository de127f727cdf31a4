"""The page of a machine: it stands alone, shows every section and result, and escapes what it shows."""

import json
import re

import pytest

from subsalt.cli import guard
from subsalt.cli.app_root import app
from subsalt.machine.machine_file import SCHEMA, Machine
from subsalt_lab import machine_page as lab_page

DAY = {"date": "2026-11-22T10:00:00Z", "version": "0.5.0", "noisy": False}


def machine():
    messages = [
        {
            "what": "latency",
            "where": w,
            "bytes": s,
            "ranks": 2,
            "value": 1e-6 + s * b,
            "unit": "s",
            "spread": 0.1,
        }
        for w, b in (("node", 1e-10), ("across", 1e-8))
        for s in (0, 8, 4096, 65536)
    ]
    return Machine(
        {"cpu": "Made <up>", "system": "Linux", "cores": 4, "ram_bytes": 10**10},
        {
            "memory": [
                {"what": "triad", "isa": "v3", "threads": 1, "rate": 12.5, "unit": "GB/s", "spread": 0.01}
                | DAY,
                {"what": "multiply-add", "isa": "v3", "threads": 1, "rate": 99.0, "unit": "GFLOP/s"}
                | DAY
                | {"noisy": True},
            ],
            "network": [m | DAY for m in messages],
            "what comes later": [{"what": "new", "value": 3.5, "flag": True, "list": [1, 2]}],
        },
    )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(machine().to_dict()))
    return path


def result(rows, name="scaling", **more):
    return {
        "schema": "subsalt-lab-1",
        "measurement": name,
        "rows": rows,
        "notes": ["a note"],
        "load": {"noisy": True},
        "date": "2026-11-20T00:00:00Z",
        "version": "0.4.0",
    } | more


def run(capsys, *args):
    code = guard.run(app, ["lab", *map(str, args)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_page_has_every_section_and_result(file, tmp_path, capsys):
    rows = [
        {"ranks": n, "threads": 1, "cores": n, "speed_up": 0.9 * n, "time": 8.0 / n, "samples": [1.0, 2.0]}
        for n in (1, 2, 4)
    ]
    (tmp_path / "scaling.json").write_text(json.dumps(result(rows)))
    calls = [{"call": "MPI_Allreduce", "seconds": 3.0, "calls": 10, "bytes": 80}]
    calls += [{"call": "MPI_Barrier", "seconds": 1.0, "calls": 7, "bytes": 0}]
    profile = {"schema": "subsalt-mpi-profile-1", "calls": calls, "ranks": 2, "wall": [9.0, 11.0]}
    profile |= {"mpi_seconds": [1.0, 3.0], "command": "prog <x>"}
    (tmp_path / "p.json").write_text(json.dumps(result([], "profile", profile=profile)))
    (tmp_path / "other.html").write_text("")
    out = tmp_path / "out.html"
    given = [
        "--with",
        tmp_path / "scaling.json",
        "--with",
        tmp_path / "p.json",
        "--with",
        tmp_path / "other.html",
    ]
    code, _, _ = run(capsys, "report", "-o", out, "--machine", file, *given)
    assert code == 0
    page = out.read_text()
    for must in (
        "Made &lt;up&gt;",
        "Memory and arithmetic",
        "Half round trip",
        "what comes later",
        "Result: scaling",
        "Speed-up",
        "even share",
        "Profile of MPI",
        "20.00%",
        "75.0%",
        "prog &lt;x&gt;",
        'href="other.html"',
        "not measured",
        "a note",
    ):
        assert must in page, must
    # nothing is loaded and nothing runs
    assert "<script" not in page
    assert not re.search(r"https?:|url\(|\bstyle=|\bon[a-z]+=", page)
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_curves_are_drawn_where_their_axes_say():
    drawn = lab_page.curves(
        "t", "x", "y", {"a": [(1, 1), (10, 10), (100, 100)], "one": [(1, 1)], "no": [(-1, 2), (0, 1)]}
    )
    places = re.search(r'points="([^"]*)"', drawn)[1].split()
    x, y = zip(*[map(float, p.split(",")) for p in places], strict=True)
    # a straight line, evenly spaced, upwards
    assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.11)
    assert y[0] - y[1] == pytest.approx(y[1] - y[2], abs=0.11)
    assert lab_page.LEFT < x[0] < x[2] < lab_page.WIDTH
    assert drawn.count("<polyline") == 1
    assert lab_page.curves("t", "x", "y", {"a": [(1, 1)]}) is None
    # one value alone still has an axis
    assert lab_page.curves("t", "x", "y", {"a": [(1, 5), (2, 5)]}) is not None


@pytest.mark.parametrize(
    ("value", "text"), [(5, "5"), (20_000, "20k"), (1e6, "1M"), (0.02, "0.02"), (1e-5, "1e-05")]
)
def test_numbers_of_axes(value, text):
    assert lab_page.short(value) == text


def test_results_without_a_measured_machine(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    (tmp_path / "r.json").write_text(json.dumps(result([{"a": 1}], "io")))
    assert run(capsys, "report", "-o", tmp_path / "m.html", "--with", tmp_path / "r.json")[0] == 0
    code, _, err = run(capsys, "report", "-o", tmp_path / "n.html")
    assert (code, "E110" in err) == (66, True)
    assert not (tmp_path / "n.html").exists()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "subsalt-lab-1"}', '{"schema": "x", "rows": []}']
)
def test_what_is_no_result_is_refused(file, tmp_path, capsys, text):
    (tmp_path / "odd.json").write_text(text)
    code, _, err = run(
        capsys, "report", "-o", tmp_path / "m.html", "--machine", file, "--with", tmp_path / "odd.json"
    )
    assert (code, "E973" in err) == (65, True)
    assert not (tmp_path / "m.html").exists()
    missing = run(
        capsys, "report", "--machine", file, "-o", tmp_path / "m.html", "--with", tmp_path / "none.html"
    )
    assert (missing[0], "E110" in missing[2]) == (66, True)


def test_odd_rows_do_not_stop_a_page():
    odd = Machine({}, {"network": [{"what": "latency", "bytes": "x", "value": None}], "kernels": [{}]})
    assert "Network" in lab_page.page(odd, lab_page.Path("machine.json"), [])
    assert odd.to_dict()["schema"] == SCHEMA
