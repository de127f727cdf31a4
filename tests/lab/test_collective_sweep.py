"""The sweep against an MPI that is made up: what is started, in which order, what is left out, what an end leaves."""

from pathlib import Path

import pytest
from fake_collectives import MPI, NAMES, Machine, variable

from subsalt.errors import ConfigError, SubsaltError
from subsalt.machine.launcher import Launcher
from subsalt_lab.collectives.decide import decide
from subsalt_lab.collectives.plan import StartAnswer, SweepStart
from subsalt_lab.collectives.request import TuningRequest, everything, ranks_of, size_text, sizes_of
from subsalt_lab.collectives.sweep import cores_of_others, crowded, plain, starter
from subsalt_lab.collectives.sweep import sweep as real_sweep
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

SIZES = (8, 64, 512, 4096)


def sweep(mpi, wanted, start, others=0.0):
    return real_sweep(mpi, wanted, start=start, others=lambda: others)


def request(ranks=(2,), collectives=("allreduce",), sizes=SIZES, **more):
    return TuningRequest(everything(ranks, collectives, sizes), **{"starts": 3, **more})


def test_every_start_does_all_algorithms_in_another_order():
    machine = Machine()
    sweep(MPI, request(ranks=(2, 4)), start=machine)
    assert [(ranks, what.what) for ranks, what, _ in machine.starts] == [
        (4, "list"),
        (2, "probe"),
        (4, "probe"),
        *[(2, "measure"), (4, "measure")] * 3,
    ]
    assert [what.seed for _, what, _ in machine.starts if what.what == "measure"] == [0, 0, 1, 1, 2, 2]


def test_every_algorithm_is_timed_in_every_round_of_every_start():
    swept = sweep(MPI, request(collectives=("allreduce", "barrier")), start=Machine())
    assert swept.left_out == []
    names = {(s.collective, s.nbytes, s.algorithm.name) for s in swept.samples}
    known = {"default", *NAMES}
    assert names == {("allreduce", n, a) for n in SIZES for a in known} | {("barrier", 0, a) for a in known}
    assert {tuple(map(len, s.seconds)) for s in swept.samples} == {(15, 15, 15)}
    assert plain(swept.samples)[0]["ranks"] == 2


def test_a_planted_winner_goes_all_the_way():
    machine = Machine(faster=lambda c, n, a: 1.5 if a == "ring" and n >= 512 else 1.0)
    swept = sweep(MPI, request(sizes=(8, 64, 512, 4096, 32768)), start=machine)
    (choice,) = decide(swept.samples)
    assert (choice.algorithm.name, choice.bytes_from, choice.bytes_below) == ("ring", 181, 32769)
    assert choice.algorithm.settings == {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring"}


def test_what_ends_the_program_is_left_out_there_and_below_and_the_rest_is_tried():
    # needs as many elements as a larger message has: fails at 64 bytes and below
    machine = Machine(ends=lambda c, n, a: (a == "ring" and n <= 64) or a == "tree")
    swept = sweep(MPI, request(), start=machine)
    assert {(x.algorithm.name, x.up_to) for x in swept.left_out} == {("ring", 64), ("tree", 4096)}
    assert (
        "it ends the program (the start ended with exit code 1: Assertion failed" in swept.left_out[0].text()
    )
    at = {n: {s.algorithm.name for s in swept.samples if s.nbytes == n} for n in SIZES}
    assert at[512] == {"default", *NAMES} - {"tree"}
    assert at[64] == at[8] == {"default", *NAMES} - {"tree", "ring"}
    # one start for each of the two, and a last one that comes to its end
    assert [what.what for _, what, _ in machine.starts].count("probe") == 3


def test_wrong_answers_are_left_out_whenever_they_come():
    machine = Machine(wrong=lambda c, n, a: a == "tree", late={("allreduce", 8, "nb")})
    swept = sweep(MPI, request(), start=machine)
    assert {(x.algorithm.name, x.up_to, x.why) for x in swept.left_out} == {
        ("tree", 4096, "a wrong answer"),
        ("nb", 8, "a wrong answer"),
    }
    assert all(s.algorithm.name != "tree" for s in swept.samples)
    assert {s.nbytes for s in swept.samples if s.algorithm.name == "nb"} == {64, 512, 4096}


@pytest.mark.parametrize("how", ["ends", "wrong", "late"])
def test_an_mpi_whose_own_choice_fails_is_not_measured(how):
    planted = (
        {"late": {("allreduce", 8, "default")}} if how == "late" else {how: lambda c, n, a: a == "default"}
    )
    with pytest.raises(SubsaltError, match="the library's own allreduce") as error:
        sweep(MPI, request(), start=Machine(**planted))
    assert error.value.code == "E932"


def test_an_mpi_without_the_knob_says_what_it_has():
    machine = Machine(variables=[variable("MPIR_CVAR_ALLREDUCE_COMPOSITION", {}, "0 Auto selection")])
    with pytest.raises(
        SubsaltError, match=r"MPICH 5\.0\.2 does not allow.*MPIR_CVAR_ALLREDUCE_COMPOSITION"
    ) as error:
        sweep(MPI, request(), start=machine)
    assert error.value.code == "E931"


def test_a_collective_without_a_knob_is_left_out_beside_others():
    swept = sweep(MPI, request(collectives=("allreduce", "alltoall")), start=Machine())
    assert [x.text() for x in swept.left_out] == [
        "left out: alltoall every algorithm on 2 ranks: MPICH 5.0.2 has no variable for it"
    ]


def test_intel_has_a_start_of_its_own_for_every_preset():
    about = "Control selection of presets. range: 0-4 @Alias:# I_MPI_ADJUST_ALLREDUCE @Default:# -1"
    machine = Machine(
        variables=[variable("MPIR_CVAR_USE_ALLREDUCE", {}, about)],
        faster=lambda c, n, a: 1.5 if a == "preset 3" else 1.0,
    )
    intel = type(MPI)(family="intel", name="Intel MPI 2021.18", launcher=MPI.launcher)
    swept = sweep(intel, request(), start=machine)
    measured = [variables for _, what, variables in machine.starts if what.what == "measure"]
    given = [{}] + [{"I_MPI_ADJUST_ALLREDUCE": str(n)} for n in (1, 2, 3, 4)]
    key = lambda v: v.get("I_MPI_ADJUST_ALLREDUCE", "")  # noqa: E731
    assert sorted(measured, key=key) == sorted(given * 3, key=key)
    assert all(not what.switches for _, what, _ in machine.starts if what.what != "list")
    assert {c.algorithm.name for c in decide(swept.samples)} == {"preset 3"}


def test_sizes_are_listed_or_made_by_factors():
    assert sizes_of(["8:4M"]) == [8, 32, 128, 512, 2048, 8192, 32768, 131072, 524288, 2097152, 4194304]
    assert sizes_of(["8,1K", "1M"]) == [8, 1024, 1048576]
    assert sizes_of(["64:256:2"]) == [64, 128, 256]
    assert [size_text(n) for n in (8, 1000, 1024, 3 << 20)] == ["8", "1000", "1K", "3M"]


@pytest.mark.parametrize("text", ["4", "12", "1Q", "64:8", "8:64:3", "8:64:2:2", "", "8:", "4G"])
def test_sizes_that_are_none_are_refused(text):
    with pytest.raises(ConfigError, match="--sizes"):
        sizes_of([text])


@pytest.mark.parametrize("text", ["1", "0", "two", ""])
def test_ranks_that_talk_to_nobody_are_refused(text):
    with pytest.raises(ConfigError, match="--np"):
        ranks_of([text], 4)
    assert ranks_of(["4,2", "2"], 8) == [2, 4]
    assert ranks_of(None, 1) == [2]


@pytest.mark.parametrize(
    ("cores", "others", "words"), [(3, 0.0, "4 ranks on 3 cores:"), (4, 1.5, "others use 1.5")]
)
def test_more_ranks_than_idle_cores_are_refused_or_marked(cores, others, words):
    with pytest.raises(SubsaltError, match=words) as error:
        sweep(MPI, request(ranks=(2, 4)), start=Machine(cores=cores), others=others)
    assert error.value.code == "E930"
    swept = sweep(MPI, request(ranks=(4,), oversubscribe=True), start=Machine(cores=cores), others=others)
    assert swept.crowded.startswith(f"4 ranks on {cores} cores")


def test_cores_count_by_host():
    answer = StartAnswer(4, ("a", "a", "b", "b"), {"a": 2, "b": 2})
    # what others use of this host says nothing of two hosts
    assert crowded(answer, others=3.0) == ""
    assert crowded(StartAnswer(4, ("a", "b", "b", "b"), {"a": 2, "b": 2}), 0.0) == "3 ranks on 2 cores"
    assert cores_of_others() >= 0


def test_ranks_load_the_library_that_is_to_be_measured(monkeypatch):
    """Not the one that MPI for Python finds first: the launcher of another MPI ends those."""
    started = []

    def run(words, **named):
        started.append(words)
        raise SubsaltError("stop here", "", code="E781")

    monkeypatch.setattr("subsalt.machine.programs.run", run)
    mpi = MpiInUse("openmpi", "4.1.4", Path("/nowhere/libmpi.so.40"), None, None, Launcher(("mpiexec",)))
    with pytest.raises(SubsaltError, match="stop here"):
        starter(mpi, request())(2, SweepStart("list", ()), {"coll_tuned_x": "1"})
    assert "MPI4PY_LIBMPI=/nowhere/libmpi.so.40" in started[0]
    # control variables of Open MPI have a prefix in the environment
    assert "OMPI_MCA_coll_tuned_x=1" in started[0]


def test_variables_that_are_read_at_the_start_only_have_starts_of_their_own():
    """As those of Open MPI 4: the interface refuses to set them in a running program."""
    values = {"ignore": 0, "ring": 4, "linear": 1}
    fixed = [
        variable("coll_tuned_allreduce_algorithm", values) | {"settable": False},
        variable("coll_tuned_use_dynamic_rules", {}),
    ]
    machine = Machine(variables=fixed, faster=lambda c, n, a: 1.5 if a == "ring" else 1.0)
    older = type(MPI)(family="openmpi", name="Open MPI 4.1.4", launcher=MPI.launcher)
    swept = sweep(older, request(), start=machine)
    measured = [variables for _, what, variables in machine.starts if what.what == "measure"]
    assert {v.get("coll_tuned_allreduce_algorithm") for v in measured} == {None, "ring", "linear"}
    assert all(not what.switches for _, what, _ in machine.starts if what.what != "list")
    assert {s.algorithm.name for s in swept.samples} == {"default", "ring", "linear"}
