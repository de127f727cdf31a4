"""`subsalt lab collectives`: what it prints, draws and writes, and wrong input. The MPI is made up."""

import functools
import json
from pathlib import Path

import pytest
from fake_collectives import MPI, Machine
from typer.testing import CliRunner

from subsalt.cli.app_root import app
from subsalt.errors import SubsaltError
from subsalt_lab.cli import collectives as commands
from subsalt_lab.collectives import tuning
from subsalt_lab.collectives import writers as real_writers
from subsalt_lab.collectives.proof import TuningOutcome
from subsalt_lab.collectives.request import Wanted, heavy, wanted
from subsalt_lab.collectives.writers import TuningFiles
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.pmpi.records import CallRow, MpiProfile, SizeBin


class Quiet:
    """A watch that saw nothing, whatever runs beside the tests."""

    noisy = False

    def __init__(self, threads):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def facts(self):
        return {"noisy": self.noisy}

    def text(self):
        return "noisy: others used 1.5 of 2 cores meanwhile" if self.noisy else ""


class Files:
    """Takes the place of what writes, proves and verifies: notes what it was asked for, in which order."""

    def __init__(self):
        self.asked = []

    def write(self, mpi, choices, folder, *, threads, as_variables):
        self.asked.append(("write", len(choices), threads, as_variables))
        return TuningFiles(mpi.family, folder, tuple(choices), (), {"X": "1"} if choices else {}, ())

    def proven_and_safe(self, mpi, written, say, *, built_in_only):
        self.asked.append(("prove", len(written.choices), built_in_only))
        return TuningOutcome(written, ("a call",) if written.choices else (), len(written.choices))

    def verify(self, words, written, settings, **more):
        self.asked.append(("verify", words, settings.rounds, settings.time_from))
        return Verdict()

    def proven(self, mpi, written, say):
        self.asked.append(("prove", len(written.choices)))
        return TuningOutcome(written, ("a call",))


class Verdict:
    def lines(self):
        return ["no significant change: 0.01 s"]

    def to_dict(self):
        return {"verdict": "no significant change"}


@pytest.fixture
def files(monkeypatch):
    made = Files()
    monkeypatch.setattr(commands.writers, "write", made.write)
    monkeypatch.setattr(commands.proof, "proven_and_safe", made.proven_and_safe)
    monkeypatch.setattr(commands.verification, "verify", made.verify)
    monkeypatch.setattr(commands.proof, "proven", made.proven)
    monkeypatch.setattr(commands, "mpi_for", lambda command, launcher, library=None: MPI)
    monkeypatch.setattr(commands.writers, "writable", lambda mpi, algorithm: "")
    monkeypatch.setattr(commands.verification, "result_of", lambda words, written, verdict: verdict)
    return made


@pytest.fixture
def run(monkeypatch, tmp_path, files):
    """Return what runs the command against a machine, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(MpiInUse, "find", classmethod(lambda cls, launcher=None: MPI))
    monkeypatch.setattr(tuning, "Watch", Quiet)
    # most of what a command takes here: drawn where they are looked at
    monkeypatch.setattr(tuning, "collective_pictures", lambda rows, folder, about="": [])
    real = tuning.tune

    def go(*words, machine=None):
        fake = functools.partial(tuning.sweep, start=machine or Machine(), others=lambda: 0.0)
        monkeypatch.setattr(tuning, "tune", functools.partial(real, measure=fake))
        return CliRunner().invoke(app, ["lab", "collectives", *words])

    return go


def ring(collective, nbytes, name):
    return 1.5 if (collective, name) == ("allreduce", "ring") and nbytes >= 512 else 1.0


PICTURES = tuning.collective_pictures
SMALL = ("--np", "2,4", "--sizes", "8,64,512,4K", "--collectives", "allreduce,barrier", "--starts", "3")


def test_a_winner_is_told_with_its_interval_and_its_cost(run, monkeypatch):
    monkeypatch.setattr(tuning, "collective_pictures", PICTURES)
    got = run(*SMALL, machine=Machine(faster=ring))
    assert got.exit_code == 0, got.output
    assert "switch allreduce on 2 ranks from 181 to 4,096 bytes to ring:" in got.stdout
    assert "switch allreduce on 4 ranks" in got.stdout
    assert "change in their last bits" in " ".join(got.stdout.split())
    assert [p.name for p in sorted(Path("collectives").glob("*.png"))] == ["allreduce.png", "barrier.png"]


def test_switches_are_written_proven_and_verified_in_this_order(run, files):
    words = (*SMALL, "--as-variables", "--runs", "12", "--time-from", "took ([0-9.]+)", "--json")
    got = run(*words, "--", "mpiexec", "-n", "2", "program", machine=Machine(faster=ring))
    assert got.exit_code == 0, got.output
    assert files.asked == [
        ("write", 2, "multiple", True),
        ("prove", 2, False),
        ("verify", ["mpiexec", "-n", "2", "program"], 12, "took ([0-9.]+)"),
    ]
    said = json.loads(got.stdout.splitlines()[-1])
    assert said["written"]["proven"] == ["a call"]
    assert said["verified"] == {"verdict": "no significant change"}


def test_what_was_written_is_verified_again_without_measuring(run, files, tmp_path):
    folder = tmp_path / "collectives"
    folder.mkdir()
    real_writers.record(TuningFiles("mpich", folder, (), (), {}, ()))
    machine = Machine()
    got = run("--apply", "collectives", "--", "mpiexec", "-n", "2", "program", machine=machine)
    assert got.exit_code == 0, got.output
    assert "no significant change: 0.01 s" in got.stdout
    assert files.asked == [("prove", 0), ("verify", ["mpiexec", "-n", "2", "program"], 10, None)]
    assert machine.starts == []


def test_no_change_is_an_answer(run, files):
    got = run(*SMALL, "--json", "--", "mpiexec", "-n", "2", "program")
    assert got.exit_code == 0
    said = json.loads(got.stdout.splitlines()[-1])
    assert said["choices"] == []
    assert any(note.startswith("no change: nothing is surely more than 5% faster") for note in said["notes"])
    # the record says so too, and the program is not run for nothing
    assert files.asked == [("write", 0, "multiple", False), ("prove", 0, False)]
    # eight sizes of the sum and two barriers
    assert len(said["rows"]) == 10
    assert "algorithms" not in said["rows"][0]


def test_the_result_keeps_every_sample(run):
    got = run(*SMALL, "--out", "result.json", machine=Machine(faster=ring, ends=lambda c, n, a: a == "tree"))
    assert got.exit_code == 0, got.output
    stored = json.loads(Path("result.json").read_text())
    rows = stored["rows"]
    assert {len(line) for r in rows for a in r["algorithms"] for line in a["seconds"]} == {15}
    assert [c["algorithm"]["name"] for c in stored["choices"]] == ["ring", "ring"]
    assert stored["applicable"] is True
    assert [x for x in stored["left_out"] if "allreduce tree on 2 ranks, up to 4096 bytes: it ends" in x]


def test_a_noisy_measurement_says_that_nothing_is_applied(run, files, monkeypatch):
    monkeypatch.setattr(Quiet, "noisy", True)
    got = run(*SMALL, "--json", machine=Machine(faster=ring))
    said = json.loads(got.stdout.splitlines()[-1])
    assert said["applicable"] is False
    assert said["notes"][-1].endswith("none of this is applied")
    assert files.asked == []


def test_more_ranks_than_cores_are_refused(run, files):
    got = run(*SMALL, machine=Machine(cores=2))
    assert isinstance(got.exception, SubsaltError)
    assert (got.exception.code, got.exception.exit_code) == ("E930", 69)
    marked = run(*SMALL, "--oversubscribe-ok", "--json", machine=Machine(cores=2, faster=ring))
    said = json.loads(marked.stdout.splitlines()[-1])
    assert said["applicable"] is False
    assert said["load"]["oversubscribed"] == "4 ranks on 2 cores"
    assert files.asked == []


@pytest.mark.parametrize("at", [0, 2, 5])
def test_an_interrupted_measurement_leaves_nothing(run, at):
    got = run(*SMALL, "--out", "result.json", machine=Machine(stop_at=at))
    assert isinstance(got.exception, SubsaltError)
    assert got.exception.exit_code == 130
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--np", "1"), "--np 1"),
        (("--sizes", "12"), "--sizes 12"),
        (("--collectives", "gather"), "--collectives gather"),
        (("--thread-level", "funneled"), "--thread-level funneled"),
        (("--table", "html"), "--table html"),
        (("--from-profile", "p.json", "--np", "2"), "--np and --from-profile"),
        (("--from-profile", "missing.json"), "missing.json"),
        (("--from-profile", "plain"), "no profile"),
        (("--io-hints", "x", "--sizes", "8"), "--sizes and --io-hints"),
        (("--io-hints", "x", "--", "mpiexec"), "a command and --io-hints"),
        (("--apply", "x"), "--apply without a command"),
        (("--apply", "x", "--", "mpiexec"), "no choices of algorithms were written there"),
        (("--apply", "x", "--np", "2", "--", "mpiexec"), "--np and --apply"),
        (("--outputs", "*.rsf"), "--outputs without a command"),
        (("--runs", "2", "--", "mpiexec"), "--runs 2"),
        (("--time-from", "no group", "--", "mpiexec"), "--time-from 'no group' has no group"),
        (("--folder", "plain/x"), "plain/x cannot be made"),
        (("--out", "."), ". cannot be written"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_started(run, words, says):
    machine = Machine()
    Path("plain").write_text("a file, no folder")
    got = run(*words, machine=machine)
    assert isinstance(got.exception, SubsaltError), got.output
    assert says in str(got.exception)
    assert machine.starts == []


def row(call, size, seconds, sizes=(), site=""):
    bins = tuple(SizeBin(b, calls, s, nbytes) for b, calls, s, nbytes in sizes)
    return CallRow(call, site, "world", size, "", 10, seconds, 0, (seconds,), bins)


def profile(*rows):
    """Return a profile of 2 ranks of 50 s each: 1 % of the wall time is 1 s over the ranks."""
    return MpiProfile("program", "MPICH 5.0.2", 2, ("node 1",) * 2, (50.0, 50.0), (9.0, 9.0), rows)


MADE = profile(
    row("MPI_Allreduce", 2, 9.0, [(512, 100, 6.0, 80_000), (4096, 10, 0.9, 50_000), (0, 1, 2.1, 0)]),
    row("MPI_Allreduce", 2, 9.0, [(512, 100, 6.0, 80_000)], site="program+0x1"),
    row("MPI_Alltoall", 4, 3.0, [(2048, 10, 3.0, 32_000)]),
    row("MPI_Barrier", 2, 1.5),
    row("MPI_Bcast", 1, 30.0, [(8, 1, 30.0, 8)]),
    row("MPI_Send", 2, 40.0, [(8, 1, 40.0, 8)]),
)


def test_only_heavy_collectives_of_a_profile_are_tuned():
    shares = {(h.collective, h.ranks, h.nbytes): h.share for h in heavy(MADE)}
    # the mean size of each bin; an alltoall of 3200 bytes to 4 ranks gives each 800
    assert shares == pytest.approx(
        {
            ("allreduce", 2, 800): 0.06,
            ("allreduce", 2, 0): 0.021,
            ("alltoall", 4, 800): 0.03,
            ("barrier", 2, 0): 0.015,
        }
    )
    assert wanted(heavy(MADE)) == (
        Wanted("allreduce", 2, (8, 400, 800, 1600)),
        Wanted("alltoall", 4, (400, 800, 1600)),
        Wanted("barrier", 2, (0,)),
    )


def test_a_profile_says_what_is_measured(run):
    Path("p.json").write_text(json.dumps(MADE.to_dict()))
    machine = Machine()
    got = run(
        "--from-profile", "p.json", "--starts", "3", "--collectives", "allreduce,barrier", machine=machine
    )
    assert got.exit_code == 0, got.output
    assert "% of wall" in got.stdout
    cells = {(c.collective, c.nbytes) for ranks, what, _ in machine.starts for c in what.cells}
    assert cells == {("allreduce", n) for n in (8, 400, 800, 1600)} | {("barrier", 0)}


def test_a_profile_without_heavy_collectives_starts_nothing(run):
    Path("p.json").write_text(json.dumps(profile(row("MPI_Bcast", 2, 0.9, [(8, 9, 0.9, 72)])).to_dict()))
    machine = Machine()
    got = run("--from-profile", "p.json", "--json", machine=machine)
    assert got.exit_code == 0, got.output
    assert "nothing to tune" in got.stdout
    assert json.loads(got.stdout.splitlines()[-1])["choices"] == []
    assert machine.starts == []


def test_a_table_for_other_programs_stands_alone(run):
    got = run(*SMALL, "--table", "csv", "--", "mpiexec", "-n", "2", "program", machine=Machine())
    assert got.exit_code == 0, got.output
    lines = got.stdout.splitlines()
    assert lines[0].startswith("collective,ranks,size,default_us,best,")
    assert len(lines) == 11
