"""`subsalt lab network` as users and scripts meet it."""

import json
import shutil
from dataclasses import replace

import pytest
from launch import needs_mpi

from subsalt.errors import DeviceError
from subsalt.machine import machine_file as machine
from subsalt.machine.launcher import Launcher
from subsalt_lab.network import imb
from subsalt_lab.network import rows as measure
from subsalt_lab.network.messages import fits_launcher, messages, program
from subsalt_lab.pmpi.mpi_in_use import MpiInUse


@pytest.fixture
def run(subsalt_command, monkeypatch, tmp_path):
    """Return a function that measures messages in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return lambda *words: subsalt_command("lab", "network", *words)


@needs_mpi
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_figures_are_printed_kept_and_written(run, tmp_path):
    out_file, result_path = tmp_path / "result.json", tmp_path / "machine.json"
    code, out, err = run(
        "--quick", "--np", "2", "--sizes", "0,8,4K", "--out", out_file, "--machine", result_path, "--json"
    )
    assert code == 0, err
    result = json.loads(out.splitlines()[-1])
    assert result["measurement"] == "network"
    assert result["machine_file"] == str(result_path)
    assert json.loads(out_file.read_text())["rows"] == result["rows"]
    assert all(len(r["seconds"]) >= 3 for r in result["rows"] if "value" in r)
    assert "Between two ranks; 64 messages in flight" in err
    assert "Balance" in err
    rows = machine.read(result_path).sections.get("network", [])
    names = {"latency", "stream", "bidirectional", "message_rate"}
    names |= {"allreduce", "reduce", "bcast", "allgather", "alltoall", "barrier"}
    # two ranks on a machine of one core take turns: nothing of that is kept
    # and whether there is a line through the times is a matter of the times
    of_test = {"bidirectional": "both", "message_rate": "stream"}
    # as it is, on a busy machine, whether a call is so long that larger messages are left out
    left = {
        n for n in names if any(f" {of_test.get(n, n)}: nothing from " in note for note in result["notes"])
    }
    measured = {r["what"] for r in rows} - {"point_to_point"}
    assert measured <= names
    assert not rows or measured >= names - left
    assert bool(rows) == (not any("oversubscribed" in n for n in result["notes"]))
    assert not list(tmp_path.glob("cache/subsalt/machine.json"))


@needs_mpi
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_stop_keeps_the_starts_that_had_ended(run, tmp_path, monkeypatch):
    def stopped(settings, start, say, measured):
        messages(replace(settings, ranks=[2]), start, say, measured)
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "messages", stopped)
    out_file, result_path = tmp_path / "result.json", tmp_path / "machine.json"
    code, _, err = run(
        "--quick", "--np", "2,3", "--sizes", "8,4K", "--out", out_file, "--machine", result_path, "--json"
    )
    assert code == 130
    stored = json.loads(out_file.read_text())
    assert {"latency", "stream"} <= {r["what"] for r in stored["rows"]}
    assert any("stopped before the end" in n for n in stored["notes"])
    assert f"rows in {out_file}" in err
    assert not result_path.exists()


@pytest.mark.parametrize(
    ("wrong", "code", "said"),
    [
        (["--np", "1"], 2, "a message needs two ranks"),
        (["--np", "many"], 2, "--np many"),
        (["--sizes", "big"], 2, "--sizes big: not a message size"),
        (["--table", "html"], 2, "--table html"),
        (["--thread-level", "some"], 2, "choose from multiple, single"),
        (["--launcher", "no-such-launcher -n {ranks}"], 69, "no-such-launcher' is not on PATH"),
        (["--launcher", "'mpiexec"], 2, "close the quotation"),
        (["--mpi", "/nowhere/libmpi.so"], 2, "--mpi /nowhere/libmpi.so: there is no such file"),
        (["--mpi", __file__], 69, "E902"),
        (["--out", "/nowhere/result.json"], 74, "/nowhere/result.json cannot be written"),
    ],
)
def test_wrong_options_are_refused_with_the_cure(run, wrong, code, said):
    printed, _, err = run(*wrong)
    assert printed == code, err
    assert said in err
    assert "fix:" in err


def test_benchmarks_that_are_missing_stop_before_anything_is_measured(run, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name, **more: None)
    for option, code in (("--hpcc", "E954"), ("--imb", "E956")):
        printed, _, err = run(option)
        assert printed == 69
        assert code in err
        assert "network:" not in err


def test_a_launcher_that_starts_single_runs_is_refused(run):
    # env starts one program, which is one rank of its own
    printed, _, err = run("--np", "2", "--sizes", "8", "--launcher", "env")
    assert printed != 0
    assert "E78" in err or "E90" in err


def test_help_has_an_example(run):
    assert "Examples:\n  subsalt lab network --quick" in run("--help")[1]


@needs_mpi
def test_an_mpi_without_a_compiler_is_told_how_to_get_one():
    with pytest.raises(DeviceError, match="no compiler of") as caught:
        program(replace(MpiInUse.find(), compiler=None))
    assert caught.value.code == "E952"
    assert "mpicc" in caught.value.fix


@needs_mpi
@pytest.mark.parametrize(("family", "name"), [("mpich", "mpiexec.openmpi"), ("openmpi", "mpiexec.hydra")])
def test_a_launcher_of_another_mpi_is_refused(family, name):
    mpi = replace(MpiInUse.find(), family=family, launcher=Launcher((f"/opt/{name}", "-n", "{ranks}")))
    with pytest.raises(DeviceError, match=f"{name} -n '{{ranks}}' starts ranks of") as caught:
        fits_launcher(mpi)
    assert caught.value.code == "E782"
    assert "--mpi" in caught.value.fix
    # its own, and one that is not known, are left to what happens
    for words in (
        ("mpiexec.openmpi" if family == "openmpi" else "mpiexec.hydra",),
        ("srun",),
        ("site-mpirun",),
    ):
        fits_launcher(replace(mpi, launcher=Launcher(words)))


@needs_mpi
def test_imb_of_another_mpi_is_refused(monkeypatch, tmp_path):
    from subsalt.machine import programs

    (tmp_path / "IMB-MPI1").write_text("#!/bin/sh\n")
    (tmp_path / "IMB-MPI1").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    mpi = MpiInUse.find()
    other = "libmpi.so.12" if mpi.family == "openmpi" else "libmpi.so.40"
    monkeypatch.setattr(programs, "answer", lambda words: f"\t{other} => /lib/{other} (0x7f)\n")
    with pytest.raises(DeviceError, match="is linked to") as caught:
        imb.executable(mpi)
    assert caught.value.code == "E956"
