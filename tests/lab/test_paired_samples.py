"""Paired comparisons, Holm's correction, fitted lines: against known distributions and hand-computed values."""

import math

import numpy as np
import pytest

from subsalt.machine.stats import BOOTSTRAP, _draws, fit_line, holm, paired, sign_test, t_test


def test_a_constant_saving_is_found_whatever_slows_both():
    slow = np.array([1.0, 3.0, 1.5, 9.0, 2.0, 1.1, 4.0, 1.0])
    comparison = paired(2.0 * slow, slow)
    assert (comparison.ratio, comparison.ratio_low, comparison.ratio_high) == (2.0, 2.0, 2.0)
    assert comparison.median_saving == np.median(slow)
    assert comparison.low > 0
    assert comparison.significant
    assert comparison.p == 2 / 2**8  # eight signs, all the same


def test_a_loss_is_significant_too_and_has_a_negative_saving():
    comparison = paired([1.0] * 8, [2.0] * 8)
    assert comparison.median_saving == -1.0
    assert comparison.significant
    assert comparison.ratio == 0.5


def test_three_rounds_say_nothing_even_if_all_agree():
    comparison = paired([2.0, 2.1, 2.2], [1.0, 1.0, 1.0])
    assert comparison.low > 0
    assert comparison.p == 0.25
    assert not comparison.significant


def test_one_round_bounds_nothing():
    comparison = paired([2.0], [1.0])
    assert (comparison.low, comparison.high) == (-math.inf, math.inf)
    assert not comparison.significant


def test_a_drift_that_would_hide_the_saving_cancels_in_pairs():
    # the machine becomes ten times slower on the way; 3 % are saved in every round, 1 % of noise
    draw = np.random.default_rng(5)
    drift = np.linspace(1.0, 10.0, 20)
    before = drift * (1 + 0.01 * draw.standard_normal(20))
    after = 0.97 * drift * (1 + 0.01 * draw.standard_normal(20))
    comparison = paired(before, after)
    assert comparison.significant
    assert comparison.ratio_low < 1 / 0.97 < comparison.ratio_high


def test_one_huge_outlier_is_no_saving():
    # five pairs as they were seen once: a mean would report a speed-up of 20
    before = [13.69, 0.177, 0.104, 0.131, 0.156]
    after = [0.090, 0.152, 0.078, 0.147, 0.110]
    comparison = paired(before, after)
    assert comparison.median_saving == pytest.approx(0.104 - 0.078)
    assert not comparison.significant


@pytest.mark.parametrize("noise", ["normal", "heavy"])
def test_the_interval_covers_the_truth_as_often_as_it_says(noise):
    draw = np.random.default_rng(11)
    inside = 0
    cases, rounds, saving = 300, 15, 0.2
    for _ in range(cases):
        off = (
            draw.standard_normal((2, rounds)) * 0.1
            if noise == "normal"
            else 0.02 * draw.standard_t(2, (2, rounds)).clip(-20, 20)
        )
        comparison = paired(1.0 + saving + off[0], 1.0 + off[1])
        inside += comparison.low <= saving <= comparison.high
    # the draws are medians of 15: their 2.5 % ends are near order statistics 4 and 12, whose coverage is 96.5 %, and
    # 4 ... 11 have 94 %; four standard deviations of 300 cases at 94 % are 5.5 %
    assert inside / cases > 0.94 - 4 * math.sqrt(0.94 * 0.06 / cases)


@pytest.mark.parametrize("rounds", [5, 10, 15])
def test_noise_is_called_significant_no_more_often_than_the_level_allows(rounds):
    draw = np.random.default_rng(rounds)
    cases = 300
    wrong = sum(
        paired(*(1.0 + 0.1 * draw.standard_exponential((2, rounds)))).significant for _ in range(cases)
    )
    assert wrong / cases < 0.05 + 4 * math.sqrt(0.05 * 0.95 / cases)


def test_starts_that_disagree_are_no_proof_however_many_rounds_each_has():
    # 1.3 times faster in one start, as fast in two: 45 rounds would call that significant, 3 starts do not
    groups = np.repeat([0, 1, 2], 15)
    factor = np.array([1.3, 1.0, 1.1])[groups]
    noise = 1 + 0.01 * np.random.default_rng(3).standard_normal(45)
    alone = paired(factor * noise, np.ones(45))
    assert alone.ratio_low > 1.02
    together = paired(factor * noise, np.ones(45), groups=groups)
    assert together.ratio_low < 1.02
    assert together.p > 0.05
    assert not together.significant


def test_starts_that_agree_are_proof():
    groups = np.repeat([0, 1, 2], 15)
    noise = 1 + 0.01 * np.random.default_rng(3).standard_normal(45)
    comparison = paired(1.3 * noise, np.ones(45), groups=groups)
    assert comparison.significant
    assert comparison.ratio_low > 1.28


def test_starts_of_different_length_are_compared():
    comparison = paired([2.0] * 7, [1.0] * 7, groups=[0, 0, 0, 0, 1, 1, 1])
    assert (comparison.ratio_low, comparison.ratio_high, comparison.n) == (2.0, 2.0, 7)


@pytest.mark.parametrize("groups", [(0,) * 15, (0,) * 16, (0, 0, 0, 0, 1, 1, 1), (0,) * 300])
def test_the_interval_is_that_of_the_medians_of_the_draws(groups):
    """Of the definition, with every draw gathered; samples that are equal among them."""
    before, after = 1 + np.random.default_rng(6).integers(0, 20, (2, len(groups))) / 16
    comparison = paired(before, after, groups=groups)
    for values, ends in (
        (before - after, (comparison.low, comparison.high)),
        (before / after, (comparison.ratio_low, comparison.ratio_high)),
    ):
        medians = np.sort(np.median(values[_draws(groups)], axis=1))
        assert ends == (medians[int(0.025 * BOOTSTRAP)], medians[int(0.975 * BOOTSTRAP)])


def test_the_same_samples_give_the_same_interval():
    draw = np.random.default_rng(2)
    before, after = 1 + draw.random((2, 12))
    assert paired(before, after) == paired(before, after)


@pytest.mark.parametrize(
    ("before", "after"), [([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([1.0], [math.nan])]
)
def test_what_are_no_rounds_is_refused(before, after):
    with pytest.raises(ValueError):
        paired(before, after)


def test_the_sign_test_by_hand():
    # one of five on the other side: (1 + 5) / 32 on each
    assert sign_test([1, 2, 3, 4, -1]) == 2 * 6 / 32
    assert sign_test([1, 1, 0, 0]) == 0.5
    assert sign_test([0.0, 0.0]) == 1.0
    assert sign_test([1, -1]) == 1.0


def test_the_t_test_by_hand():
    # two degrees of freedom have a closed form: p = 1 - t / sqrt(t^2 + 2); values 1, 2, 3: t = 2 sqrt(3)
    t = 2 * math.sqrt(3)
    assert t_test([1.0, 2.0, 3.0]) == pytest.approx(1 - t / math.sqrt(t * t + 2), rel=1e-12)
    assert t_test([1.0]) == 1.0
    assert t_test([1.0, 1.0]) == 0.0
    assert t_test([0.0, 0.0]) == 1.0


def test_holm_by_hand():
    # sorted 0.01, 0.02, 0.03, 0.04: times 4, 3, 2, 1 are 0.04, 0.06, 0.06, 0.04; each at least the one before it
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_keeps_the_chance_of_any_mistake_at_the_level():
    draw = np.random.default_rng(4)
    cases = 2000
    wrong = sum(min(holm(draw.random(8))) <= 0.05 for _ in range(cases))
    # under the null of independent comparisons the chance is 1 - (1 - 0.05 / 8)^8 = 4.9 %; four standard deviations
    assert abs(wrong / cases - 0.049) < 4 * math.sqrt(0.049 * 0.951 / cases)


def test_a_relative_line_serves_small_and_large_alike():
    x = [0.0, 4096.0, 4194304.0]
    line = fit_line(x, [1e-6 + v / 5e9 for v in x])
    assert line.intercept == pytest.approx(1e-6, rel=1e-9)
    assert 1 / line.slope == pytest.approx(5e9, rel=1e-9)
    assert line.worst < 1e-9


def test_an_absolute_line_of_three_points_by_hand():
    # least squares of (0, 0), (1, 1), (2, 3): slope 3/2, intercept -1/6, residuals 1/6, -1/3, 1/6
    line = fit_line([0, 1, 2], [0, 1, 3], relative=False)
    assert (line.intercept, line.slope, line.worst) == pytest.approx((-1 / 6, 1.5, 1 / 3))
