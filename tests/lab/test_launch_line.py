"""What a launch line says: the launcher, the ranks, where the program begins, and variables for the ranks alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from subsalt_lab.launch_line import LaunchLine, kind_of, preload, ranks_of

PROGRAM = ("./waves", "-n", "7", "--out", "x")


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that puts a launcher on PATH that says `text` when it is asked for its version."""

    def put(name: str, text: str) -> str:
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\necho '{text}'\n")
        file.chmod(0o755)
        return str(file)

    return put


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("HYDRA build details:", "hydra"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.18", "hydra"),
        ("mpiexec (OpenRTE) 4.1.4", "openmpi"),
        ("mpiexec (Open MPI) 5.0.11", "openmpi"),
        ("prterun (PRRTE) 4.0.0", "openmpi"),
        ("something else", "other"),
    ],
)
def test_an_mpiexec_says_itself_what_it_is(made, text, kind):
    assert kind_of(made("mpiexec", text)) == kind


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("srun", "srun"),
        ("mpiexec.hydra", "hydra"),
        ("mpirun.openmpi", "openmpi"),
        ("aprun", "other"),
        ("./waves", "none"),
    ],
)
def test_names_tell_the_rest(word, kind):
    assert kind_of(word) == kind


@pytest.mark.parametrize(
    ("options", "ranks"),
    [
        ("mpiexec.hydra -n 4", 4),
        ("mpiexec.hydra -genv A 1 -l -np 3 -ppn 2", 3),
        ("mpiexec.hydra -hosts a,b -bind-to core", None),
        ("mpirun.openmpi --oversubscribe -np 5 --mca btl self,sm -x A=1 --bind-to none", 5),
        ("mpirun.openmpi --host a:2,b:2 --map-by ppr:1:node --allow-run-as-root", None),
        ("srun -n4 --mpi=pmi2 -u", 4),
        ("srun --ntasks=6 -N 2", 6),
        ("srun --ntasks 6", 6),
    ],
)
def test_the_program_begins_behind_the_options_and_ranks_are_those_of_the_launcher(options, ranks):
    line = LaunchLine.of([*options.split(), *PROGRAM])
    assert line.program == PROGRAM
    assert line.launcher == tuple(options.split())
    assert line.ranks == ranks == ranks_of([*options.split(), *PROGRAM])


def test_without_a_launcher_there_is_one_rank():
    line = LaunchLine.of(PROGRAM)
    assert (line.kind, line.launcher, line.program, line.ranks) == ("none", (), PROGRAM, 1)


def test_a_double_dash_ends_the_options():
    assert LaunchLine.of(["mpiexec.hydra", "-n", "2", "--", *PROGRAM]).program == PROGRAM


def test_nothing_at_all():
    assert LaunchLine.of([]).program == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("mpiexec.hydra -n 2", "mpiexec.hydra -genv A 1 -genv B x=y -n 2"),
        ("mpirun.openmpi -n 2", "mpirun.openmpi -x A=1 -x B=x=y -n 2"),
        ("srun -n 2", "srun --export=ALL,A=1,B=x=y -n 2"),
    ],
)
def test_variables_go_to_the_ranks_not_to_the_launcher(options, words):
    given, environment = LaunchLine.of([*options.split(), *PROGRAM]).with_variables({"A": "1", "B": "x=y"})
    assert given == [*words.split(), *PROGRAM]
    assert environment == {}


def test_srun_cannot_quote_a_comma():
    given, environment = LaunchLine.of(["srun", *PROGRAM]).with_variables({"A": "1", "B": "x,y"})
    assert given == ["srun", "--export=ALL,A=1", *PROGRAM]
    assert environment == {"B": "x,y"}


@pytest.mark.parametrize("launcher", [[], ["aprun", "-n", "2"]])
def test_where_a_launcher_has_no_option_the_environment_carries_them(launcher):
    words = [*launcher, *PROGRAM]
    assert LaunchLine.of(words).with_variables({"A": "1"}) == (words, {"A": "1"})


def test_nothing_to_set_changes_nothing():
    words = ["srun", "-n", "2", *PROGRAM]
    assert LaunchLine.of(words).with_variables({}) == (words, {})


def test_what_was_preloaded_before_stays():
    assert preload([Path("/a.so"), Path("/b.so")], {"LD_PRELOAD": "/c.so /d.so"}) == "/a.so:/b.so:/c.so /d.so"
    assert preload([Path("/a.so")], {}) == "/a.so"
