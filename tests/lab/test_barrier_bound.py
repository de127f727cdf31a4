"""No trial can save more than the bound: proven on programs of made-up times, with and without their barriers.

A program is a row of segments of work, w[k, r] seconds on rank r, with a call between them. A barrier lets all ranks go
when the last has come, c[k] seconds later. A call that waits for all (an Allreduce) does the same. A message to the
next rank lets its receiver go when both have come. The audit sees, of each barrier, the time t of every rank in it and
the gap g to its next call, and adds up own, tight and loose as `audit_write.c` does.
"""

from dataclasses import replace

import numpy as np
import pytest

from subsalt_lab.barriers.audit import sites_of
from subsalt_lab.barriers.classes import bound, judge
from subsalt_lab.barriers.records import BarrierRecord, Follow

RANKS = 4


def run(calls, work, cost, removed=frozenset()):
    """Return the end of a program, s, and of each barrier the times in it and the gaps to the next call.

    Parameters
    ----------
    calls : sequence of str
        "all" (waits for all), "next" (message to the next rank), "root" (from rank 0), or a barrier's site.
    work : ndarray, (calls + 1, ranks)
        Seconds before each call, and after the last.
    cost : ndarray, (calls,)
        Seconds that a call takes once all it waits for have come.
    removed : set of str
        Sites that are passed over.
    """
    now = np.zeros(work.shape[1])
    seen, open_barrier = [], None
    for k, call in enumerate(calls):
        now = now + work[k]
        if call in removed:
            continue
        if open_barrier is not None:
            site, took, ended = open_barrier
            seen.append((site, call, took, now - ended))
            open_barrier = None
        come = now
        if call == "next":
            now = np.maximum(come, np.roll(come, 1)) + cost[k]
        elif call == "root":
            now = np.maximum(come, come[0]) + cost[k]
        else:
            now = np.full_like(come, come.max() + cost[k])
            if call != "all":
                open_barrier = call, now - come, now
    now = now + work[-1]
    if open_barrier is not None:
        seen.append((open_barrier[0], None, open_barrier[1], now - open_barrier[2]))
    return now.max(), seen


NAMES = {"all": "MPI_Allreduce", "next": "MPI_Sendrecv", "root": "MPI_Bcast"}


def audited(seen):
    """Return the records that the audit would give."""
    records = []
    for site in {s for s, *_ in seen}:
        some = [x for x in seen if x[0] == site]
        took, gap = np.array([x[2] for x in some]), np.array([x[3] for x in some])
        follows: dict[tuple[str, str], int] = {}
        for _, call, _, _ in some:
            if call is not None:
                key = (NAMES.get(call, "MPI_Barrier"), "" if call in NAMES else call)
                follows[key] = follows.get(key, 0) + RANKS
        seconds = tuple(took.sum(axis=0))
        records.append(
            BarrierRecord(
                "MPI_Barrier",
                site,
                "world",
                RANKS,
                "",
                (len(some),) * RANKS,
                (0,) * RANKS,
                seconds,
                len(some),
                seconds,
                float(took.min(axis=1).sum()),
                float((gap.max(axis=1) + (took - gap).min(axis=1)).sum()),
                float(took.max(axis=1).sum()),
                True,
                tuple(Follow(name, "same", at, n) for (name, at), n in follows.items()),
                {},
                False,
            )
        )
    return records


# half of the segments are without work, so that calls follow each other directly, as they do in planted pairs
@pytest.mark.parametrize("seed", range(150))
def test_no_removal_saves_more_than_its_bound(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(2, 14))
    calls = [str(c) for c in draw.choice(["all", "next", "root", "a", "a", "b", "c"], n)]
    work = (
        draw.exponential(1.0, (n + 1, RANKS))
        * draw.integers(0, 2, (n + 1, 1))
        * draw.integers(0, 2, (n + 1, RANKS))
    )
    cost = draw.exponential(0.1, n)
    before, seen = run(calls, work, cost)
    records = audited(seen)
    sites = sorted({r.site for r in records})
    for removed in [{s} for s in sites] + [set(sites)]:
        if not removed:
            continue
        after, _ = run(calls, work, cost, removed)
        limit = bound([r for r in records if r.site in removed], removed)
        # sums of at most n terms, each below 100 s: rounding stays below n * 100 * 2^-53
        assert before - after <= limit + n * 100 * 2.0**-53, (calls, removed)


def test_the_bound_is_reached():
    """Rank 0 comes late to the barrier, rank 1 to the Allreduce after it: without the barrier both work at once."""
    work = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 0, 0]])
    before, seen = run(["a", "all"], work, np.array([0.125, 0.0]))
    after, _ = run(["a", "all"], work, np.array([0.125, 0.0]), {"a"})
    (record,) = audited(seen)
    assert (before, after) == (2.125, 1.0)
    assert judge([record]).bound == 1.125
    # a bound by the barrier's own cost alone would have promised an eighth
    assert record.own == 0.125


def test_directly_before_an_allreduce_only_the_own_cost_can_be_saved():
    draw = np.random.default_rng(1)
    work = np.zeros((21, RANKS))
    work[::2] = draw.exponential(1.0, (11, RANKS))
    cost = np.full(20, 0.0625)
    before, seen = run(["a", "all"] * 10, work, cost)
    after, _ = run(["a", "all"] * 10, work, cost, {"a"})
    (record,) = audited(seen)
    assert judge([record]).kind == "candidate"
    assert judge([record]).bound == pytest.approx(10 * 0.0625, rel=1e-12)
    assert before - after == pytest.approx(10 * 0.0625, rel=1e-12)
    # almost all of the time in it is waiting for ranks that come late, and moves to the Allreduce
    assert record.late_share > 0.9


def test_a_barrier_that_follows_itself_may_save_all_its_waiting():
    """Removed together they let the ranks run apart, which the gap to the next one does not show."""
    work = np.array([[1.0, 0, 0, 0], [0, 0, 0, 0], [0, 1.0, 0, 0]])
    before, seen = run(["a", "a"], work, np.zeros(2))
    after, _ = run(["a", "a"], work, np.zeros(2), {"a"})
    (record,) = audited(seen)
    assert before - after == 1.0
    assert record.tight == 0.0
    assert judge([record]).bound >= 1.0


def test_the_class_of_a_place_is_that_of_its_most_needed_barrier():
    work, cost = np.ones((7, RANKS)), np.zeros(6)
    _, seen = run(["a", "all", "a", "root", "b", "next"], work, cost)
    by_site = {s.name: s for s in sites_of(audited(seen))}
    assert by_site["a"].judgement.kind == "weak"
    assert (
        by_site["a"].judgement.reason
        == "MPI_Bcast follows, which does not make every rank wait for all (4 of 8)"
    )
    assert by_site["b"].judgement.kind == "candidate"
    assert "no receive from any source" in by_site["b"].judgement.reason


def test_a_barrier_of_one_rank_orders_nothing():
    _, seen = run(["a", "root"], np.ones((3, RANKS)), np.zeros(2))
    (record,) = audited(seen)
    assert judge([record]).kind == "weak"
    alone = replace(record, comm_size=1, reasons={"fresh": 1})
    assert (judge([alone]).kind, judge([alone]).reason) == ("candidate", "its communicator has one rank")
    # on other communicators the same place may do more
    assert judge([alone, record]).kind == "weak"


@pytest.mark.parametrize("call", ["MPI_Rsend", "MPI_Irsend", "MPI_Rsend_init"])
def test_a_barrier_before_a_ready_send_is_kept(call):
    _, seen = run(["a", "next"], np.ones((3, RANKS)), np.zeros(2))
    (plain,) = audited(seen)
    assert judge([plain]).kind == "candidate"
    judgement = judge([replace(plain, follows=(Follow(call, "same", "", 1),))])
    assert (judgement.kind, judgement.bound) == ("keep", None)
    assert "receive must have been posted" in judgement.reason
    # the ready send may come later, behind a call that does not wait for all ranks
    assert judge([replace(plain, ready=True)]).kind == "keep"
    waits = replace(plain, ready=True, follows=(Follow("MPI_Allreduce", "same", "", 4),))
    assert judge([waits]).kind == "candidate"
