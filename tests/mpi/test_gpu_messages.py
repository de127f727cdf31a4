"""Whether MPI reaches the memory of GPUs: what a library answers, and the setting that decides in its place."""

import ctypes
from types import SimpleNamespace

import pytest
from launch import needs_mpi, run

from subsalt.errors import ParallelError
from subsalt.parallel import mpi_library
from subsalt.parallel.mpi_library import Reach, reaches_gpus


@pytest.fixture
def library(monkeypatch):
    """Return a function that lets MPI be one that answers by some functions, and lists some kinds of memory."""

    def make(kinds=None, **functions):
        info = SimpleNamespace(Get=lambda key: kinds)
        world = SimpleNamespace(Get_info=lambda: info)
        mpi = SimpleNamespace(COMM_WORLD=world, __spec__=SimpleNamespace(origin="libmpi.so"))
        monkeypatch.setattr(mpi_library, "is_running", lambda: True)
        monkeypatch.setattr(mpi_library, "module", lambda: mpi)
        monkeypatch.setattr(ctypes, "CDLL", lambda path: SimpleNamespace(**functions))

    monkeypatch.delenv(mpi_library.SETTING, raising=False)
    return make


def mpich_says(answer, code=0):
    """Return MPIX_GPU_query_support as MPICH has it."""

    def query(kind, out):
        assert kind == 0
        out._obj.value = answer
        return code

    return query


def test_open_mpi_and_mpich_are_asked(library):
    library(MPIX_Query_cuda_support=lambda: 1)
    assert reaches_gpus() == Reach(True, "MPIX_Query_cuda_support says yes")
    library(MPIX_Query_cuda_support=lambda: 0)
    assert reaches_gpus() == Reach(False, "MPIX_Query_cuda_support says no")
    library(MPIX_GPU_query_support=mpich_says(1))
    assert reaches_gpus() == Reach(True, "MPIX_GPU_query_support says yes")


def test_a_library_that_says_nothing_is_not_given_a_pointer(library):
    library()
    assert reaches_gpus() == Reach(False, "the library does not say")
    library(MPIX_GPU_query_support=mpich_says(1, code=7))
    assert not reaches_gpus().yes


def test_the_kinds_of_memory_of_mpi_4_are_believed(library):
    library("mpi,system,cuda:device", MPIX_Query_cuda_support=lambda: 0)
    assert reaches_gpus() == Reach(True, "mpi_memory_alloc_kinds = mpi,system,cuda:device")
    # a list without CUDA says what the run asked for, not what the library can
    library("mpi,system", MPIX_Query_cuda_support=lambda: 1)
    assert reaches_gpus().yes


@pytest.mark.parametrize(("word", "yes"), [("direct", True), ("staged", False), ("STAGED ", False)])
def test_the_setting_decides(library, monkeypatch, word, yes):
    library(MPIX_Query_cuda_support=lambda: int(not yes))
    monkeypatch.setenv(mpi_library.SETTING, word)
    assert reaches_gpus().yes is yes


def test_another_word_is_refused(monkeypatch):
    monkeypatch.setenv(mpi_library.SETTING, "cuda")
    with pytest.raises(ParallelError, match="direct, staged, auto") as said:
        reaches_gpus()
    assert said.value.code == "E992"


@needs_mpi
def test_the_library_of_the_tests_answers_for_itself():
    program = """
        from subsalt.parallel.comm import world
        from subsalt.parallel.mpi_library import reaches_gpus
        print(reaches_gpus().why)
        world()
        print(reaches_gpus())
    """
    done = run(2, program, env={mpi_library.SETTING: ""})
    assert done.rc == 0, done
    first, then = done.out[0].splitlines()
    assert first == "MPI does not run"
    # the wheel of MPICH has the question; what it answers depends on how it was built
    assert "MPIX_Query_cuda_support says" in then
