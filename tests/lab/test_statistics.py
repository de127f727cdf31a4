"""Samples and tables: medians, spread, ratios, rounds against a clock of our own."""

import pytest

from subsalt.machine.stats import interval, ratio, summary
from subsalt.report.table import Column, render
from subsalt_lab.rounds import repeats, round_robin


def test_the_median_ignores_one_disturbed_sample():
    middle = summary([1.0, 1.1, 1.2, 1.3, 100.0])
    assert middle.median == 1.2
    assert middle.n == 5
    # quartiles 1.1 and 1.3: half their distance over the median
    assert middle.spread == pytest.approx(0.1 / 1.2)


def test_one_sample_has_no_spread_and_none_is_refused():
    assert summary([2.0]).spread == 0.0
    with pytest.raises(ValueError, match="no samples"):
        summary([])


def test_a_ratio_of_rounds_does_not_see_what_slows_both():
    base = [1.0, 1.0, 1.0, 1.0]
    slow = [1.0, 5.0, 2.0, 9.0]
    over = ratio([2 * b * s for b, s in zip(base, slow, strict=True)], slow)
    assert (over.median, over.spread) == (2.0, 0.0)


def test_a_ratio_needs_samples_of_the_same_rounds():
    with pytest.raises(ValueError):
        ratio([1.0, 2.0], [1.0])


def test_the_interval_of_a_ratio_holds_it_and_repeats_itself():
    over, under = [2.0, 2.1, 1.9, 2.05, 1.95], [1.0, 1.02, 0.98, 1.01, 0.99]
    low, high = interval(over, under)
    # a median of draws never leaves the samples
    assert 1.9 / 1.02 <= low < 2.0 < high <= 2.1 / 0.98
    assert interval(over, under) == (low, high)
    narrow = interval(over, under, level=0.5)
    assert low <= narrow[0] <= narrow[1] <= high


def test_one_sample_bounds_nothing():
    assert interval([2.0], [1.0, 1.1]) == (0.0, float("inf"))


class Clock:
    """A clock that only the work moves."""

    def __init__(self):
        self.now = 0.0
        self.done = []

    def __call__(self):
        return self.now

    def work(self, name, seconds):
        def run():
            self.now += seconds
            self.done.append(name)

        return run


def test_rounds_take_every_case_once_and_every_other_round_backwards():
    clock = Clock()
    work = {"a": clock.work("a", 0.5), "b": clock.work("b", 0.25)}
    samples = round_robin(work, 3, seconds=0.1, clock=clock)
    assert samples == {"a": [0.5] * 3, "b": [0.25] * 3}
    warming = ["a", "a", "b", "b"]
    assert clock.done == [*warming, "a", "b", "b", "a", "a", "b"]


def test_short_work_is_repeated_and_counted_once():
    clock = Clock()
    work = {"short": clock.work("short", 0.25), "long": clock.work("long", 4.0)}
    assert repeats(work, 1.0, clock) == {"short": 4, "long": 1}
    assert round_robin(work, 2, seconds=1.0, clock=clock) == {"short": [0.25] * 2, "long": [4.0] * 2}


def test_what_comes_before_a_round_is_not_timed():
    clock = Clock()
    samples = round_robin(
        {"a": clock.work("a", 1.0)}, 2, seconds=0.5, clock=clock, before=clock.work("reset", 7.0)
    )
    assert samples == {"a": [1.0, 1.0]}
    assert clock.done.count("reset") == 2


ROWS = [{"name": "core", "rate": 1.234e9, "share": 0.5}, {"name": "roof", "rate": 2e9, "share": None}]
COLUMNS = (
    Column("name", ""),
    Column("rate", "G/s", ".2f", 1e-9),
    Column("share", "%", ".0f", 100),
    Column("no", "no"),
)


def test_a_table_as_text_leaves_out_empty_columns_and_places():
    assert render(ROWS, COLUMNS).splitlines() == ["       G/s   %", "core  1.23  50", "roof  2.00"]


def test_a_table_as_markdown():
    assert render(ROWS, COLUMNS, "markdown").splitlines() == [
        "|  | G/s | % |",
        "| --- | ---: | ---: |",
        "| core | 1.23 | 50 |",
        "| roof | 2.00 |  |",
    ]


def test_a_table_as_csv_has_numbers_in_full():
    assert render(ROWS, COLUMNS, "csv").splitlines() == [
        "name,rate,share",
        "core,1234000000.0,0.5",
        "roof,2000000000.0,",
    ]
