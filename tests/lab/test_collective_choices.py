"""Which switches are proposed: planted winners are found where they are, noise gives none."""

import dataclasses

import pytest
from fake_collectives import SIZES, samples

from subsalt_lab.collectives.choice import Algorithm, AlgorithmChoice
from subsalt_lab.collectives.decide import choices, decide, verdicts
from thorough import sample

SEEDS, PLANTED = sample(40, 100), sample(10, 20)


@pytest.mark.parametrize("kind", ["normal", "heavy", "drift", "starts"])
def test_noise_alone_proposes_nothing(kind):
    silent = sum(not decide(samples(seed, kind)) for seed in range(SEEDS))
    assert silent >= 0.95 * SEEDS


def ring_from_2k(collective, nbytes, name):
    return 1.4 if (collective, name) == ("allreduce", "ring") and nbytes >= 2048 else 1.0


@pytest.mark.parametrize("kind", ["normal", "heavy", "drift"])
def test_a_planted_winner_is_found_at_its_sizes_and_nowhere_else(kind):
    hits = 0
    for seed in range(PLANTED):
        got = decide(samples(seed, kind, faster=ring_from_2k))
        assert {(c.collective, c.algorithm.name) for c in got} <= {("allreduce", "ring")}
        # 512 and 2048: their geometric mean is 1024; nothing is said above the largest size
        hits += [(c.bytes_from, c.bytes_below) for c in got] == [(1024, SIZES[-1] + 1)]
    # a place is missed when its interval reaches down to 1.05; 1.4 is far from it but for the heaviest tails
    assert hits >= 0.9 * PLANTED


def test_a_choice_tells_times_and_the_widest_interval():
    (got,) = decide(samples(0, "normal", faster=ring_from_2k))
    assert got.comm_size == 2
    assert got.algorithm.settings == {"X": "ring"}
    # medians of 75 samples with 5 % of noise are within 4 * 1.25 * 5 % / sqrt(75) = 2.9 % of the truth, over 4 sizes
    assert got.default_us / got.chosen_us == pytest.approx(1.4, rel=0.06)
    assert 1.05 < got.ratio_low < 1.4 < got.ratio_high
    assert AlgorithmChoice.from_dict(got.to_dict()) == got


def test_a_loser_is_never_chosen():
    assert decide(samples(3, "normal", faster=lambda c, n, a: 1.0 if a == "default" else 0.5)) == []


def test_one_size_alone_is_not_believed():
    lonely = samples(1, "normal", faster=lambda c, n, a: 1.5 if (c, a, n) == ("bcast", "tree", 2048) else 1.0)
    verdict_at = {(v.collective, v.nbytes): v for v in verdicts(lonely)}
    assert verdict_at["bcast", 2048].why == "no change: no neighbouring size agrees"
    assert verdict_at["bcast", 2048].best.algorithm.name == "tree"
    assert choices(list(verdict_at.values())) == []


def test_a_barrier_has_no_neighbour_to_ask():
    only = samples(
        1, "normal", faster=lambda c, n, a: 1.5 if a == "tree" else 1.0, collectives=("barrier",), sizes=(0,)
    )
    (got,) = decide(only)
    assert (got.bytes_from, got.bytes_below, got.algorithm.name) == (0, None, "tree")


def test_a_gain_below_what_the_clock_can_tell_is_left():
    fast = samples(0, "normal", faster=ring_from_2k)
    # at 2 KB a call takes 2.2 us, and 0.6 us are saved; at 128 KB 15 us, and 4.3 us
    assert len(decide(fast, floor=0.9e-7)) == 1
    (later,) = decide(fast, floor=1e-6)
    assert later.bytes_from > 8192
    assert decide(fast, floor=1e-5) == []
    assert verdicts(fast, floor=1e-5)[-1].switch is False


def test_what_cannot_be_written_is_not_proposed_and_says_why():
    by_place = verdicts(
        samples(0, "normal", faster=ring_from_2k), writable=lambda a: f"{a.name} needs a radix"
    )
    assert choices(by_place) == []
    assert "no change: ring needs a radix" in {v.why for v in by_place}


def test_few_rounds_or_starts_decide_nothing():
    assert decide(samples(0, "normal", faster=ring_from_2k, rounds=14)) == []
    assert decide(samples(0, "normal", faster=ring_from_2k, starts=2)) == []


def test_two_winners_share_the_sizes_and_ties_keep_the_neighbour():
    def planted(collective, nbytes, name):
        if nbytes < 512:
            return 1.3 if name in ("tree", "ring") else 1.0
        return 1.8 if name == "ring" else 1.0

    got = decide(samples(2, "normal", faster=planted, collectives=("reduce",)))
    assert got[-1].algorithm.name == "ring"
    assert got[-1].bytes_below == SIZES[-1] + 1
    assert got[0].bytes_from == 0
    # no gaps: each ends where the next begins
    assert [c.bytes_below for c in got[:-1]] == [c.bytes_from for c in got[1:]]


def test_nothing_is_said_below_the_smallest_measured_size():
    got = decide(
        samples(0, "normal", faster=lambda c, n, a: 1.5 if a == "nb" else 1.0, sizes=(1024, 4096, 16384))
    )
    assert {(c.bytes_from, c.bytes_below) for c in got} == {(1024, 16385)}


def test_an_algorithm_comes_back_from_plain_values():
    a = Algorithm("bcast", "tree", 7, {"V": "tree"})
    assert Algorithm.from_dict(a.to_dict()) == a
    assert not a.is_default


def test_a_place_where_all_others_are_far_slower_says_so():
    # four times slower ones are timed in three rounds only
    far = [
        s if s.algorithm.is_default else dataclasses.replace(s, seconds=tuple(line[:3] for line in s.seconds))
        for s in samples(0, "normal", sizes=(64, 512))
    ]
    by_place = verdicts(far)
    assert {v.why for v in by_place} == {"no change: no other comes near the library's own choice"}
    assert "best" not in by_place[0].row()
