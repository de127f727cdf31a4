"""`subsalt lab profile`: the profile that a run makes of itself, its page, and the founding document beside it."""

import json
import sys

import pytest

from job_files import RUN, write_files
from subsalt_lab.cli import profile as founding
from subsalt_lab.pmpi.records import CallRow, MpiProfile


@pytest.fixture
def run(subsalt_command, tmp_path, monkeypatch):
    """Return a function that runs the command in this process: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    return lambda *args: subsalt_command("lab", "profile", *args)


def test_a_run_profiles_itself_without_a_launcher(run, tmp_path):
    write_files(tmp_path)
    (tmp_path / "job.toml").write_text(RUN)
    words = [sys.executable, "-m", "subsalt", "migrate", "job.toml", "--run", "run"]
    code, out, err = run("--built-in", "--page", "page.html", "--against-founding", "--json", "--", *words)
    assert code == 0, err
    result = json.loads(out.splitlines()[-1])
    assert (result["mpi_percent"], result["waiting_percent"], result["calls"]) == (0.0, 0.0, [])
    assert result["profile"]["source"] == "wrapper"
    assert {"source", "receivers"} <= {p["phase"] for p in result["profile"]["phases"]}
    text = (tmp_path / "page.html").read_text()
    assert "counted by the run itself" in text
    assert "receivers" in text


@pytest.mark.parametrize(
    ("args", "code", "exit_code", "words"),
    [
        (("--built-in", "--sites", "--", "true"), "E128", 2, "--built-in with --sites"),
        (("--built-in", "--mpi", "x.so", "--", "true"), "E128", 2, "--built-in with --mpi"),
        (("--built-in", "--", "true"), "E911", 70, "does not make its own"),
        (("--built-in", "--", "false"), "E907", 1, "exit code 1"),
        (("--page", "/nowhere/page.html", "--", "true"), "E620", 74, "--page"),
    ],
)
def test_wrong_input(run, tmp_path, args, code, exit_code, words):
    ended, _, err = run(*args)
    assert ended == exit_code, err
    assert code in err
    assert words in err
    assert list(tmp_path.iterdir()) == []


def test_the_founding_cases_are_those_of_the_document():
    """Document 002 prints percentages beside its times; they follow from these to its two digits."""
    rows = founding.rows()
    # its first case says 32.78, from times that it does not print
    assert [round(r["mpi_percent"], 1) for r in rows] == [32.8, 38.2, 44.6, 33.7]
    assert [r["barrier_part"] for r in rows] == pytest.approx([14.8, 29.19, 44.6, 35.18], abs=0.011)
    assert [r["wall_text"] for r in rows] == ["3:28:25", "1:17:52", "3:12:33", "6:09:31"]
    assert [r["mpi_text"] for r in rows] == ["1:08:18", "0:29:44", "1:25:52", "2:04:40"]


def test_a_profile_stands_below_the_founding_cases():
    calls = (
        CallRow("MPI_Barrier", "a.c:3", "world", 2, "", 20, 1.0, 0, (0.25, 0.75)),
        CallRow("MPI_Barrier", "a.c:9", "world", 2, "", 20, 1.0, 0, (0.5, 0.5)),
        CallRow("MPI_Bcast", "", "world", 2, "", 2, 2.0, 16, (1.0, 1.0)),
    )
    profiled = MpiProfile("./a", "MPICH", 2, ("node 1",) * 2, (10.0, 10.0), (1.75, 2.25), calls)
    row = founding.rows(profiled)[-1]
    assert (row["mpi_percent"], row["barrier_seconds"], row["barrier_calls"]) == (20.0, 2.0, 40)
    assert (row["barrier_part"], row["barrier_wall"], row["barrier_us"]) == (50.0, 10.0, 50000.0)
    table = founding.founding_table(profiled, "markdown")
    assert (
        "| published simulator, case 3 | 490 | 3:12:33 | 1:25:52 | 44.59 | 1,125,990.74 | 44.60 | 19.89 |"
        in table
    )
