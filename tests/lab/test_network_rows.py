"""From blocks to figures: medians, rates, the line through the times, its step, and what is kept for plans."""

import pytest

from subsalt.errors import ConfigError, MemoryPlanError, SubsaltError
from subsalt.machine import machine_file as machine
from subsalt_lab.cli import network
from subsalt_lab.cli import network as tables
from subsalt_lab.network import rows
from subsalt_lab.network.lines import MessageBlock, MessageTimes, Rank
from subsalt_lab.network.messages import Settings
from subsalt_lab.network.places import Pairs
from subsalt_lab.network.rows import for_machine, measure

RANKS = (Rank("a", 8, frozenset(range(8)), (0,)),) * 4
SETS = [Pairs("socket", ((0, 1),)), Pairs("socket", ((0, 1), (2, 3)))]


def answer(*blocks):
    return MessageTimes("MPICH Version: 5.0.2", "multiple", RANKS, tuple(MessageBlock(*b) for b in blocks))


def test_values_are_medians_of_blocks():
    measured = answer(
        *((0, "latency", 8, 10, s) for s in (2e-6, 90e-6, 4e-6)),
        *((0, "stream", 1000, 1, s) for s in (64e-6, 64e-6, 1.0)),
        *((1, "both", 1000, 1, s) for s in (128e-6,) * 3),
        *((0, "stream", 8, 1, s) for s in (64e-6,) * 3),
    )
    by = {(r["what"], r["ranks"], r["bytes"]): r for r in rows.between_two(measured, SETS, mpi="MPICH")}
    half = by["latency", 2, 8]
    assert (half["value"], half["unit"], half["where"], half["mpi"]) == (2e-6, "s", "socket", "MPICH")
    assert half["seconds"] == [1e-6, 45e-6, 2e-6]
    # 64 messages of 1000 bytes in 64 us; both ways of two pairs are four times as many, in twice the time
    assert by["stream", 2, 1000]["value"] == pytest.approx(1.0)
    assert by["bidirectional", 4, 1000]["value"] == pytest.approx(2.0)
    assert by["message_rate", 2, 8]["value"] == pytest.approx(1e6)
    assert ("message_rate", 2, 1000) not in by


def test_empty_messages_have_a_time_and_no_rate():
    measured = answer((0, "latency", 0, 1, 2e-6), (0, "stream", 0, 1, 1e-6), (0, "both", 0, 1, 1e-6))
    assert [(r["what"], r["value"]) for r in rows.between_two(measured, SETS)] == [("latency", 1e-6)]


def test_operations_of_all_ranks_are_told_apart():
    measured = answer((-1, "allreduce", 8, 1, 3e-6), (-1, "barrier", 0, 1, 1e-6), (0, "latency", 8, 1, 1e-6))
    assert [(r["what"], r["ranks"], r["bytes"], r["value"]) for r in rows.among_all(measured)] == [
        ("allreduce", 4, 8, 3e-6),
        ("barrier", 4, 0, 1e-6),
    ]


SIZES = [0, *(1 << k for k in range(23))]


def test_a_line_is_found_again():
    a, b, worst = rows.line(SIZES, [1e-6 + s / 2e9 for s in SIZES])
    # the search ends when its sum of squares does not change any more: at the root of rounding
    assert (a, b) == (pytest.approx(1e-6, rel=1e-7), pytest.approx(2e9, rel=1e-7))
    assert worst < 1e-7


def test_one_time_far_off_moves_a_line_little():
    seconds = [1e-6 + s / 2e9 for s in SIZES]
    for k in (3, 15, 22):
        a, b, worst = rows.line(SIZES, [t * (50 if i == k else 1) for i, t in enumerate(seconds)])
        # one point pulls by FAR at most, against four at least that fix the start or the slope
        assert a == pytest.approx(1e-6, rel=rows.FAR / 4)
        assert b == pytest.approx(2e9, rel=rows.FAR / 4)
        assert worst == pytest.approx(0.98, abs=0.01)


def test_a_line_has_no_negative_start():
    a, b, _ = rows.line([10, 20, 30], [1e-9, 3e-9, 5e-9])
    assert a >= 0.0
    assert b > 0


def test_short_messages_alone_have_no_line():
    short = answer(*((0, "latency", n, 1, 2e-6 + n * 1e-12) for n in (0, 8, 64)))
    assert rows.fits(rows.between_two(short, SETS)) == []


def test_a_step_is_found_where_it_is():
    seconds = [1e-6 + s / 2e9 + (4e-6 if s >= 16384 else 0.0) for s in SIZES]
    step_found = rows.step(SIZES, seconds)
    assert (step_found.below, step_found.above) == (8192, 16384)
    assert step_found.seconds == pytest.approx(4e-6, rel=1e-6)


@pytest.mark.parametrize(
    "law",
    [
        lambda s: 1e-6 + s / 2e9,
        # a cache that is left behind: slower from 256 KiB on, and no jump
        lambda s: 1e-6 + min(s, 262144) / 20e9 + max(0, s - 262144) / 4e9,
    ],
)
def test_there_is_no_step_in_a_line_or_a_bend(law):
    assert rows.step(SIZES, [law(s) for s in SIZES]) is None


def test_noise_has_no_step():
    import numpy as np

    draw = np.random.default_rng(7)
    steps = sum(
        rows.step(
            SIZES, [(1e-6 + s / 2e9) * f for s, f in zip(SIZES, draw.lognormal(0, 0.05, 24), strict=True)]
        )
        is not None
        for _ in range(50)
    )
    # two lines halve the worst error of one only by chance
    assert steps <= 2


def fake(texts):
    """Return what starts nothing, and prints the facts of four ranks and then these blocks."""
    facts = ["mpi MPICH Version: 5.0.2", "level multiple"]
    facts += [f"rank {r} a 8 0-7 0" for r in range(2)]

    def start(ranks, words):
        assert ranks == 2
        said = facts + (texts if any(w.startswith("pairs=") for w in words) else [])
        return "\n".join(f"subsalt-net {w}" for w in (*said, f"end {len(said)}"))

    return start


BLOCKS = [f"block 0 latency {n} 5 {2e-6 + n / 1e9:e}" for n in (0, 8, 4096)] * 3 + [
    *["block 0 stream 4096 5 1.31072e-04"] * 3,
    *["block -1 allreduce 8 5 3e-06"] * 3,
    "left 0 stream 65536",
]


def test_a_whole_measurement():
    result = measure(Settings([2], [0, 8, 4096]), start=fake(BLOCKS), peak=lambda: 40.0)
    by = {(r["what"], r.get("bytes")): r for r in result.rows if r["what"] != "balance"}
    assert by["stream", 4096]["value"] == pytest.approx(2.0)
    assert by["point_to_point", 0]["a_s"] == pytest.approx(1e-6)
    assert by["point_to_point", 0]["bytes_per_s"] == pytest.approx(2e9)
    here = [r for r in result.rows if r["what"] == "balance"][-1]
    assert here["one_way"] == pytest.approx(2.0)
    assert here["ratio"] == pytest.approx(0.05)
    assert any("nothing from 65536 bytes on" in n for n in result.notes)
    section = for_machine(result)
    assert {(r["what"], r["where"], r["bytes"], r["ranks"]) for r in section} == {
        *(("latency", "socket", n, 2) for n in (0, 8, 4096)),
        ("stream", "socket", 4096, 2),
        ("allreduce", "socket", 8, 2),
        ("point_to_point", "socket", 0, 2),
    }
    assert all("seconds" not in r and r["date"] == result.date and "noisy" in r for r in section)
    assert all(set(machine.KEYS["network"]) <= set(r) for r in section)


@pytest.mark.parametrize("change", [("0-7 0", "0-0 0"), ("level multiple", "level single")])
def test_ranks_that_take_turns_or_another_thread_level_are_not_kept(change):
    start = fake(BLOCKS)
    result = measure(
        Settings([2], [0, 8, 4096]), start=lambda n, w: start(n, w).replace(*change), peak=lambda: 40.0
    )
    assert for_machine(result) == []
    if change[1] == "0-0 0":
        assert any(n.startswith("oversubscribed: 2 ranks") for n in result.notes)
        assert "oversubscribed" in "".join(tables.tables(result.rows, "text"))
        # nothing of it is held against other machines
        assert "in a node" not in "".join(tables.tables(result.rows, "text"))


def test_ranks_on_other_nodes_the_second_time_are_refused():
    start = fake(BLOCKS)
    moved = lambda n, w: start(n, w).replace("rank 1 a", "rank 1 b" if len(w) > 1 else "rank 1 a")  # noqa: E731
    with pytest.raises(SubsaltError, match="other nodes") as caught:
        measure(Settings([2], [8]), start=moved, peak=lambda: 40.0)
    assert caught.value.code == "E953"


def test_messages_that_do_not_fit_into_memory_are_refused():
    with pytest.raises(MemoryPlanError, match="--sizes 0:256K"):
        measure(Settings([2], [1 << 40]), start=fake(BLOCKS), peak=lambda: 40.0)


@pytest.mark.parametrize("how", ["text", "markdown", "csv"])
def test_tables_have_every_case_once(how):
    result = measure(Settings([2], [0, 8, 4096]), start=fake(BLOCKS), peak=lambda: 40.0)
    text = "\n".join(tables.tables(result.rows, how))
    if how == "csv":
        head, *lines = text.splitlines()
        assert head.startswith("what,where,bytes,ranks,value,unit")
        assert len(lines) == len(result.rows)
    else:
        assert text.count("4096") == 1
        assert "Red Storm '07" in text
        assert "Among all ranks" in text


@pytest.mark.parametrize(
    ("text", "factor", "sizes"),
    [
        ("0:8", 2, [0, 1, 2, 4, 8]),
        ("8:1K", 4, [8, 32, 128, 512]),
        ("64K,8,1KiB", 2, [8, 1024, 65536]),
        ("0", 2, [0]),
        ("4M:4M", 2, [4 << 20]),
    ],
)
def test_message_sizes(text, factor, sizes):
    assert network.sizes("--sizes", text, factor) == sizes


@pytest.mark.parametrize("text", ["", "big", "8:", "1K:8", "-1", "2G", "1:2:3"])
def test_what_is_no_message_size_is_refused(text):
    with pytest.raises(ConfigError, match="--sizes") as caught:
        network.sizes("--sizes", text)
    assert caught.value.exit_code == 2
