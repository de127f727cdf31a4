"""`subsalt lab barriers` as users meet it: refusals, the table, trials that save nothing, differ, fail or hang."""

import json
import shutil

import pytest
from mpis import PROGRAMS, mpi, openmpi  # noqa: F401

from subsalt.errors import SubsaltError
from subsalt.machine.stats import paired
from subsalt_lab import trials
from subsalt_lab.barriers import audit as attempt
from subsalt_lab.barriers.audit import Site, chosen, phases_of, read_sites, sites_of, time_steps, variable
from subsalt_lab.barriers.records import BarrierRecord, Follow
from subsalt_lab.pmpi import run as pmpi
from subsalt_lab.pmpi.records import CallRow, MpiProfile, PhaseRow
from thorough import thorough


@pytest.fixture
def run(subsalt_command):
    """Return a function that runs the command in this process: (exit code, stdout, stderr)."""
    return lambda *args: subsalt_command("lab", "barriers", *args)


@pytest.mark.parametrize(
    ("args", "code", "exit_code", "words"),
    [
        ((), "E128", 2, "no command"),
        (("--outputs", "*.dat", "--", "true"), "E128", 2, "--outputs belongs to --try"),
        (("--ignore", "x", "--", "true"), "E128", 2, "--ignore belongs to --try"),
        (("--time-from", "(x)", "--", "true"), "E128", 2, "--time-from belongs to --try"),
        (("--from", "x.json", "--", "true"), "E128", 2, "--from belongs to --try"),
        (("--try", "1", "--rounds", "4", "--", "true"), "E128", 2, "--rounds 4"),
        (("--try", "1", "--ignore", "(", "--", "true"), "E128", 2, "--ignore '('"),
        (
            ("--try", "1", "--ignore", "x", "--outputs", "*", "--", "true"),
            "E128",
            2,
            "--ignore belongs to standard",
        ),
        (("--try", "1", "--time-from", "x", "--", "true"), "E783", 2, "no group"),
        (("--try", "1", "--from", "/nowhere/a.json", "--", "true"), "E925", 65, "/nowhere/a.json"),
        (("--table", "latex", "--", "true"), "E128", 2, "latex"),
        (("--out", "/nowhere/x.json", "--", "true"), "E620", 74, "/nowhere/x.json"),
        (("--", "no-such-program"), "E900", 66, "no-such-program"),
        (("--", "true"), "E902", 69, "not linked to an MPI library"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(run, args, code, exit_code, words):
    left, out, err = run("--json", *args)
    error = json.loads(out)["error"]
    assert (left, error["code"], error["exit"]) == (exit_code, code, exit_code)
    assert words in error["message"] + error["fix"]
    assert error["message"] in err


def record(site, call="MPI_Barrier", follow="MPI_Allreduce", **changes):
    values = {
        "comm": "world",
        "comm_size": 2,
        "phase": "",
        "calls": (3, 3),
        "skipped": (0, 0),
        "seconds": (1.0, 0.5),
        "stored": 3,
        "stored_seconds": (1.0, 0.5),
        "own": 0.25,
        "tight": 0.25,
        "loose": 1.0,
        "aligned": True,
        "follows": (Follow(follow, "same", "", 6),),
        "reasons": {},
        "wildcard": False,
    }
    return BarrierRecord(call, site, **{**values, **changes})


SITES = sites_of(
    [record("b.py:12"), record("b.py:9"), record("a.out+0x1f0", follow="MPI_Bcast"), record("a.out+0x40")],
    {"a.out+0x40": "a.c:7"},
)


def test_sites_have_the_order_of_the_text():
    assert [s.name for s in SITES] == ["a.out+0x40", "a.out+0x1f0", "b.py:9", "b.py:12"]
    assert [s.number for s in SITES] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("words_given", "numbers"),
    [
        ("1,3", [1, 3]),
        (" 3 , 1,3", [3, 1]),
        ("b.py:12", [4]),
        ("a.c:7,2", [1, 2]),
        ("all-candidates", [1, 3, 4]),
    ],
)
def test_sites_are_chosen_by_number_name_and_line(words_given, numbers):
    assert [s.number for s in chosen(words_given, SITES)] == numbers


@pytest.mark.parametrize(
    ("words_given", "sites", "words"),
    [
        ("5", SITES, "--try 5: there is no such site"),
        ("", SITES, "names no site"),
        ("1", [], "calls no barrier"),
    ],
)
def test_sites_that_do_not_exist_are_refused(words_given, sites, words):
    with pytest.raises(SubsaltError, match=words) as error:
        chosen(words_given, sites)
    assert (error.value.code, error.value.exit_code) == ("E924", 2)


def test_the_variable_survives_any_launcher():
    odd = [Site(1, "/a b/ü;x.py:3", "", ()), Site(2, "prog+0x1f", "", ())]
    assert variable(odd) == {"SUBSALT_PMPI_SKIP": "/a%20b/%C3%BC%3Bx.py:3;prog+0x1f"}


def profile(barrier, allreduce, other=0.0, n=10, audit=None):
    rows = [("MPI_Barrier", barrier), ("MPI_Allreduce", allreduce), ("MPI_Send", other)]
    calls = tuple(CallRow(c, "", "world", 2, "", n, s, 0, (s / 2, s / 2)) for c, s in rows)
    each = (barrier + allreduce + other) / 2
    return MpiProfile("c", "MPICH", 2, ("node 1",) * 2, (9.0, 9.0), (each, each), calls, audit=audit or {})


def test_the_table_before_and_after_shows_where_the_time_went():
    before = [profile(b, 1.0, 0.5) for b in (2.0, 3.0, 70.0)]
    after = [profile(0.5, a, 0.5, n=4) for a in (2.0, 1.5, 2.5)]
    rows = attempt.moved(before, after, SITES[:1])
    assert [r["call"] for r in rows] == ["MPI_Barrier", "MPI_Allreduce", "all of MPI"]
    barrier, allreduce, total = rows
    # medians: one round that something else disturbed does not count
    assert (barrier["before"], barrier["after"], barrier["moved"]) == (3.0, 0.5, -2.5)
    assert (barrier["before_calls"], barrier["after_calls"]) == (10, 4)
    assert barrier["before_percent"] == pytest.approx(100 * 3 / 4.5)
    assert (allreduce["before"], allreduce["after"], allreduce["moved"]) == (1.0, 2.0, 1.0)
    assert (total["before"], total["after"], total["moved"]) == (4.5, 3.0, -1.5)
    assert attempt.moved([], [], SITES) == []


@pytest.mark.parametrize(
    ("b", "crowded", "words"),
    [
        (1.0, False, "saving +1 s (+1 to +1 s, 95 %) of 2 s, that is +50 %, 10 rounds; the same outputs"),
        (3.0, False, "slower without these barriers: saving -1 s"),
        (2.0, False, "no significant change: saving +0 s"),
        (1.0, True, "not judged, for there are more ranks than cores: +1 s"),
    ],
)
def test_the_sentence_on_what_was_saved(b, crowded, words):
    given = [2.0] * 10, [b] * 10
    trial = trials.Trials(*map(tuple, given), (), ("x.dat",), paired(*given), crowded, {})
    text = attempt.verdict(attempt.Attempt(("a",), 1.5, trial, ()))
    assert text.startswith(words)
    assert text.endswith("(x.dat)")


def test_a_program_that_prints_nothing_is_not_called_the_same():
    given = (2.0,) * 10
    trial = trials.Trials(given, given, (), (), paired(given, given), False, {})
    text = attempt.verdict(attempt.Attempt(("a",), 1.5, trial, ()))
    assert "nothing was compared: name files with --outputs" in text
    assert "the same outputs" not in text


def test_barriers_of_the_phases_of_our_own_runs():
    def row(call, phase, calls):
        return CallRow(call, "", "world", 2, phase, calls, 1.0, 0, (0.5, 0.5))

    calls = (
        row("MPI_Barrier", "setup", 4),
        row("MPI_Test", "source", 99),
        row("MPI_Ibarrier", "setup, waiting", 1),
    )
    phases = tuple(PhaseRow(p, (2.0, 2.0)) for p in ("", "setup", "source", "receivers"))
    phases += (PhaseRow("setup, waiting", (1.0, 0.0), True),)
    phase_rows = phases_of(
        MpiProfile("c", "MPICH", 2, ("node 1",) * 2, (8.0, 8.0), (1.0, 1.0), calls, phases=phases)
    )
    assert [(p["phase"], p["barrier_calls"]) for p in phase_rows] == [
        ("outside of phases", 0),
        ("setup", 5),
        ("source", 0),
        ("receivers", 0),
    ]
    assert phase_rows[1] == {
        "phase": "setup",
        "seconds": 2.5,
        "waiting": 0.5,
        "mpi_seconds": 1.0,
        "barrier_calls": 5,
    }
    assert time_steps(phase_rows) == "time steps (source, receivers): 0 barriers"
    assert time_steps(phase_rows[:2]) == ""
    planted = [{**p, "barrier_calls": p["barrier_calls"] + (p["phase"] == "source")} for p in phase_rows]
    assert time_steps(planted) == "time steps (source, receivers): 1 barrier"


# -- with a real MPI ---------------------------------------------------------------------------------------------------


def on_ranks(test):
    """Mark a test that starts ranks: trials start many runs, one MPI is enough; the audit is tested with both."""
    return pytest.mark.mpi(pytest.mark.parametrize("mpi", ["mpich"], indirect=True)(test))


@pytest.fixture(scope="module")
def words(mpi, tmp_path_factory):  # noqa: F811
    """Return a function that gives the launch line of the planted program on two ranks."""
    program = mpi.compile("planted_barriers.c", tmp_path_factory.mktemp("planted"))
    return lambda *arguments: mpi.words(2, [program, *arguments])


@on_ranks
def test_an_audit_and_a_trial_of_it(run, words, tmp_path):
    audit_path = tmp_path / "audit.json"
    code, out, err = run("--out", audit_path, "--", *words("plain"))
    assert code == 0, err
    # the program's own words come first
    assert out.startswith("sum ")
    # lines are known by addr2line, places in the program without it
    assert ("planted_barriers.c:" if shutil.which("addr2line") else "planted_barriers+0x") in out
    assert "candidate: MPI_Allreduce on the same communicator follows" in out
    assert "file-system and signal side effects are invisible to us" in out
    assert "removable" not in out
    sites = read_sites(audit_path)
    assert [s.kind for s in sites].count("candidate") == 4

    # sites 1 and 4 by name, from the file; site 4 is called once on each half of the ranks
    names = f"{sites[0].place},{sites[3].name}"
    options = ("--from", audit_path, "--try", names, "--rounds", "5", "--ignore", "nothing")
    code, out, err = run("--json", *options, "--", *words("plain"))
    assert code == 0, err
    trial = json.loads(out.splitlines()[-1])["trial"]
    assert trial["identical"]
    assert trial["verdict"] in ("saving", "loss", "no significant change", "oversubscribed")
    assert (len(trial["seconds_a"]), len(trial["seconds_b"])) == (5, 5)
    assert trial["bound"] > 0
    barrier = next(r for r in trial["rows"] if r["call"] == "MPI_Barrier")
    # 20 barriers on each of 2 ranks, and 7 and 2 of them left out
    assert (barrier["before_calls"], barrier["after_calls"]) == (38, 20)


@thorough  # that trials see it: `test_trials`; what is said: `test_the_sentence_on_what_was_saved`
@on_ranks
def test_more_ranks_than_cores_are_marked(run, words, monkeypatch):
    for module in (trials, pmpi):
        monkeypatch.setattr(module, "usable_cores", lambda: 1)
    code, out, err = run("--try", "1", "--rounds", "5", "--", *words("plain"))
    assert code == 0, err
    assert "not judged, for there are more ranks than cores" in out
    assert "\nsaving" not in out
    assert "oversubscribed: 2 ranks share 1 core" in out


@on_ranks
def test_outputs_that_differ_are_told(run, words, tmp_path):
    """The barrier orders a file that one rank writes and the other reads: no audit of MPI can see that."""
    result_path = tmp_path / "result.json"
    options = ("--try", "all-candidates", "--outputs", "{folder}/answer", "--out", result_path)
    code, out, err = run(*options, "--", *words("needed", "{folder}"))
    assert code == 65, err
    assert "E926" in err
    assert "{folder}/answer: first differing byte 0 of 8 bytes" in err
    assert "candidate" in out
    trial = json.loads(result_path.read_text())["trial"]
    assert (trial["identical"], trial["paired"], trial["verdict"]) == (False, None, "different outputs")


@on_ranks
@pytest.mark.parametrize(
    ("how", "words_"), [("stuck", "did not end within 10 s"), ("fails", "ended with exit code 3")]
)
def test_a_program_that_needs_its_barrier_to_go_on(run, words, how, words_):
    """It waits for ever without it, or aborts."""
    options = ("--try", "1", "--timeout", "10") if how == "stuck" else ("--try", "1")
    code, out, err = run("--json", *options, "--", *words(how, "{folder}"))
    error = json.loads(out.splitlines()[-1])["error"]
    assert (code, error["code"]) == (70, "E923"), err
    assert words_ in error["message"]
    assert "the run without the barriers of site 1" in error["message"]
    assert "leave it as it is" in error["fix"]


@on_ranks
def test_no_barrier_and_a_site_that_is_not_reached(run, words, tmp_path):
    code, out, err = run("--json", "--", *words("none"))
    result = json.loads(out.splitlines()[-1])
    assert (code, result["rows"]) == (0, []), err
    assert "the program calls no barrier" in result["notes"]
    code, out, _ = run("--", *words("none"))
    assert "2 ranks, MPICH" in out
    assert ": none" in out
    assert run("--json", "--try", "1", "--", *words("none"))[0] == 2

    audit_path = tmp_path / "audit.json"
    assert run("--out", audit_path, "--", *words("needed", tmp_path))[0] == 0
    code, out, err = run("--json", "--from", audit_path, "--try", "1", "--rounds", "5", "--", *words("none"))
    error = json.loads(out)["error"]
    assert (code, error["code"]) == (70, "E924")
    assert "was left out: the program does not come there" in error["message"]


@on_ranks
def test_a_program_without_candidates_is_not_tried(run, words):
    code, out, err = run("--try", "all-candidates", "--", *words("end"))
    assert code == 0, err
    assert "no candidate among 1 sites: nothing was tried" in out


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "Expecting"), ('{"measurement": "memory"}', "memory"), ('{"measurement": "barriers"}', "rows")],
)
def test_a_file_that_is_no_audit_is_refused(tmp_path, text, words):
    file = tmp_path / "audit.json"
    file.write_text(text)
    with pytest.raises(SubsaltError, match=words) as error:
        read_sites(file)
    assert error.value.code == "E925"
