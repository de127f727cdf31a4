"""`lab kernels` times the sum of Kirchhoff migration, after its answer was compared with NumPy."""

import itertools

import numpy as np
import pytest

from subsalt.errors import SubsaltError
from subsalt.kernels import cpu, kirchhoff
from subsalt_lab import kernels
from subsalt_lab.cli import kernels as kernel_tables
from subsalt_lab.kernels import SumBench

BEST = cpu.available()[-1]


def small_bench(*arguments):
    """Return the bench that is asked for, or one that takes milliseconds."""
    return SumBench(*(arguments or ((3, 16), 8)))


@pytest.fixture(scope="module")
def result():
    ticks = itertools.count(0.0, 0.5)  # every call takes half a second
    settings = kernels.Settings((kernels.NAME,), (8,), (BEST,), (1,), rounds=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "SumBench", small_bench)
        return kernels.measure(settings, clock=lambda: next(ticks), seconds=0.1)


def test_rates_count_the_contributions_of_a_call(result):
    rows = {row["case"]: row for row in result.rows}
    assert set(rows) == set(kernels.KINDS)
    bench = small_bench()
    for kind in ("linear, no antialias", "sinc, 10 bands, interpolated"):
        want = bench.sum(kind, 1, BEST) / 0.5
        assert rows[kind]["contributions_per_s"] == pytest.approx(want)
        assert rows[kind]["of_plainest"] == pytest.approx(1.0)
    locations, samples = len(bench.points), kernels.TIME.nt
    assert 0.5 < want * 0.5 / (locations * bench.traces * samples) < 1  # the mute takes some


def test_the_table_and_csv_have_a_row_for_each(result):
    (text,) = kernel_tables.tables(result.rows)
    assert text.startswith(f"sum of Kirchhoff migration, traces of 625 samples, {BEST}, 1 thread\n")
    assert "Gcontrib/s" in text
    assert "sinc, triangle" in text
    (csv,) = kernel_tables.tables(result.rows, "csv")
    head, *lines = csv.splitlines()
    assert head.endswith("contributions_per_s")
    assert len(lines) == len(kernels.KINDS)
    assert all(line.startswith("kirchhoff,") for line in lines)
    assert next(kernel_tables.tables(result.rows, "markdown")).startswith("**sum of Kirchhoff")


def test_nothing_of_it_goes_among_the_steps_of_machine_json(result):
    assert kernels.for_machine(result) == []
    assert result.notes == [] or all("noisy" in note for note in result.notes)


@pytest.mark.parametrize("eta", [False, True])
def test_every_instruction_set_gives_the_right_answer(eta):
    for isa in cpu.available():
        kernels.verify_sums(isa, 2, eta, ["linear, triangle", "sinc, 10 bands, nearest"])


@pytest.mark.parametrize("what", ["image", "hits", "done"])
def test_a_sum_that_differs_is_not_timed(monkeypatch, what):
    right = kirchhoff.sum_traces

    def wrong(image, hits, *args, **more):
        done = right(image, hits, *args, **more)
        if what == "image":
            image[0, 0, -1] += 0.1 * np.abs(image).max()
        if what == "hits":
            hits[0, 3] += 1
        return done + (what == "done")

    monkeypatch.setattr(kirchhoff, "sum_traces", wrong)
    with pytest.raises(SubsaltError, match="wrong answer") as error:
        kernels.verify_sums(BEST, 1)
    assert error.value.code == "E710"
