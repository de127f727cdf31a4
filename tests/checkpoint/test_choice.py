"""The choice between strategies is the fastest of those that fit, and says by how much the others do not."""

from itertools import pairwise, product

import pytest

from subsalt.checkpoint.choice.choose import WORTH, choose
from subsalt.checkpoint.choice.footprint import Sizes, footprint
from subsalt.checkpoint.choice.inputs import ChoiceInputs
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import counts_of

#: a state is four snapshots
SIZES = Sizes(steps=203, image_step=4, snapshot=1_000_000, state=4_000_000)
EVERY = SIZES.samples * SIZES.snapshot
PLENTY = 10**12
#: a second per step; a disk that takes and gives a snapshot in a step
RATES = {"step": 1.0, "put": 1e6, "get": 1e6, "copy": 1e30}


def chosen(there=PLENTY, disk=0, rates=RATES, sizes=SIZES, **options):
    return choose(sizes, ChoiceInputs(CheckpointOptions(**options), there, disk, **rates))


def test_everything_in_memory_when_it_fits():
    assert chosen(EVERY).best.name == "store, memory"
    assert chosen(EVERY).best.seconds == SIZES.samples * 4 + 203
    less = chosen(EVERY - 1)
    assert less.best.name == "revolve, memory"
    (store,) = [c for c in less.alternatives if c.name == "store, memory"]
    assert store.problem == "needs 50.00 MB of memory, 50.00 MB are there: 0.00 MB too little"


def test_the_disk_when_it_hides_and_has_room():
    room = SIZES.samples * SIZES.snapshot_file
    hidden = chosen(30 * 10**6, room)
    # snapshots every fourth step, each a step's time to put: all hides
    assert (hidden.best.name, hidden.best.seconds) == ("store, disk", 200 + 203)
    assert hidden.counts.snapshots_written == hidden.counts.snapshots_read == SIZES.samples
    assert chosen(30 * 10**6, room - 1).best.name != "store, disk"
    # a hundredth of that speed: what does not hide counts
    slow = chosen(30 * 10**6, room, RATES | {"put": 1e4, "get": 1e4})
    (store,) = [c for c in slow.alternatives if c.name == "store, disk"]
    assert store.seconds == pytest.approx(2 * EVERY / 1e4)
    assert slow.best.name == "revolve, memory"


@pytest.mark.parametrize("memory", [5, 9, 14, 23, 37, 49])
def test_no_block_and_number_of_slots_does_fewer_steps(memory):
    best = chosen(memory * 10**6, strategy="revolve", place="memory")
    assert best.best.need.memory <= memory * 10**6
    steps = []
    for block, slots in product(range(1, SIZES.samples + 2), range(12)):
        scheme = Scheme("revolve", 203, 4, block=block, memory_slots=slots)
        if slots < scheme.blocks and footprint(scheme, SIZES).memory <= memory * 10**6:
            steps.append(counts_of(scheme).source_steps)
    assert best.counts.source_steps == min(steps)


def test_less_memory_is_never_faster():
    seconds = [chosen(m * 10**6).best.seconds for m in range(5, 60)]
    assert all(a >= b for a, b in pairwise(seconds))


def test_states_on_disk_when_memory_holds_hardly_any():
    # a disk that hides nothing but is much faster than computing again from rest
    rates = RATES | {"put": 4e6, "get": 4e6}
    both = chosen(14 * 10**6, PLENTY, rates, strategy="revolve")
    assert both.best.name in ("revolve, disk", "revolve, both")
    assert both.best.seconds < chosen(14 * 10**6, 0, rates, strategy="revolve").best.seconds
    assert both.counts.states_stored_disk > 0
    # what is predicted is what the schedule counts
    write, read = both.scheme.disk_costs
    counts = both.counts
    stalls = (counts.states_stored_disk * write + counts.states_loaded_disk * read) / 100
    # costs are in hundredths of a step, to the nearest
    total = counts.source_steps + counts.receiver_steps + stalls
    assert both.best.seconds == pytest.approx(
        total, abs=0.005 * (counts.states_stored_disk + counts.states_loaded_disk)
    )
    choice = chosen(14 * 10**6, PLENTY, strategy="revolve", place="disk", disk_slots=7)
    assert choice.counts.states_stored_disk >= 7


def test_what_is_asked_for_is_done_or_refused():
    for strategy, place in (
        ("store", "disk"),
        ("revolve", "memory"),
        ("revolve", "disk"),
        ("revolve", "both"),
    ):
        got = chosen(30 * 10**6, PLENTY, strategy=strategy, place=place)
        assert got.best.name == f"{strategy}, {place}"
        assert got.fits
    exactly = chosen(PLENTY, strategy="revolve", slots=3, block=2)
    assert (exactly.scheme.memory_slots, exactly.scheme.block) == (3, 2)
    refused = chosen(10**6, strategy="store", place="memory")
    assert not refused.fits
    assert refused.best.name == "store, memory"
    assert "49.00 MB too little" in refused.best.problem


def test_states_in_both_places_where_the_disk_has_no_use_for_any():
    # all states fit into memory: what is asked for runs, and nothing is planned or opened on disk
    rich = chosen(PLENTY, PLENTY, strategy="revolve", place="both")
    assert rich.fits
    assert rich.best.name == "revolve, both"
    assert (rich.best.need.disk, rich.scheme.disk_slots, rich.counts.states_stored_disk) == (0, 0, 0)
    # a state costs more on disk than the steps that it saves: 6 slots would lie there for nothing
    slow = RATES | {"put": 1e3, "get": 1e3}
    poor = chosen(24 * 10**6, PLENTY, slow, strategy="revolve", place="both")
    assert poor.fits
    assert (poor.best.need.disk, poor.counts.states_stored_disk) == (0, 0)
    # what is written is what is planned, whatever slots there are
    many = chosen(24 * 10**6, PLENTY, strategy="revolve", place="both", slots=1, disk_slots=40, block=8)
    used = many.scheme.moves.disk
    assert 0 < used < 40
    assert many.best.need.disk == used * SIZES.state_file


def test_an_amount_of_memory_is_kept_to():
    got = chosen(PLENTY, memory=20 * 10**6)
    assert got.best.name == "revolve, memory"
    assert got.best.need.memory <= 20 * 10**6
    assert got.inputs.memory == 20 * 10**6


def test_compression_is_for_disk():
    got = chosen(PLENTY, PLENTY, compression="zfp")
    assert got.best.name == "store, disk"
    assert not chosen(PLENTY, 0, compression="zfp").fits


def test_boundary_only_when_rounding_is_allowed():
    sizes = Sizes(203, 4, 1_000_000, 4_000_000, shell=1000)
    small = 9 * 10**6
    exact = chosen(small, sizes=sizes)
    (boundary,) = [c for c in exact.alternatives if c.name == "boundary, memory"]
    assert "exact = false" in boundary.problem
    assert exact.scheme.strategy == "revolve"
    rounding = chosen(small, sizes=sizes, exact=False)
    assert rounding.scheme.strategy == "boundary"
    assert rounding.best.seconds == 2 * 200 - 5 + 203
    # where all fits, nothing is lost for it
    assert chosen(PLENTY, sizes=sizes, exact=False).best.name == "store, memory"
    assert not chosen(PLENTY, strategy="boundary").fits


def test_a_candidate_with_more_machinery_must_be_worth_it():
    # copies of states cost what makes store on disk and revolve nearly alike
    got = chosen(PLENTY, PLENTY)
    names = [
        c.name for c in got.alternatives if not c.problem and c.seconds <= got.best.seconds * (1 + WORTH)
    ]
    assert got.best.name == names[0]
    assert len(names) > 1
    assert "simpler" in got.why


def test_one_sample_and_long_surveys():
    assert chosen(sizes=Sizes(4, 4, 100, 400)).counts.source_steps == 4
    long = chosen(2 * 10**8, PLENTY, sizes=Sizes(100_000, 1, 10**6, 4 * 10**6))
    assert long.fits
