"""Speed-up, efficiency and the super-linear flag, from times that are known."""

import pytest

from subsalt_lab.cli import scaling as scaling_tables
from subsalt_lab.scaling_rows import Timed, add_rates, rows


def timed(cores, seconds, ranks=None, **more):
    return Timed({"ranks": ranks or cores, "threads": 1}, cores, seconds, **more)


def test_speed_up_and_efficiency_against_the_smallest_run():
    """Kernel seconds of founding document 001, 125 x 1151 x 1231: 484.89, 238.8, 62.34 and 35.38 s on 1, 2, 8, 24."""
    table = rows([timed(n, [t]) for n, t in ((1, 484.89), (2, 238.8), (8, 62.34), (24, 35.38))])
    assert [round(r["speed_up"], 1) for r in table] == [1.0, 2.0, 7.8, 13.7]
    assert [round(100 * r["efficiency"]) for r in table] == [100, 102, 97, 57]


def test_the_smallest_run_need_not_be_one_core():
    """The document's larger grid starts at 8 nodes, whose speed-up counts as 8."""
    table = rows([timed(n, [t]) for n, t in ((24, 210.82), (8, 645.27))])
    assert [round(r["speed_up"], 1) for r in table] == [24.5, 8.0]
    assert [round(r["efficiency"], 2) for r in table] == [1.02, 1.0]


def test_weak_scaling_compares_the_work_done_per_time():
    table = rows([timed(1, [10.0], work=100.0), timed(4, [12.5], work=400.0)])
    assert table[1]["speed_up"] == pytest.approx(3.2)
    assert table[1]["efficiency"] == pytest.approx(0.8)


def test_better_than_linear_is_flagged_only_beyond_the_repeats():
    sure = rows([timed(1, [10.0, 10.1, 9.9, 10.05, 9.95]), timed(2, [4.5, 4.55, 4.45, 4.5, 4.52])])
    assert sure[1]["superlinear"]
    assert sure[1]["marks"] == "super-linear"
    # the same medians, repeats that spread as far as the gain
    noisy = rows([timed(1, [10.0, 13.0, 8.5, 10.5, 9.0]), timed(2, [4.5, 5.5, 4.0, 4.4, 5.2])])
    assert noisy[1]["efficiency"] > 1
    assert not noisy[1]["superlinear"]
    # nor with one sample each, of which nothing is known
    assert not rows([timed(1, [10.0]), timed(2, [4.5])])[1]["superlinear"]


def test_better_than_linear_is_flagged_only_beyond_the_digits_of_the_clock():
    """2 s and 0.9 s: printed in whole seconds and tenths they may be 1.5 s and 0.95 s."""
    repeats = [[2.0] * 5, [0.9] * 5]
    coarse = rows([timed(1, repeats[0], resolution=0.5), timed(2, repeats[1], resolution=0.05)])
    assert coarse[1]["efficiency"] == pytest.approx(2.0 / 0.9 / 2)
    assert coarse[1]["efficiency_low"] == pytest.approx(1.5 / 0.95 / 2)
    assert coarse[1]["efficiency_high"] == pytest.approx(2.5 / 0.85 / 2)
    assert not coarse[1]["superlinear"]
    fine = rows([timed(1, repeats[0], resolution=0.01), timed(2, repeats[1], resolution=0.01)])
    assert fine[1]["superlinear"]


def test_the_smallest_run_is_never_super_linear():
    table = rows([timed(1, [10.0, 11.0, 12.0])])
    assert (table[0]["efficiency_low"], table[0]["efficiency_high"]) == (1.0, 1.0)
    assert not table[0]["superlinear"]


def test_layouts_on_as_many_cores_are_compared_round_by_round():
    """Every other round the machine is twice as slow: medians would say little, rounds say 2 % exactly."""
    slow = [1.0, 2.0, 1.0, 2.0, 1.0]
    threads = Timed({"ranks": 1, "threads": 2}, 2, slow)
    ranks = Timed({"ranks": 2, "threads": 1}, 2, [1.02 * s for s in slow])
    table = rows([timed(1, slow), threads, ranks])
    assert [r["against_fewest_ranks"] for r in table[:2]] == [None, None]
    assert table[2]["against_fewest_ranks"] == pytest.approx(1 / 1.02)


def test_hyperthreads_count_as_the_cores_they_share():
    plain = Timed({"ranks": 1, "threads": 8, "per_core": 1}, 8, [10.0])
    both = Timed({"ranks": 1, "threads": 16, "per_core": 2}, 8, [9.0], marks=["hyperthreads"])
    table = rows([plain, both])
    assert table[1]["efficiency"] == pytest.approx(10 / 9)
    assert table[1]["marks"] == "hyperthreads"
    # the gain of hyperthreads, S1: about 10 %
    assert table[1]["against_fewest_ranks"] == pytest.approx(10 / 9)


def test_rates_per_rank_and_core():
    table = rows([Timed({"ranks": 2, "threads": 2, "point_steps": 8e9}, 4, [2.0])])
    add_rates(table)
    assert (table[0]["rate"], table[0]["rate_per_rank"], table[0]["rate_per_core"]) == (4e9, 2e9, 1e9)


def test_the_table_has_the_columns_of_the_document():
    table = rows([timed(1, [10.0, 10.2]), timed(2, [5.4, 5.5])])
    for row in table:
        row |= {"nodes": 1, "grid": "8 x 8 x 8", "point_steps": 1e9}
    add_rates(table)
    lines = scaling_tables.table(table, scaling_tables.KERNEL, "text").splitlines()
    # one node and one grid everywhere: no column for them
    heads = "ranks threads cores time s ± % speed-up eff % 95 % Mpt-steps/s /rank /core"
    assert lines[0].split() == heads.split()
    assert lines[2].split()[:6] == ["2", "1", "2", "5.450", "0.5", "1.85"]
    assert lines[1].split()[6] == "100"
    spread = scaling_tables.table([table[0] | {"nodes": 4}], scaling_tables.KERNEL, "csv")
    assert "nodes" in spread.splitlines()[0]
