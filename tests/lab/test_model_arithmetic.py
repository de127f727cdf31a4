"""The arithmetic of the model, on cases worked by hand; more nodes never take longer in the kernel."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subsalt.errors import ConfigError
from subsalt.machine.machine_file import Machine
from subsalt.plan import network
from subsalt.plan.model import (
    FileRates,
    ShotProblem,
    core_seconds,
    cubes,
    halo_seconds,
    kernel_seconds,
    predict,
    slabs,
    sum_seconds,
    survey_seconds,
    tail_loss,
)
from subsalt.plan.network import Link

#: 10 planes of 4 x 5 points, 3 steps of 2 arrays, one plane beyond a cut
PROBLEM = ShotProblem((10, 4, 5), 3, wavefields=2, ghost=1, model_arrays=3)
#: a byte a second and half a second before it: seconds are bytes
SLOW = Link(0.5, 1.0, "across", "given")


def test_slabs_and_blocks_are_cut_by_whole_planes():
    three = slabs((10, 4, 5), 3)
    assert three.largest == (4, 4, 5)
    assert three.imbalance == pytest.approx(4 / (10 / 3))
    # the middle slab has two neighbours, each gets one plane of 20 points
    assert three.exchanged(1) == (2, 40)
    assert slabs((10, 4, 5), 2).exchanged(2) == (1, 40)
    assert slabs((10, 4, 5), 50).counts == (10, 1, 1)
    # 8 blocks of a cube: two in each direction, three faces of 4 x 4
    eight = cubes((8, 8, 8), 8)
    assert (eight.counts, eight.exchanged(1)) == ((2, 2, 2), (3, 48))
    with pytest.raises(ValueError, match="do not fit"):
        cubes((2, 2, 2), 11)


def test_a_shot_by_hand():
    prediction = predict(PROBLEM, slabs(PROBLEM.shape, 3), 10.0, SLOW, FileRates(4.0, 2.0, limit=9.0))
    # 3 steps of 4 planes of 20 points, 10 points a second
    assert prediction.phases["kernel"] == pytest.approx(24.0)
    # 3 steps: 2 arrays to 2 neighbours, 0.5 s each and 20 points of 4 bytes
    assert prediction.phases["halo"] == pytest.approx(3 * (4 * 0.5 + 2 * 4 * 40))
    # three readers of 9 bytes a second together; 4 planes and 2 beyond, 3 arrays
    assert prediction.phases["init"] == pytest.approx(3 * 4 * 6 * 20 / 3)
    assert prediction.phases["traces"] == pytest.approx(2 * 3 * 4 * 6 * 4 / 3)
    assert prediction.phases["image"] == pytest.approx(4 * 4 * 20 / 2)
    ideal = 3 * 200 / 3 / 10
    assert prediction.efficiency == pytest.approx(ideal / (24.0 + 966.0))


def test_messages_hide_under_the_core_as_far_as_it_lasts():
    blocks = slabs(PROBLEM.shape, 3)
    # the core: 4 planes less the 2 that neighbours hold
    assert core_seconds(blocks, PROBLEM, 10.0) == pytest.approx(3 * 2 * 20 / 10)
    quick = Link(0.0, 4 * 40 * 2.0, "node", "given")
    assert halo_seconds(blocks, PROBLEM, quick) == pytest.approx(3.0)
    assert predict(PROBLEM, blocks, 10.0, quick, overlapped=True).phases["halo"] == 0.0
    assert predict(PROBLEM, blocks, 100.0, quick, overlapped=True).phases["halo"] == pytest.approx(3.0 - 1.2)


def test_what_is_not_known_is_said_not_made_up():
    prediction = predict(PROBLEM, slabs(PROBLEM.shape, 2), 10.0, None)
    assert set(prediction.phases) == {"kernel"}
    assert "subsalt lab network" in prediction.unknown["halo"]
    assert prediction.efficiency is None
    # a node alone has nobody to wait for
    assert predict(PROBLEM, slabs(PROBLEM.shape, 1), 10.0, None).phases["halo"] == 0.0


@given(
    st.tuples(st.integers(1, 300), st.integers(1, 40), st.integers(1, 40)),
    st.integers(1, 400),
    st.integers(1, 400),
)
def test_more_nodes_never_take_longer_in_the_kernel_nor_beyond_an_even_share(shape, few, more):
    low, high = sorted((few, more))
    seconds = [kernel_seconds(slabs(shape, n), 5, 1e6) for n in (low, high)]
    assert seconds[1] <= seconds[0]
    for n, spent in zip((low, high), seconds, strict=True):
        assert spent >= 5 * math.prod(shape) / 1e6 / min(n, shape[0]) * (1 - 1e-12)


@given(st.tuples(*[st.integers(8, 60)] * 3), st.integers(1, 64))
def test_blocks_exchange_no_more_than_slabs(shape, n):
    blocks = cubes(shape, n) if n <= 8 else slabs(shape, n)
    if n <= shape[0]:
        assert blocks.exchanged(1)[1] <= slabs(shape, n).exchanged(1)[1]
    assert blocks.imbalance >= 1 - 1e-12


def test_shots_dealt_to_groups():
    # 13 shots over 4 groups: four rounds, three places of sixteen empty
    assert survey_seconds(13, 4, 10.0) == 40.0
    assert tail_loss(13, 4) == pytest.approx(3 / 16)
    # all partial images are read once, whoever reads them; the file system may be what limits
    assert sum_seconds(100, 3, 2, 10.0, None, 1) == pytest.approx(4 * 300 / 20)
    assert sum_seconds(100, 3, 2, 10.0, FileRates(1e9, 1e9, limit=5.0), 2) == pytest.approx(4 * 300 / 5)


def test_links_come_from_what_was_measured():
    rows = [
        {"what": "point_to_point", "where": "node", "ranks": 8, "a_s": 9.0, "bytes_per_s": 1.0},
        {"what": "point_to_point", "where": "node", "a_s": -1e-9, "bytes_per_s": 5e9, "date": "2026-11-22T1"},
        {"what": "point_to_point", "where": "across", "a_s": 2e-6, "bytes_per_s": 1e9, "noisy": True},
    ]
    machine = Machine({}, {"network": rows})
    # what a fit puts below zero is none; ranks of a socket are no slower than those of a node
    node = network.link_of(machine, "socket")
    assert (node.latency, node.rate, node.where) == (0.0, 5e9, "node")
    assert "2026-11-22" in node.text()
    assert network.link_of(machine, "across").noisy
    assert network.link_of(Machine({}, {}), "across") is None
    # nodes are never taken for a neighbour across the network
    assert network.link_of(Machine({}, {"network": rows[:2]}), "across") is None


def test_messages_take_what_those_of_their_size_took():
    line = {
        "what": "point_to_point",
        "where": "socket",
        "ranks": 2,
        "mpi": "MPICH",
        "a_s": 1.0,
        "bytes_per_s": 1.0,
    }
    sizes = [(0, 2.0), (100, 4.0), (1000, 20.0)]
    of_size = [
        {"what": "latency", "where": "socket", "ranks": 2, "mpi": "MPICH", "bytes": s, "value": t}
        for s, t in sizes
    ]
    others = [
        {"what": "latency", "where": "socket", "ranks": 4, "mpi": "MPICH", "bytes": 100, "value": 77.0},
        {"what": "latency", "where": "socket", "ranks": 2, "mpi": "another", "bytes": 100, "value": 77.0},
    ]
    link = network.link_of(Machine({}, {"network": [*others, line, *of_size]}), "node")
    assert link.points == tuple((float(s), t) for s, t in sizes)
    assert link.seconds(100) == 4.0
    assert link.seconds(50) == 3.0
    # two messages of 50 bytes; beyond the largest at its rate
    assert link.seconds(100, 2) == 6.0
    assert link.seconds(3000) == 60.0
    assert link.seconds(0, 0) == 0.0


@pytest.mark.parametrize(
    ("text", "rate", "latency"),
    [
        ("20", 20e9, network.GIVEN_LATENCY),
        ("100Gbit/s", 12.5e9, network.GIVEN_LATENCY),
        ("20 gb/s, 1.5us", 20e9, 1.5e-6),
        ("3.2GB/s,0us", 3.2e9, 0.0),
    ],
)
def test_rates_that_people_write(text, rate, latency):
    link = network.given(text)
    assert (link.rate, link.latency, link.source) == (pytest.approx(rate), pytest.approx(latency), "given")


@pytest.mark.parametrize("text", ["", "fast", "0", "-3", "20 furlongs/s", "20GB/s,2ms", "1e999x"])
def test_what_is_no_rate(text):
    with pytest.raises(ConfigError, match="no rate") as refused:
        network.given(text)
    assert refused.value.code == "E970"
