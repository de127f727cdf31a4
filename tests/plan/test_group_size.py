"""The group that shares a shot: smallest that fits, refused with a change that does fit when planned again."""

from dataclasses import replace
from itertools import pairwise

import pytest
from plan_cases import SHAPE, needs, setup, survey, world

import subsalt as ss
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.errors import ConfigError, DiskError, MemoryPlanError
from subsalt.methods.rtm.grouping import decide, group_size, smallest_changes
from subsalt.methods.rtm.model_reading import reading_of
from subsalt.methods.rtm.modelling import ModellingSetup
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.node_inputs import NodeInputs
from subsalt.plan import World
from subsalt.plan.rates import assumed
from subsalt.plan.world import COMFORT
from subsalt.propagation.options import PropagationOptions


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_every_rank_needs_less_the_more_share_a_shot(medium):
    requirements = needs(medium=medium)
    totals = [requirements.for_group(g).total for g in range(1, 9)]
    assert all(a > b for a, b in pairwise(totals))
    # snapshots are cut without overlap: the slabs of a group hold those of the window together; inner slabs have more
    # planes than the ends, by the 24 of the layer that count up to 2.5 of others, to a plane
    alone, shared = (
        requirements.for_group(1).arrays["snapshots"],
        requirements.for_group(4).arrays["snapshots"],
    )
    plane = alone // SHAPE[0]
    assert alone / 4 <= shared <= alone / 4 + (24 * 2.5 / 4 + 1) * plane


def test_the_smallest_group_that_fits_is_taken():
    requirements = needs()
    for size in (1, 2, 3, 5):
        memory = requirements.for_group(size).total
        decision = group_size(requirements, world(8, memory))
        assert (decision.groups, sum(decision.sizes)) == (8 // size, 8)
        assert decision.need.total <= memory
        assert group_size(requirements, world(8, memory - 1)).groups == 8 // (size + 1)


def test_memory_that_was_found_free_is_not_filled_when_more_ranks_can_share():
    requirements = needs()
    two = requirements.for_group(2).total
    assert decide(requirements, world(8, two / COMFORT + 1, given=False)).group_size == 2
    assert decide(requirements, world(8, two, given=False)).group_size > 2
    # but a run is refused only when it cannot fit at all
    last = requirements.for_group(8).total
    full = decide(requirements, world(8, last, given=False))
    assert full.fits
    assert "room" in full.reason


def test_no_more_groups_than_shots():
    requirements = Needs(setup(), survey(2).shots, 8)
    assert decide(requirements, world(8, 1e12)).group_size == 4
    # nor when a number is asked for: left-over ranks join the groups
    assert decide(requirements, world(7, 1e12), 1).sizes == (4, 3)
    # but for those that slabs would be too thin for
    most = requirements.largest_group
    many = decide(Needs(requirements.setup, requirements.shots, 3 * most), world(3 * most, 1e12))
    assert (many.sizes, many.idle) == ((most, most), most)


@pytest.mark.parametrize("medium", ["vti", "tti"])
def test_what_is_told_to_change_fits_when_planned_again(medium):
    requirements = needs(ranks=2, medium=medium, aperture=900.0)
    memory = requirements.for_group(2).total * 0.99
    refused = decide(requirements, world(2, memory))
    assert not refused.fits
    changes = [*smallest_changes(requirements, world(2, memory), 2)]
    texts = " | ".join(c.text for c in changes)
    assert all(c.need <= memory for c in changes[:-1])
    assert refused.error.fix == changes[0].text
    started = int(changes[0].text.removeprefix("start ").split()[0])
    assert group_size(replace(requirements, ranks=started), world(started, memory)).group_size == started
    assert not decide(requirements, world(started - 1, memory)).fits
    assert "image_step" in texts
    assert ("u16" in texts) == (medium == "vti")
    aperture = float(texts.split("aperture = ")[1].split()[0])
    narrow = replace(requirements.setup, imaging=replace(requirements.setup.imaging, aperture=aperture))
    assert Needs(narrow, requirements.shots, 2).for_group(2).total <= memory
    # and it is the largest such aperture, to the last halving
    wider = replace(requirements.setup, imaging=replace(requirements.setup.imaging, aperture=aperture + 20.0))
    assert Needs(wider, requirements.shots, 2).for_group(2).total > memory


def test_a_fixed_group_is_refused_with_one_that_fits():
    requirements = needs()
    memory = requirements.for_group(4).total
    with pytest.raises(MemoryPlanError, match="with 2 ranks per shot") as caught:
        group_size(requirements, world(8, memory), 2)
    assert caught.value.code == "E660"
    assert caught.value.fix == "set [parallel] ranks_per_shot = 4"
    assert group_size(requirements, world(8, memory), 4).fits


def test_more_memory_is_the_last_cure():
    requirements = needs(ranks=1)
    with pytest.raises(MemoryPlanError) as caught:
        group_size(requirements, world(1, 1000))
    assert "GB" in caught.value.fix
    advised = float(caught.value.fix.split("at least ")[1].split()[0]) * 1e9
    assert group_size(requirements, world(1, advised)).fits


def test_slabs_thinner_than_their_halo_are_refused():
    requirements = needs()
    most = requirements.largest_group
    with pytest.raises(ConfigError, match=f"at most {most} ranks"):
        decide(needs(ranks=99), world(99, 1e12), most + 1)


def test_ghost_planes_are_read_as_the_slabs_hold_them():
    # isotropic without a layer: every inner cut is read 2 M planes twice, nx + 2 M (n - 1) in all
    requirements = Needs(setup(medium="isotropic", boundary="none"), survey(receivers=39).shots, 8)
    read = reading_of(requirements, 4, 1, True)
    plane = 4 * SHAPE[1] * SHAPE[2]
    assert (read.model_wanted, read.model_read) == (SHAPE[0] * plane, (SHAPE[0] + 8 * 3) * plane)
    # a trace is read by both slabs when a cut lies between the 8 nodes of its support, 70 m,
    # and receivers are 41 m apart
    extra = (read.traces_read - read.traces_wanted) // (4 * 250)
    assert 3 <= extra <= 6
    assert not read.thin
    thin = needs(ranks=30, medium="isotropic", boundary="none", decomp="slabs")
    assert reading_of(thin, 30, 1, True).thin


def test_modelling_keeps_no_snapshots_and_needs_less():
    migration = setup()
    model = ModellingSetup.build(
        migration.model, ss.ricker(20.0, 0.001), survey().time, PropagationOptions(), None
    )
    requirements = Needs(model, survey().shots, 4)
    assert "snapshots" not in requirements.for_group(1).arrays
    assert requirements.for_group(1).total < Needs(migration, survey().shots, 4).for_group(1).total
    # its cures are ranks and memory
    changes = [*smallest_changes(requirements, world(4, requirements.for_group(2).total), 1)]
    assert [c.text.split()[0] for c in changes] == ["set", "give"]


def test_the_memory_of_running_ranks_is_that_of_their_node(monkeypatch):
    class Fake:
        size, host = 3, "a"

        def allgather(self, value):
            return ["a", "a", "b"]

        def min(self, value):
            return value // 2

    monkeypatch.setattr("subsalt.plan.world.available_memory", lambda: 800)
    shared = World.of(Fake(), 2)
    assert (shared.ranks, shared.ranks_per_node, shared.threads) == (3, 2, 2)
    # half of it on the node of two, the least of all ranks, beside what they hold
    assert shared.memory_per_rank == 200
    assert shared.holding(70).memory_per_rank == 270
    assert shared.holding(70).holding(70).memory_per_rank == 270


def choosing(ranks=8, disk=0, **options):
    """Return the needs of the same survey with strategies to choose from; a disk of a snapshot a step."""
    how = NodeInputs(CheckpointOptions(**options), assumed(1), disk=int(disk), sharing=ranks)
    return needs(ranks=ranks).choosing(how)


def test_everything_in_memory_takes_what_it_took():
    assert choosing().for_group(2).total == needs().for_group(2).total
    assert choosing().for_group(2).choice.best.name == "store, memory"


def test_less_memory_is_met_by_another_strategy_instead_of_a_refusal():
    alone = needs(ranks=1).for_group(1).total
    for part in (0.95, 0.8, 0.6):
        decision = group_size(choosing(ranks=1), world(1, part * alone))
        assert decision.choice.best.name == "revolve, memory"
        assert decision.need.total <= part * alone
        # what the plan promises is what the arrays sum to
        assert sum(decision.need.arrays.values()) == decision.need.total


def test_a_larger_group_is_taken_where_it_saves_computing_again():
    size = choosing()
    two = size.for_group(2).total
    assert decide(size, world(8, two)).group_size == 2
    assert decide(size, world(8, two)).choice.best.name == "store, memory"
    assert (
        "faster than smaller groups, which would take revolve, memory" in decide(size, world(8, two)).reason
    )
    # what is asked for is done with what there is
    one = decide(size, world(8, two), 1)
    assert (one.group_size, one.choice.scheme.strategy) == (1, "revolve")
    assert one.need.total <= two


def test_a_strategy_that_does_not_fit_is_refused_with_what_does():
    alone = needs(ranks=1).for_group(1).total
    forced = choosing(ranks=1, strategy="store", place="memory")
    refused = decide(forced, world(1, 0.8 * alone))
    assert refused.error.code == "E610"
    texts = [c.text for c in smallest_changes(forced, world(1, 0.8 * alone), 1)]
    assert refused.error.fix == texts[0]
    assert texts[0] == 'set [checkpoint] strategy = "auto"'
    assert decide(choosing(ranks=1), world(1, 0.8 * alone)).fits


def test_a_disk_that_is_too_small_is_refused():
    alone = needs(ranks=1).for_group(1).total
    refused = decide(choosing(ranks=1, disk=1000, strategy="store", place="disk"), world(1, alone))
    assert refused.error.code == "E666"
    assert isinstance(refused.error, DiskError)
    assert "store, disk needs" in refused.error.message
    advised = float(refused.error.fix.split("name folders with ")[1].split()[0]) * 1e9
    assert decide(choosing(ranks=1, disk=advised, strategy="store", place="disk"), world(1, alone)).fits


def test_an_amount_of_memory_too_small_for_any_strategy_is_named():
    refused = decide(choosing(ranks=1, memory=10**6), world(1, 1e12))
    assert refused.error.code == "E610"
    assert "leaves it 0.001 GB" in refused.error.message
    assert refused.error.fix == "leave [checkpoint] memory out"


def test_one_class_of_numerics_for_all_shots():
    how = NodeInputs(CheckpointOptions(exact=False), assumed(1))
    choice = needs(ranks=1).choosing(how).for_group(1).choice
    assert how.settled(choice).options.exact
    assert how.settled(choice).options.strategy == "auto"


def test_pictures_are_a_stage_of_their_own():
    plain = needs(1, medium="isotropic")
    drawn = replace(plain, pictures=True)
    # beside a large shot they take no more; alone they rule, and can be left out
    assert drawn.for_group(1).arrays == plain.for_group(1).arrays
    few = replace(plain.setup, image_step=plain.setup.axis.nt - 1)
    small = drawn.changed(few)
    assert small.for_group(1).stage == "pictures"
    assert small.for_group(1).total > small.without_pictures().for_group(1).total
    limit = small.for_group(1).total - 1
    texts = [c.text for c in smallest_changes(small, world(1, limit), 1)]
    assert "set [output] pictures = false" in texts
    assert not small.fits(1, limit)
    assert small.without_pictures().fits(1, limit)
