"""Choices on a program: what runs of it with and without them say, in words, and what counts as the same output."""

import numpy as np
import pytest
from collective_choices import mpich, openmpi

from subsalt.errors import SubsaltError
from subsalt.machine.stats import paired
from subsalt_lab.collectives import verify
from subsalt_lab.collectives.writers import TuningFiles
from subsalt_lab.outputs import Difference
from subsalt_lab.trials import Settings, Trials

QUIET = {"noisy": False}


def written(tmp_path, *choices):
    environment = {"MPIR_CVAR_X": "/a/table.json"} if choices else {}
    return TuningFiles("mpich", tmp_path, choices, (), environment, ())


def trial(before, after, differences=(), load=QUIET, oversubscribed=False):
    return Trials(
        tuple(before),
        tuple(after),
        tuple(differences),
        ("image.rsf",),
        paired(before, after),
        oversubscribed,
        load,
    )


def given(trials, seen=None):
    def run(a, b, settings, *, say):
        if seen is not None:
            seen.extend([a, b, settings])
        return trials

    return run


def said(tmp_path, trials, *choices):
    choices = choices or (mpich("bcast", "binomial"),)
    verdict = verify.verify(
        ["mpiexec.hydra", "-n", "2", "prog"], written(tmp_path, *choices), Settings(), run=given(trials)
    )
    return verdict, "\n".join(verdict.lines())


def test_the_program_gets_the_variables_in_one_of_the_ways_only(tmp_path):
    seen = []
    trials = trial([2.0] * 10, [1.0] * 10)
    words = ["mpiexec.hydra", "-n", "2", "prog", "x"]
    verify.verify(words, written(tmp_path, mpich("bcast", "binomial")), Settings(), run=given(trials, seen))
    a, b, settings = seen
    assert list(a.words) == words
    assert b.words == ["mpiexec.hydra", "-genv", "MPIR_CVAR_X", "/a/table.json", *words[1:]]
    assert (settings.ranks, settings.goes_on) == (2, True)


def test_a_saving_is_told_with_its_interval(tmp_path):
    verdict, text = said(
        tmp_path, trial([2.0 + 0.01 * i for i in range(10)], [1.5 + 0.01 * i for i in range(10)])
    )
    assert text.startswith("saving: 0.5 s of 2.045 s (24.45 %), 95 % interval 0.5 ... 0.5 s, 10 runs of each")
    assert "the same bytes in every run (image.rsf)" in text
    assert verdict.applied


def test_no_significant_change_is_told_plainly(tmp_path):
    verdict, text = said(tmp_path, trial([2.0, 1.0] * 5, [1.0, 2.0] * 5))
    assert text.startswith("no significant change: ")
    assert not verdict.applied


@pytest.mark.parametrize("choice", [mpich("allreduce", "ring"), openmpi("reduce", "binomial")])
def test_another_order_of_additions_is_said_loudly(tmp_path, choice):
    same = trial([2.0] * 10, [1.0] * 10)
    assert "ATTENTION: another algorithm of Reduce or Allreduce" in said(tmp_path, same, choice)[1]
    assert "ATTENTION" not in said(tmp_path, same)[1]


def test_what_differs_or_was_disturbed_is_not_applied(tmp_path):
    before, after = [2.0] * 10, [1.0] * 10
    differing, text = said(
        tmp_path, trial(before, after, [Difference("image.rsf", "first differing byte 7")])
    )
    assert "outputs differ: image.rsf: first differing byte 7" in text
    noisy, text = said(tmp_path, trial(before, after, load={"noisy": True}))
    assert "noisy: " in text
    crowded, _ = said(tmp_path, trial(before, after, oversubscribed=True))
    assert [v.applied for v in (differing, noisy, crowded)] == [False] * 3


def test_nothing_to_verify_is_refused(tmp_path):
    with pytest.raises(SubsaltError, match="holds no choices") as wrong:
        verify.verify(["mpiexec", "prog"], written(tmp_path), Settings())
    assert wrong.value.code == "E944"


@pytest.mark.parametrize(
    ("one", "other", "tolerance", "differ"),
    [
        ("sum 1.0000001 end", "sum 1.0000002 end", 1e-6, ""),
        ("sum 1.0000001 end", "sum 1.0000002 end", 1e-8, "largest relative difference 1e-07"),
        ("sum 1.0", "sum 1.0 more", 1e-6, "2 words against 3"),
        ("sum a", "sum b", 1e-6, "'a' against 'b'"),
        ("nan", "1.0", 1e-6, "largest relative difference inf"),
        ("1.0", "1.5", 0.0, "first differing byte 2 of 3 bytes"),
    ],
)
def test_texts_are_compared_by_their_numbers(tmp_path, one, other, tolerance, differ):
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text(one)
    b.write_text(other)
    assert verify.comparison(tolerance)(a, b) == differ


def test_arrays_are_compared_by_their_largest_value(tmp_path):
    a, b, c = (tmp_path / f"{n}.npy" for n in "abc")
    x = np.array([1000.0, 1e-3], np.float32)
    np.save(a, x)
    np.save(b, x + np.array([0, 1e-4], np.float32))
    np.save(c, x[:1])
    assert verify.comparison(1e-6)(a, b) == ""
    assert verify.comparison(1e-8)(a, b).startswith("largest difference 1e-07")
    assert verify.comparison(1e-6)(a, c) == "float32 (2,) against float32 (1,)"


def test_other_bytes_say_that_no_numbers_were_looked_at(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"\xff\x00\x01")
    b.write_bytes(b"\xff\x00\x02")
    assert "numbers are looked at in texts and .npy files only" in verify.comparison(1e-6)(a, b)


def test_the_record_holds_every_run(tmp_path):
    verdict, _ = said(tmp_path, trial([2.0] * 10, [1.0] * 10))
    result = verify.result_of(["prog"], written(tmp_path, mpich("bcast", "binomial")), verdict)
    assert len(result.rows) == 20
    assert result.settings["verdict"] == "saving"
    assert result.settings["applied"]
