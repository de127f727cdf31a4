"""`subsalt lab profile` as a user meets it: what it prints and writes, and every way in which it can go wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from launch import BIN, MPI, descendants, mpiexec
from openmpi_environment import openmpi  # noqa: F401

from patience import PATIENCE, wait_for
from subsalt.errors import SubsaltError
from subsalt.machine import programs
from subsalt_lab.pmpi import program as mpi_program
from subsalt_lab.pmpi import run as build
from subsalt_lab.pmpi.mpi_in_use import MpiInUse, family_of
from subsalt_lab.pmpi.records import load

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """The program that ends as it is told to."""
    compiler = shutil.which("mpicc", path=str(BIN))
    if compiler is None or shutil.which("cc") is None:
        pytest.skip("needs a C compiler and the mpicc of the mpich wheel")
    out = tmp_path_factory.mktemp("ends") / "ends"
    subprocess.run([compiler, "-g", str(PROGRAMS / "ends.c"), "-o", str(out)], check=True, timeout=PATIENCE)
    return out


@pytest.fixture
def mpi():
    return MpiInUse.find()


pytestmark = MPI


# -- what it says ----------------------------------------------------------------------------------


def test_json_is_the_last_line_and_the_program_speaks_aside(subsalt_command, ends, tmp_path):
    file = tmp_path / "profile.json"
    code, out, err = subsalt_command(
        "lab", "profile", "--json", "--out", file, "--", mpiexec(), "-n", "2", ends
    )
    assert code == 0, err
    (line,) = out.splitlines()
    result = json.loads(line)
    assert 0 <= result["mpi_percent"] <= 100
    calls = {c["call"]: c for c in result["calls"]}
    assert (calls["MPI_Barrier"]["calls"], calls["MPI_Barrier"]["bytes"]) == (2, 0)
    assert calls["MPI_Barrier"]["seconds"] > 0
    assert "hello" in err
    assert load(file).by_call() == load(file).from_dict(result).by_call()


def test_text_comes_after_what_the_program_prints(subsalt_command, ends):
    code, out, err = subsalt_command("lab", "profile", "--", mpiexec(), "-n", "1", ends)
    assert code == 0, err
    assert out.index("hello") < out.index("The run (T1)") < out.index("Calls (T2)")


def test_an_exit_code_after_the_end_of_mpi_is_kept_and_told(subsalt_command, ends):
    code, out, _ = subsalt_command("lab", "profile", "--", mpiexec(), "-n", "1", ends, "five")
    assert code == 5
    assert "ends ended with exit code 5" in out


def test_without_a_launcher_one_rank_is_profiled_and_said_so(subsalt_command, ends):
    code, out, err = subsalt_command("lab", "profile", "--table", "csv", "--", ends)
    assert code == 0
    assert "without a launcher: one rank" in err
    assert out.splitlines()[0].startswith("call,site,")
    assert "hello" not in out


def test_more_ranks_than_cores_are_told(subsalt_command, ends, monkeypatch):
    monkeypatch.setattr("subsalt_lab.pmpi.run.usable_cores", lambda: 1)
    code, out, err = subsalt_command("lab", "profile", "--", mpiexec(), "-n", "2", ends)
    assert code == 0
    assert err.count("2 ranks share 1 core;") == out.count("2 ranks share 1 core;") == 1


@pytest.mark.parametrize("start", ["bash", "script", "env"])
def test_programs_in_wrappers_are_found(subsalt_command, ends, tmp_path, start):
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ncd /\n{ends}\n")
    script.chmod(0o755)
    words = {
        "bash": ["bash", "-c", f"exec {ends}"],
        "script": [script],
        "env": ["env", "A=1", "nice", "-n", "1", ends],
    }[start]
    code, out, err = subsalt_command("lab", "profile", "--", mpiexec(), "-n", "2", *words)
    assert code == 0, err
    assert "MPI_Barrier" in out


# -- programs that end in other ways ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "number", "leaves", "said"),
    [
        ("abort", "E907", 7, "rank 0 called MPI_Abort(7)"),
        ("signal", "E907", None, "no profile: ends"),
        ("leave", "E908", 70, "ended without MPI_Finalize"),
    ],
)
def test_a_program_that_does_not_end_mpi(subsalt_command, ends, tmp_path, how, number, leaves, said):
    file = tmp_path / "profile.json"
    code, _, err = subsalt_command("lab", "profile", "-o", file, "--", mpiexec(), "-n", "1", ends, how)
    # of a signal hydra gives its number, others 128 more
    assert code == leaves if leaves is not None else code in (11, 139)
    assert number in err
    assert said in err
    assert not file.exists()


def test_ctrl_c_ends_the_program_and_leaves_nothing(ends, tmp_path):
    file = tmp_path / "profile.json"
    words = [
        sys.executable,
        "-m",
        "subsalt",
        "lab",
        "profile",
        "-o",
        file,
        "--",
        mpiexec(),
        "-n",
        "2",
        ends,
        "sleep",
    ]
    # what is left behind in the folder of temporary files shows
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    pipe = subprocess.PIPE
    child = subprocess.Popen([str(w) for w in words], stdout=pipe, stderr=pipe, text=True, env=environment)
    assert child.stdout is not None
    assert child.stdout.readline() == "hello\n"
    below = descendants(child.pid)
    assert below
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 130
    assert "E801" in err
    # the launcher takes its ranks along; they may need a moment to be gone
    wait_for(lambda: not [pid for pid in below if Path(f"/proc/{pid}").exists()])
    assert not file.exists()
    assert not list(tmp_path.iterdir())


# -- programs that cannot be profiled --------------------------------------------------------------


def test_no_program(subsalt_command):
    code, _, err = subsalt_command("lab", "profile")
    assert (code, "E128" in err) == (2, True)


def test_a_program_that_is_not_there(subsalt_command):
    code, _, err = subsalt_command("lab", "profile", "--", mpiexec(), "-n", "2", "./no-such-program")
    assert code == 66
    assert "E900  ./no-such-program is not there" in err


def test_a_launch_line_without_a_program(subsalt_command):
    code, _, err = subsalt_command("lab", "profile", "--", mpiexec(), "-n", "2")
    assert code == 66
    assert "E900  the launch line names no program" in err


def test_a_program_without_mpi(subsalt_command):
    code, _, err = subsalt_command("lab", "profile", "--", mpiexec(), "-n", "2", "ls")
    assert code == 69
    assert "E902" in err
    assert "not linked to an MPI library" in err


def test_a_program_linked_statically(subsalt_command, tmp_path):
    (tmp_path / "waves.c").write_text('int main(void) { return sizeof "PMPI_Init" == 1; }')
    made = subprocess.run(
        [shutil.which("cc") or "cc", "-static", str(tmp_path / "waves.c"), "-o", str(tmp_path / "waves")],
        capture_output=True,
        timeout=PATIENCE,
    )
    if made.returncode:
        pytest.skip("cc cannot link statically here")
    code, _, err = subsalt_command("lab", "profile", "--", mpiexec(), "-n", "2", tmp_path / "waves")
    assert code == 65
    assert "E901" in err


def test_a_library_that_is_none(subsalt_command, ends, tmp_path):
    for library in (tmp_path / "none.so", ends):
        code, _, err = subsalt_command("lab", "profile", "--mpi", library, "--", ends)
        assert code == 69
        assert "E902" in err


def test_a_python_without_mpi4py(tmp_path):
    environment = tmp_path / "python3"
    environment.write_text("#!/bin/sh\necho 'ModuleNotFoundError: No module named mpi4py' >&2\nexit 1\n")
    environment.chmod(0o755)
    with pytest.raises(SubsaltError, match=r"cannot be loaded by .*ModuleNotFoundError") as caught:
        MpiInUse.find(python=environment)
    assert caught.value.code == "E902"


def test_a_script_that_starts_a_program_of_another_mpi(subsalt_command, openmpi, tmp_path):  # noqa: F811
    program, script = tmp_path / "ends", tmp_path / "script"
    subprocess.run([openmpi.mpi.compiler, PROGRAMS / "ends.c", "-o", program], check=True, timeout=PATIENCE)
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    code, _, err = subsalt_command("lab", "profile", "--", mpiexec(), "-n", "1", script)
    assert code == 69
    assert "E909" in err
    assert f"give --mpi {openmpi.library}" in err


# -- what it takes to build ------------------------------------------------------------------------


def test_no_compiler(mpi, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(SubsaltError) as caught:
        build.interposer(mpi)
    assert caught.value.code == "E903"
    assert "--built-in" in caught.value.fix


def test_no_headers(mpi):
    from dataclasses import replace

    with pytest.raises(SubsaltError) as caught:
        build.interposer(replace(mpi, include=None))
    assert caught.value.code == "E905"
    assert "pip install mpich" in caught.value.fix


def test_what_was_built_before_is_taken(mpi, monkeypatch):
    if mpi.include is None or shutil.which("cc") is None:
        pytest.skip("needs a C compiler and mpi.h")
    first = build.interposer(mpi)
    started = []
    before = programs.run
    monkeypatch.setattr(programs, "run", lambda words, **more: started.append(words) or before(words, **more))
    assert build.interposer(mpi) == first
    assert not [words for words in started if "-shared" in words]


def test_a_change_of_a_header_builds_anew(mpi, monkeypatch):
    if mpi.include is None or shutil.which("cc") is None:
        pytest.skip("needs a C compiler and mpi.h")
    builds = []
    monkeypatch.setattr(
        build, "compiled", lambda *a, made_from, **more: builds.append(made_from) or Path("x")
    )
    build.interposer(mpi)
    header = build.preprocessed(mpi)
    monkeypatch.setattr(build, "preprocessed", lambda mpi: header + "int MPI_New_call(void);")
    build.interposer(mpi)
    assert builds[0] != builds[1]


def test_the_interposer_is_not_linked_to_an_mpi(mpi):
    if mpi.include is None or shutil.which("cc") is None or shutil.which("readelf") is None:
        pytest.skip("needs a C compiler, mpi.h and readelf")
    said = programs.run(["readelf", "-d", str(build.interposer(mpi))], what="readelf").stdout
    assert "libmpi" not in said
    assert "RPATH" not in said
    assert "RUNPATH" not in said


# -- which MPI it is -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "family", "version"),
    [
        ("MPICH Version:      5.0.2\nMPICH Release date: ...", "mpich", "5.0.2"),
        ("Open MPI v5.0.11, package: Open MPI", "openmpi", "5.0.11"),
        ("Intel(R) MPI Library 2021.18 for Linux* OS", "intel", "2021.18"),
        ("MVAPICH2 Version      :\t2.3.7\n", "mpich", "2.3.7"),
        ("MPI VERSION    : CRAY MPICH version 8.1.25.17", "mpich", "8.1.25.17"),
        ("Somebody's MPI", "mpich", "of unknown version"),
    ],
)
def test_families(text, family, version):
    assert family_of(text) == (family, version)


def test_an_mpi_starts_with_variables_for_the_ranks_alone(mpi):
    words = mpi.start(2, ["waves", "x"], {"A": "1"})
    assert words[-4:] == ["env", "A=1", "waves", "x"]
    assert "env" not in mpi.start(2, ["waves"])


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["env", "-u", "B", "A=1", "waves", "A=2"], ["waves", "A=2"]),
        (["taskset", "-c", "0-3", "waves"], ["waves"]),
        (["timeout", "-k", "5", "10", "nice", "waves", "-n"], ["waves", "-n"]),
        (["bash", "-c", "exec A=1 waves x"], ["waves", "x"]),
        (["bash", "-lc", "A=1 waves 'x y'"], ["waves", "x y"]),
        (["bash", "-c", "cd /tmp && waves"], ["bash", "-c", "cd /tmp && waves"]),
        (["waves", "env"], ["waves", "env"]),
    ],
)
def test_what_is_behind_wrappers(words, left):
    assert mpi_program._unwrapped(words) == left


def test_python_is_found_behind_a_first_line(tmp_path):
    script = tmp_path / "waves"
    script.write_text(f"#!{sys.executable}\nimport mpi4py\n")
    script.chmod(0o755)
    assert mpi_program.find([str(script)]) == mpi_program.Program("python", Path(sys.executable))
    # what pip writes where the path of an interpreter is too long for a first line
    script.write_text(f"#!/bin/sh\n'''exec' {sys.executable} \"$0\" \"$@\"\n' '''\n")
    assert mpi_program.find([str(script)]) == mpi_program.Program("python", Path(sys.executable))
    script.write_text("#!/bin/sh\nexec waves\n")
    assert mpi_program.find([str(script)]).kind == "unknown"
