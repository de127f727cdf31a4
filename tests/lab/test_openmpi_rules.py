"""The classic rules file of Open MPI: what is written is read back, and every call finds the rule meant for it."""

import pytest
from collective_choices import openmpi

from subsalt_lab.collectives.openmpi_rules import MINE, SizeRule, chosen, factor, read, rules_of, text_of

CHOICES = [
    openmpi("bcast", "pipeline", 2, 1000, 2001),
    openmpi("bcast", "chain", 3, 0, 65),
    openmpi("allreduce", "recursive_doubling", 4, 0, 1024),
    openmpi("allreduce", "ring", 4, 1024, 4097),
    openmpi("allreduce", "ring", 4, 1 << 20, None),
    openmpi("allgather", "ring", 4, 100, 1000),
    openmpi("alltoall", "pairwise", 2, 100, 1000),
    openmpi("barrier", "recursive_doubling", 4),
]


def meant(collective, ranks, nbytes):
    """Return the number of the algorithm that the choices ask for: what the file must lead to."""
    for c in CHOICES:
        inside = c.bytes_from <= nbytes and (c.bytes_below is None or nbytes < c.bytes_below)
        if (c.collective, c.comm_size) == (collective, ranks) and inside:
            return c.algorithm.number
    return 0


@pytest.mark.parametrize("collective", ["bcast", "allreduce", "allgather", "alltoall", "barrier", "reduce"])
def test_every_call_finds_the_rule_meant_for_it(collective):
    rules = read(text_of(rules_of(CHOICES), "a remark\nof two lines 12"))
    ends = {e for c in CHOICES for e in (c.bytes_from, c.bytes_below or 1 << 30)}
    sizes = sorted({e + d for e in ends for d in (-1, 0, 1) if e + d >= 0})
    for ranks in (1, 2, 3, 4, 5, 100):
        for nbytes in [0] if collective == "barrier" else sizes:
            assert chosen(rules, collective, ranks, nbytes).algorithm == meant(collective, ranks, nbytes), (
                ranks,
                nbytes,
            )


def test_text_is_read_back_as_it_was():
    rules = rules_of(CHOICES)
    assert read(text_of(rules)) == rules


def test_lists_begin_at_zero_and_ascend():
    # the library takes the first entry also below its own size
    for of_comm in rules_of(CHOICES).values():
        assert list(of_comm) == sorted(of_comm)
        assert next(iter(of_comm)) == 0
        for messages in of_comm.values():
            sizes = [r.size for r in messages]
            assert sizes[0] == 0
            assert sizes == sorted(set(sizes))


def test_sizes_of_allgather_and_alltoall_are_those_of_all_ranks():
    assert [factor(c, 4) for c in ("allgather", "alltoall", "allreduce", "bcast")] == [4, 4, 1, 1]
    assert SizeRule(400, 4, 4, 0) in rules_of(CHOICES)["allgather"][4]


def test_shape_is_the_one_that_was_measured():
    one = openmpi("bcast", "pipeline", coll_tuned_bcast_algorithm_segmentsize="8192")
    assert rules_of([one])["bcast"][2][1] == SizeRule(1024, 3, 4, 8192)


def test_mine_takes_the_place_of_one_choice():
    rules = rules_of(CHOICES, CHOICES[3])
    assert [r.algorithm for r in rules["allreduce"][4]] == [3, MINE, 0, 4]
    assert all(r.algorithm != MINE for r in rules["bcast"][2])


def test_ranges_that_overlap_are_refused():
    with pytest.raises(ValueError, match="two choices for bcast of 1500 bytes"):
        rules_of([openmpi("bcast", "chain", 2, 1000, 2001), openmpi("bcast", "pipeline", 2, 1500, 3000)])


@pytest.mark.parametrize("text", ["2\n7\n", "1\n7\n1\n2\n1\n0 1 0\n", ""])
def test_text_that_ends_too_early_is_refused(text):
    with pytest.raises(ValueError, match="too early"):
        read(text)


def test_text_with_more_than_it_says_is_refused():
    with pytest.raises(ValueError, match="more behind"):
        read(text_of(rules_of(CHOICES)) + "3\n")
