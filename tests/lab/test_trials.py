"""Runs of a command with and without something: order, outputs, refusals. Times are made up, never a clock's."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from subsalt.errors import SubsaltError
from subsalt.machine import programs
from subsalt_lab import trials
from subsalt_lab.outputs import STDOUT, Outputs, bytes_differ, lines_differ

A = trials.TrialCommand("as it is", ["a", "{folder}"])
B = trials.TrialCommand("changed", ["b", "{folder}"])


class Program:
    """Stands for `programs.run`: says, for each run, what it prints, takes and leaves in its folder."""

    def __init__(
        self, a=lambda n: {}, b=lambda n: {}, seconds=lambda way, n: 1.0, says=lambda way, n: "done\n"
    ):
        self.leaves = {"a": a, "b": b}
        self.seconds, self.says = seconds, says
        self.started, self.timeouts, self.folders = [], [], []

    def __call__(self, words, *, what, extra=None, timeout=None):
        way, folder = words[0], Path(words[1])
        number = self.started.count(way)
        self.started.append(way)
        self.timeouts.append(timeout)
        self.folders.append(folder)
        assert not list(folder.iterdir())
        for name, content in self.leaves[way](number).items():
            (folder / name).write_bytes(content)
        return programs.Ran(self.says(way, number), "", self.seconds(way, number))


FILES = Outputs(["{folder}/*.bin"])


def test_a_saving_is_found_in_rounds_that_drift():
    # A takes 3 to 12 s, B a quarter of a second less in the same round
    program = Program(seconds=lambda way, n: 2.0 + n - 0.25 * (way == "b"))
    runs = []
    result = trials.trials(A, B, trials.Settings(), run=program, after=lambda key, ran: runs.append(key))
    assert result.identical
    assert result.compared == (STDOUT,)
    assert result.verdict == "saving"
    assert result.paired.median_saving == pytest.approx(0.25)
    # the first run of each is thrown away
    assert result.seconds_a == tuple(3.0 + n for n in range(10))
    assert sorted(runs) == ["a"] * 10 + ["b"] * 10


def test_every_round_runs_both_in_an_order_of_chance():
    program = Program()
    trials.trials(A, B, trials.Settings(rounds=20), run=program)
    assert program.started[:2] == ["a", "b"]
    pairs = ["".join(program.started[i : i + 2]) for i in range(2, 42, 2)]
    assert set(pairs) == {"ab", "ba"}
    again = Program()
    trials.trials(A, B, trials.Settings(rounds=20), run=again)
    assert again.started == program.started


def test_noise_is_no_significant_change():
    noise = {"a": [5, 1, 9, 2, 8, 3], "b": [4, 6, 3, 7, 2, 9]}
    program = Program(seconds=lambda way, n: noise[way][n])
    result = trials.trials(A, B, trials.Settings(rounds=5), run=program)
    assert result.verdict == "no significant change"


def test_a_loss_is_called_one():
    program = Program(seconds=lambda way, n: 1.0 + (way == "b") + 0.01 * n)
    assert trials.trials(A, B, trials.Settings(), run=program).verdict == "loss"


def test_more_ranks_than_cores_are_refused_or_marked(monkeypatch):
    monkeypatch.setattr(trials, "usable_cores", lambda: 2)
    with pytest.raises(SubsaltError, match="3 ranks on 2 cores") as error:
        trials.trials(A, B, trials.Settings(ranks=3), run=Program())
    assert (error.value.code, error.value.exit_code) == ("E921", 69)
    program = Program(seconds=lambda way, n: 2.0 - (way == "b"))
    result = trials.trials(A, B, trials.Settings(ranks=3, oversubscribed_ok=True), run=program)
    assert result.oversubscribed
    assert result.verdict == "oversubscribed"


def test_too_few_rounds_are_refused():
    with pytest.raises(SubsaltError, match="--rounds 4"):
        trials.trials(A, B, trials.Settings(rounds=4), run=Program())


def test_the_first_differing_byte_is_told_and_no_time_is_taken():
    program = Program(
        a=lambda n: {"one.bin": b"abcdef", "two.bin": b"same"},
        b=lambda n: {"one.bin": b"abcXef", "two.bin": b"same"},
    )
    result = trials.trials(A, B, trials.Settings(outputs=FILES), run=program)
    assert not result.identical
    assert [str(d) for d in result.differences] == ["{folder}/one.bin: first differing byte 3 of 6 bytes"]
    assert result.compared == ("{folder}/one.bin", "{folder}/two.bin")
    assert result.verdict == "different outputs"
    # A again, to see that A itself is steady; no rounds
    assert program.started == ["a", "b", "a"]
    assert result.to_dict()["paired"] is None


def test_a_difference_in_a_later_round_counts():
    program = Program(a=lambda n: {"x.bin": b"1"}, b=lambda n: {"x.bin": b"1" if n < 3 else b"2"})
    result = trials.trials(A, B, trials.Settings(outputs=FILES), run=program)
    assert not result.identical
    assert result.verdict == "no significant change"


def test_files_that_are_missing_or_new_are_differences():
    program = Program(a=lambda n: {"x.bin": b"1"}, b=lambda n: {"y.bin": b"1"})
    result = trials.trials(A, B, trials.Settings(outputs=FILES), run=program)
    assert [(d.name, d.what) for d in result.differences] == [
        ("{folder}/x.bin", "was not written"),
        ("{folder}/y.bin", "was not written before"),
    ]


def test_times_are_taken_all_the_same_when_asked_for():
    program = Program(
        a=lambda n: {"x.bin": b"1"}, b=lambda n: {"x.bin": b"2"}, seconds=lambda way, n: 2.0 - (way == "b")
    )
    settings = trials.Settings(outputs=FILES, goes_on=True)
    result = trials.trials(A, B, settings, run=program)
    assert (result.identical, result.verdict) == (False, "saving")
    near = trials.trials(
        A, B, replace(settings, outputs=replace(settings.outputs, compare=lambda one, other: "")), run=program
    )
    assert near.identical


def test_a_program_that_differs_from_itself_is_refused():
    program = Program(a=lambda n: {"x.bin": b"%d" % n}, b=lambda n: {"x.bin": b"b"})
    with pytest.raises(SubsaltError, match=r"the unchanged program differ: .folder./x") as error:
        trials.trials(A, B, trials.Settings(outputs=FILES), run=program)
    assert error.value.code == "E922"
    # also when it happens late, and B agrees with the first run
    late = Program(a=lambda n: {"x.bin": b"0" if n < 4 else b"1"}, b=lambda n: {"x.bin": b"0"})
    with pytest.raises(SubsaltError, match="unchanged program differ"):
        trials.trials(A, B, trials.Settings(outputs=FILES), run=late)


def test_globs_without_a_file_are_refused(tmp_path, monkeypatch):
    with pytest.raises(SubsaltError, match=r"{folder}/\*\.bin matches no file") as error:
        trials.trials(A, B, trials.Settings(outputs=FILES), run=Program())
    assert error.value.code == "E920"
    # a file that an earlier run left is none that this one wrote
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.dat").write_bytes(b"1")
    with pytest.raises(SubsaltError, match="1 matched before and were not written"):
        trials.trials(A, B, trials.Settings(outputs=Outputs(["*.dat"])), run=Program())


def test_files_in_the_working_folder_are_compared_when_written_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input.dat").write_bytes(b"never written")

    def run(words, **named):
        (tmp_path / "out.dat").unlink(missing_ok=True)
        if words[0] == "a":
            (tmp_path / "out.dat").write_bytes(b"1")
        return programs.Ran("", "", 1.0)

    result = trials.trials(A, B, trials.Settings(outputs=Outputs(["*.dat"])), run=run)
    assert [str(d) for d in result.differences] == ["out.dat: was not written"]
    assert (tmp_path / "input.dat").read_bytes() == b"never written"


@pytest.mark.parametrize("what", ["ended with exit code 3", "did not end within 10 s"])
def test_a_changed_program_that_fails_or_hangs(what):
    def run(words, **named):
        if words[0] == "b":
            raise programs.failed(f"the run changed {what}", "")
        return programs.Ran("", "", 1.0)

    with pytest.raises(SubsaltError, match=what) as error:
        trials.trials(A, B, trials.Settings(), run=run)
    assert (error.value.code, error.value.exit_code) == ("E923", 70)


def test_a_program_that_fails_as_it_is_keeps_its_own_error():
    def run(words, **named):
        raise programs.failed("the run as it is ended with exit code 3", "out of cheese")

    with pytest.raises(SubsaltError, match="out of cheese") as error:
        trials.trials(A, B, trials.Settings(), run=run)
    assert error.value.code == "E781"


def test_patience_follows_the_first_run():
    program = Program(seconds=lambda way, n: 7.0)
    trials.trials(A, B, trials.Settings(rounds=5), run=program)
    assert program.timeouts == [None] + [70.0] * 11
    short = Program(seconds=lambda way, n: 0.1)
    trials.trials(A, B, trials.Settings(rounds=5), run=short)
    assert short.timeouts[1] == trials.LEAST_PATIENCE
    given = Program()
    trials.trials(A, B, trials.Settings(rounds=5, timeout=3.0), run=given)
    assert given.timeouts == [3.0] * 12


def test_the_time_that_is_printed_counts_and_may_be_left_out_of_the_comparison():
    program = Program(says=lambda way, n: f"sum 42\nelapsed {2.0 + n - (way == 'b'):.2f} s\n")
    outputs = Outputs(ignore=r"elapsed .*")
    settings = trials.Settings(outputs=outputs, time_from=r"elapsed ([0-9.]+)")
    result = trials.trials(A, B, settings, run=program)
    assert result.identical
    assert result.paired.median_saving == pytest.approx(1.0)
    with pytest.raises(SubsaltError, match="standard output: prints 'elapsed"):
        trials.trials(A, B, trials.Settings(), run=program)


def test_lines_of_ranks_may_come_in_any_order_and_the_folder_has_no_name():
    def run(words, **named):
        lines = ["rank 0\n", "rank 1\n", f"wrote {words[1]}/image\n"]
        return programs.Ran("".join(reversed(lines) if words[0] == "b" else lines), "", 1.0)

    assert trials.trials(A, B, trials.Settings(), run=run).identical


def test_a_program_that_prints_nothing_is_compared_in_nothing():
    result = trials.trials(A, B, trials.Settings(rounds=5), run=Program(says=lambda way, n: ""))
    assert (result.identical, result.compared) == (True, ())


def test_nothing_is_left_and_folders_are_not_shared(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    program = Program(a=lambda n: {"x.bin": b"1"}, b=lambda n: {"x.bin": b"1"})
    trials.trials(A, B, trials.Settings(outputs=FILES), run=program)
    assert len(set(program.folders)) == len(program.folders) == 22
    assert not list(tmp_path.iterdir())


def test_a_real_command_whose_file_is_compared():
    code = (
        "import pathlib, sys; pathlib.Path(sys.argv[1], 'x.bin').write_bytes(bytes([int(sys.argv[2])]) * 9)"
    )
    both = [
        trials.TrialCommand(n, [sys.executable, "-c", code, "{folder}", v])
        for n, v in (("one", "1"), ("two", "2"))
    ]
    result = trials.trials(*both, trials.Settings(rounds=5, outputs=FILES))
    assert [d.what for d in result.differences] == ["first differing byte 0 of 9 bytes"]


def test_where_files_and_texts_differ(tmp_path):
    def file(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    one = file("one", b"x" * 5_000_000)
    assert bytes_differ(one, file("same", b"x" * 5_000_000)) == ""
    far = file("far", b"x" * 4_900_000 + b"y" * 100_000)
    assert bytes_differ(one, far) == "first differing byte 4900000 of 5000000 bytes"
    short = file("short", b"x" * 7)
    assert bytes_differ(one, short) == "first differing byte 7 of 5000000 bytes against 7"
    assert bytes_differ(file("none", b""), file("none too", b"")) == ""
    assert lines_differ("a\nb\n", "a\nb\n") == ""
    assert lines_differ("a\nb\n", "a\n") == "no longer prints 'b'"
    assert lines_differ("a\n", "a\nc\n") == "prints 'c'"


@pytest.mark.parametrize(
    ("given", "words"),
    [({"ignore": "("}, "--ignore '\\('"), ({"ignore": "x", "globs": ["*"]}, "--ignore belongs")],
)
def test_outputs_that_cannot_be_compared_are_refused(given, words):
    with pytest.raises(SubsaltError, match=words):
        Outputs(**given)


def test_a_result_is_plain(tmp_path):
    plain = trials.trials(A, B, trials.Settings(rounds=5), run=Program()).to_dict()
    assert (plain["verdict"], plain["identical"], plain["compared"]) == (
        "no significant change",
        True,
        [STDOUT],
    )
    assert not any(isinstance(v, float) and math.isnan(v) for v in plain["seconds_a"])
