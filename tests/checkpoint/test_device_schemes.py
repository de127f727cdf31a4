"""On a GPU snapshots and states go to its memory first, then to pinned memory, then to disk; the link counts."""

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from subsalt.checkpoint.choice.choose import choose
from subsalt.checkpoint.choice.footprint import STAGING, Sizes, footprint, link_traffic
from subsalt.checkpoint.choice.inputs import ChoiceInputs
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.schedule.scheme import Scheme, schedule_of
from subsalt.checkpoint.schedule.tasks import counts_of
from subsalt.checkpoint.schedule.two_level import Slots, memory_uses, two_level
from subsalt.errors import ConfigError

#: a state is four snapshots, a shell a tenth of one
SIZES = Sizes(203, 4, 1_000_000, 4_000_000, shell=100_000, level=2_000_000, on_device=True)
EVERY = SIZES.samples * SIZES.snapshot
STATE = SIZES.state
#: a second per step; a snapshot crosses the link in half a step, and is copied on the device in no time
RATES = {"step": 1.0, "put": 1e5, "get": 1e5, "copy": 1e30, "down": 2e6, "up": 2e6}
PLENTY = 10**12


def chosen(device, memory=0, disk=0, rates=RATES, **options):
    return choose(SIZES, ChoiceInputs(CheckpointOptions(**options), memory, disk, device=device, **rates))


@pytest.mark.parametrize("length", [1, 2, 9, 40, 131])
@pytest.mark.parametrize("slots", [Slots(3), Slots(9), Slots(2, 3, 5, 5), Slots(1, 9, 90, 9)])
def test_uses_of_memory_slots_are_those_of_the_schedule(length, slots):
    seen = Counter((a.kind, a.slot) for a in two_level(length, slots) if a.level == "memory")
    uses = memory_uses(length, slots)
    assert {("store", i): n for i, (n, _) in enumerate(uses) if n} == {
        k: n for k, n in seen.items() if k[0] == "store"
    }
    assert {("load", i): n for i, (_, n) in enumerate(uses) if n} == {
        k: n for k, n in seen.items() if k[0] == "load"
    }


@pytest.mark.parametrize(("block", "slots", "device"), list(product((1, 3), (1, 4, 9), (0, 1, 3, 9))))
def test_what_goes_over_the_link_is_what_the_schedule_does(block, slots, device):
    scheme = Scheme(
        "revolve",
        203,
        4,
        block=block,
        memory_slots=slots,
        device_slots=min(device, slots),
        snapshots_on="device",
    )
    moved = Counter(
        a.kind for a in schedule_of(scheme) if a.level == "memory" and not scheme.slot_on_device(a.slot)
    )
    link = link_traffic(scheme, counts_of(scheme), SIZES)
    assert (link.down, link.up) == (moved["store"] * STATE, moved["load"] * STATE)
    assert counts_of(scheme) == counts_of(replace(scheme, device_slots=0, snapshots_on="memory"))
    need = footprint(scheme, SIZES)
    there = sum(scheme.slot_on_device(i) for i in range(slots))
    assert need.on_device["states"] == there * STATE
    # a CPU that goes on with such a scheme has one kind of memory
    plain = footprint(scheme, replace(SIZES, on_device=False))
    assert need.on_device["states"] + need.arrays["pinned states"] == plain.arrays["states"]
    assert plain.device == 0


def test_everything_on_the_device_when_it_fits():
    choice = chosen(EVERY)
    assert (choice.best.name, choice.best.link) == ("store, device", (0, 0))
    assert choice.best.need.on_device == {"snapshots": EVERY}
    assert choice.best.need.memory == 0
    less = chosen(EVERY - 1)
    (store,) = [c for c in less.alternatives if c.name == "store, device"]
    assert "of device memory" in store.problem


def test_pinned_memory_when_the_link_hides():
    choice = chosen(30 * 10**6, EVERY)
    assert choice.best.name == "store, memory"
    assert choice.best.need.on_device == {"staged snapshots": STAGING * SIZES.snapshot}
    assert choice.best.need.arrays == {"pinned snapshots": EVERY}
    assert choice.best.link == (EVERY, EVERY)
    assert choice.best.seconds == 200 + 203
    # a link ten times as slow as the steps: computing again on the device is faster
    slow = chosen(30 * 10**6, EVERY, rates=RATES | {"down": 2e4, "up": 2e4})
    assert slow.best.name == "revolve, device"
    (store,) = [c for c in slow.alternatives if c.name == "store, memory"]
    assert store.seconds == pytest.approx(2 * EVERY / 2e4)


def test_states_in_pinned_memory_when_the_device_holds_few():
    choice = chosen(10 * 10**6, 40 * 10**6, strategy="revolve")
    scheme = choice.scheme
    assert choice.best.name == "revolve, memory"
    assert scheme.device_slots < scheme.memory_slots
    assert choice.best.need.device <= 10 * 10**6
    assert choice.best.need.memory <= 40 * 10**6
    link = link_traffic(scheme, choice.counts, SIZES)
    stall = (link.states_down + link.states_up) / 2e6
    assert choice.best.seconds == choice.counts.source_steps + choice.counts.receiver_steps + stall
    alone = chosen(10 * 10**6, 0, strategy="revolve")
    assert alone.best.name == "revolve, device"
    assert alone.best.seconds > choice.best.seconds


def test_more_of_any_memory_is_never_slower():
    for memory in (0, 30 * 10**6):
        seconds = [chosen(d * 10**6, memory).best.seconds for d in range(9, 60, 3)]
        assert seconds == sorted(seconds, reverse=True)
    seconds = [chosen(12 * 10**6, m * 10**6).best.seconds for m in range(0, 60, 3)]
    assert seconds == sorted(seconds, reverse=True)


def test_disk_slots_beside_the_device():
    rates = RATES | {"put": 1e7, "get": 1e7, "down": 1e8, "up": 1e8}
    choice = chosen(10 * 10**6, 20 * 10**6, PLENTY, rates, strategy="revolve", place="disk", disk_slots=7)
    assert choice.best.name == "revolve, disk"
    assert choice.counts.states_stored_disk >= 7
    link = link_traffic(choice.scheme, choice.counts, SIZES)
    assert link.down == choice.counts.states_stored_disk * STATE
    assert link.up == choice.counts.states_loaded_disk * STATE


@pytest.mark.parametrize("place", ["device", "memory", "disk"])
def test_shells_lie_where_they_fit(place):
    choice = chosen(PLENTY, PLENTY, PLENTY, strategy="boundary", place=place)
    assert choice.best.name == f"boundary, {place}"
    need, link = choice.best.need, choice.best.link
    assert "source wavefield" in need.on_device
    if place == "device":
        assert (need.memory, link) == (0, (0, 0))
    else:
        # of every step from the first sample to the last but two
        assert link == ((200 - 1 - 4) * SIZES.shell,) * 2
        assert 0 < need.on_device["staged shells"] < 195 * SIZES.shell


def test_kept_wavefields_go_down_once():
    choice = chosen(EVERY, 100 * 10**6, PLENTY, keep="both", strategy="store", place="device")
    assert choice.best.link == (2 * EVERY, 0)
    beside = chosen(EVERY, EVERY + 100 * 10**6, PLENTY, keep="both", strategy="store", place="memory")
    assert beside.best.link == (2 * EVERY, EVERY)
    assert chosen(5 * 10**6, 100 * 10**6, PLENTY, strategy="store", place="disk").best.link == (EVERY, EVERY)


def test_device_memory_is_kept_to_and_refused():
    choice = chosen(EVERY, 0, device_memory=20 * 10**6)
    assert (choice.best.name, choice.inputs.device) == ("revolve, device", 20 * 10**6)
    refused = chosen(10**6, PLENTY, PLENTY)
    assert not refused.fits
    assert "device memory" in refused.best.problem


def test_without_a_gpu_device_means_memory():
    sizes = replace(SIZES, on_device=False)
    options = CheckpointOptions(place="device", strategy="store")
    choice = choose(sizes, ChoiceInputs(options, EVERY, 0, **RATES))
    assert choice.best.name == "store, memory"


def test_more_slots_on_the_device_than_there_are():
    with pytest.raises(ConfigError, match="3 of 2 slots"):
        Scheme("revolve", 203, 4, memory_slots=2, device_slots=3)
