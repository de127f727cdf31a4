"""Starting programs for a measurement."""

import os
import sys

import pytest

from patience import wait_for
from subsalt.errors import SubsaltError
from subsalt.machine import launcher, programs
from subsalt.machine.launcher import Launcher


def test_the_number_of_ranks_stands_where_the_launcher_wants_it():
    assert Launcher(("mpiexec",)).start(3, ["a", "b c"]) == ["mpiexec", "-n", "3", "a", "b c"]
    words = tuple(launcher.split("srun --mpi=pmi2 --ntasks={ranks}"))
    assert Launcher(words).start(3, ["a"]) == ["srun", "--mpi=pmi2", "--ntasks=3", "a"]


def test_a_record_does_not_name_folders():
    assert Launcher(("/opt/mpi/bin/mpiexec", "-bind-to", "core")).name == "mpiexec -bind-to core"


def test_a_launcher_that_is_not_there_is_refused(monkeypatch):
    with pytest.raises(SubsaltError, match="'no-such-launcher' is not on PATH") as caught:
        Launcher.find("no-such-launcher -x")
    assert (caught.value.code, caught.value.exit_code) == ("E780", 69)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SubsaltError, match="no mpiexec was found"):
        Launcher.find()


def test_words_are_not_given_to_a_shell():
    ran = programs.run([sys.executable, "-c", "import sys; print(sys.argv[1])", "$HOME; `id`"], what="it")
    assert ran.stdout == "$HOME; `id`\n"
    assert ran.seconds > 0


def test_variables_reach_the_program():
    program = [sys.executable, "-c", "import os; print(os.environ['OMP_NUM_THREADS'])"]
    assert programs.run(program, what="it", extra={"OMP_NUM_THREADS": "7"}).stdout == "7\n"


def test_a_failure_is_told_with_its_last_lines():
    program = [sys.executable, "-c", "import sys; print('why', file=sys.stderr); sys.exit(3)"]
    with pytest.raises(SubsaltError, match="the thing ended with exit code 3: why") as caught:
        programs.run(program, what="the thing")
    assert caught.value.code == "E781"
    with pytest.raises(SubsaltError, match="cannot be started: No such file"):
        programs.run(["/nowhere/program"], what="it")
    with pytest.raises(SubsaltError, match="No closing quotation"):
        launcher.split("mpiexec 'x")


def test_a_program_that_takes_too_long_ends_with_all_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "GRACE", 0.2)
    # a child that ignores TERM, as a launcher may
    child = "trap '' TERM; sleep 3600 & echo $! > \"$1\"; wait"
    pid = tmp_path / "pid"
    # a shell starts in a few thousandths of a second
    with pytest.raises(SubsaltError, match="did not end within 2 s"):
        programs.run(["/bin/sh", "-c", child, "sh", str(pid)], what="it", timeout=2.0)
    wait_for(lambda: not _alive(int(pid.read_text())))


def _alive(pid):
    """Whether a process runs; one that ended but was not waited for does not."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
