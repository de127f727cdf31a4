"""Memory of a rank, by array, before any is allocated: the arrays of a shot that exist at the same time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from subsalt import physics
from subsalt.acquisition.survey import Shot
from subsalt.checkpoint.choice.footprint import Sizes
from subsalt.earth.grid import Box
from subsalt.errors import Change, MemoryPlanError
from subsalt.host import available_memory
from subsalt.methods.rtm.arrays import FLOAT, RankArrays
from subsalt.methods.rtm.changes import smaller_setups
from subsalt.methods.rtm.companion import PART, PER_POINT, companions, sums_per_point
from subsalt.methods.rtm.conditions import LagBox, condition_of
from subsalt.methods.rtm.engine import TraceBytes
from subsalt.methods.rtm.field_pair import HELD
from subsalt.methods.rtm.image_memory import carried_bytes, finishing_bytes
from subsalt.methods.rtm.image_sum import gathers_bytes, sums_bytes
from subsalt.methods.rtm.lag_exchange import gathers_memory
from subsalt.methods.rtm.modelling import mapping_bytes
from subsalt.methods.rtm.setup import MigrationSetup

#: why the boundary strategy has no wavefield to rebuild below topography
NOT_BACKWARDS = (
    "steps go backwards inside a box, and those with a free surface inside the grid are of the whole grid"
)


def shot_memory(
    setup: MigrationSetup,
    arrays: RankArrays,
    *,
    several: bool = True,
    image: bool = True,
    snapshot_arrays: Mapping[str, int] | None = None,
    on_device: bool = False,
) -> dict[str, int]:
    """Return bytes by array for migrating a shot; the values sum to its peak beyond model and interpreter.

    Parameters
    ----------
    setup : MigrationSetup
        Shared choices.
    arrays : RankArrays
        Arrays of the shot on the rank.
    several : bool
        Other shots come before it, and the image, their snapshots' memory and last sums are held. The image of a single
        shot takes no memory before its fields are gone.
    image : bool
        The sums over shots are held meanwhile. A run keeps them and the parts of its shots in files, and reads the
        traces of the next shot while one is computed.
    snapshot_arrays : mapping of str to int, optional
        Bytes that the strategy holds, by array (`checkpoint.choice.footprint`); every snapshot when None.
    on_device : bool
        Wavefields are in the memory of a GPU, and not counted; the model goes there from arrays of the host.

    Notes
    -----
    Everything but the working space is held while wavefields propagate. The working space is what another stage, with
    less of the rest, needs beyond that: making the model arrays, mapping the traces, finishing the image.
    """
    # the sums of the shot, in what the rank has of the window
    sums = sums_per_point(setup) * FLOAT * arrays.domain.interior.size
    plan = propagation_memory(arrays, on_device=on_device)
    making = plan.pop("working space") + plan["wavefields"] + plan["absorbing layer"]
    traces, model = traces_of(setup, arrays), plan["model arrays"]
    # those that a run reads ahead come beside
    plan["traces"] = traces.held + (traces.came if several and not image else 0)
    if setup.flow is not None:
        # as recorded and as they leave the steps, for the next shot while this one is computed
        recorded = FLOAT * traces.receivers * setup.flow.time.nt
        plan["signal steps"] = recorded + traces.came + setup.flow.scratch()
    stages = [
        model + making + traces.came + traces.samples,
        model + traces.scaling,
        traces.mapping,
        traces.weighting,
    ]
    if len(arrays.domain.rows) > 1:
        # sums, sent and received, and whole planes of them (`propagation.image_planes`)
        stages.append(model + 4 * sums)
    held = image and several
    image_bytes = sums_bytes(setup, setup.model.grid.size) if image else 0
    if image:
        points = setup.image_grid.size
        carried, beside = carried_bytes(setup, setup.image_grid.shape3[0])
        finished = carried + max(beside, finishing_bytes(setup, points))
        stages.append(finished + (0 if several else image_bytes))
    if held:
        plan["image"] = image_bytes
    plan |= (
        snapshot_arrays
        if snapshot_arrays is not None
        else {"snapshots": len(setup.imaged_samples) * arrays.snapshot(fields=setup.fields_of_sample)}
    )
    if setup.pairs:
        plan["both fields"] = arrays.propagator.word * HELD * arrays.domain.interior.size
    plan["image accumulators"] = (2 if held else 1) * sums
    if setup.lags is not None:
        plan["gathers"] = gathers_memory(setup.lags, arrays.domain)
        if image:
            plan["gathers"] += gathers_bytes(setup, 1)["sums of gathers"]
            stages.append(gathers_bytes(setup, 1)["gathers"])
    if companions(setup):
        plan["second receivers"] = second_receivers_bytes(setup, arrays)
    if setup.scatters:
        plan["scattering"] = scattering_bytes(setup, arrays)
    if setup.offsets is not None and image:
        plan["gathers"] = gathers_bytes(setup, 1)["sums of gathers"]
        stages.append(gathers_bytes(setup, 1)["gathers"])
    before = sum(plan.get(n, 0) for n in ("snapshots", "pinned snapshots")) if several else 0
    if held:
        before += plan["image"] + sums
    return plan | {"working space": max(0, before + max(stages) - sum(plan.values()))}


def lags_of(setup: MigrationSetup, arrays: RankArrays) -> LagBox | None:
    """Return the gathers of a shot that a rank sums; None without any."""
    domain = arrays.domain
    return (
        None
        if setup.lags is None
        else setup.lags.inside(arrays.window).share(domain.rank, math.prod(domain.counts))
    )


def second_receivers_bytes(setup: MigrationSetup, arrays: RankArrays) -> int:
    """Return the bytes of a second wavefield of the receivers: state, injected samples, and what separates fields."""
    traces = traces_of(setup, arrays)
    need = arrays.propagator.state_held + traces.samples + traces.samples // 2
    if condition_of(setup.imaging.condition).separates:
        points = arrays.domain.interior.size
        need += 2 * FLOAT * points + PER_POINT * min(points, PART)
    return need


def scattering_bytes(setup: MigrationSetup, arrays: RankArrays) -> int:
    """Return the bytes that linearised modelling takes beside a migration, without the scattered wavefield itself.

    Notes
    -----
    In the window the perturbation, its product with a field, and a sample of every field; what is recorded of every
    step, and what it becomes in double precision on its way to injection.
    """
    points = arrays.domain.interior.size
    return FLOAT * points * (arrays.propagator.fields + 2) + 2 * traces_of(setup, arrays).samples


def traces_of(setup: MigrationSetup, arrays: RankArrays) -> TraceBytes:
    """Return the bytes of the traces that a rank has of a shot."""
    return TraceBytes(arrays.receivers, setup.record.nt, setup.axis.nt)


def prepared_memory(setup: MigrationSetup, arrays: RankArrays) -> int:
    """Return the bytes that a shot takes at most while the host prepares it: model arrays, window, and samples."""
    traces = traces_of(setup, arrays)
    window = arrays.propagator.window_volumes + traces.came + traces.samples
    return arrays.propagator.model_arrays + max(window, traces.scaling, traces.weighting)


def propagation_memory(arrays: RankArrays, *, on_device: bool = False) -> dict[str, int]:
    """Return bytes by array for one wavefield of a shot; the values sum to the peak.

    Those of the host alone when wavefields are `on_device`.
    """
    held = arrays.propagator
    wavefields = 0 if on_device else held.wavefields
    layer = 0 if on_device else held.layer_held
    mirror, _ = held.mirror
    return {
        "wavefields": wavefields,
        "model arrays": held.model_arrays,
        **({"topography": mirror} if mirror else {}),
        "absorbing layer": layer,
        "working space": max(0, held.window_volumes - wavefields - layer),
    }


def modelled_shot_memory(
    arrays: RankArrays, written: int, stepped: int, *, on_device: bool = False
) -> dict[str, int]:
    """Return bytes by array for modelling a shot; the values sum to its peak beyond model and interpreter.

    Parameters
    ----------
    arrays : RankArrays
        Arrays of the shot on the rank.
    written, stepped : int
        Samples of a trace as written, and as recorded at every time step.
    on_device : bool
        As in `shot_memory`.
    """
    plan = propagation_memory(arrays, on_device=on_device)
    nr, planes = arrays.recorded
    plan["traces"] = (nr + planes) * FLOAT * stepped
    # after the time loop, when the wavefields are gone
    mapping = mapping_bytes(nr, written, stepped)
    gone = plan["wavefields"] + plan["absorbing layer"]
    plan["working space"] = max(plan["working space"], mapping - gone)
    return plan


def sizes_of(
    setup: MigrationSetup, ranks: Sequence[RankArrays], *, on_device: bool, halved: bool = False
) -> Sizes:
    """Return a shot as a schedule sees it, with the bytes of the rank that has most of each.

    Parameters
    ----------
    setup : MigrationSetup
        Shared choices.
    ranks : sequence of RankArrays
        Arrays of the shot on all ranks.
    on_device : bool
        Wavefields are in the memory of a GPU.
    halved : bool
        Snapshots are kept in 16 bits.
    """
    why = {"no_boundary": NOT_BACKWARDS} if setup.propagation.topography is not None else {}
    return Sizes(
        setup.axis.nt - 1,
        setup.image_step,
        max(r.snapshot(halved=halved, fields=setup.fields_of_sample) for r in ranks),
        max(r.propagator.state for r in ranks),
        max(r.shell for r in ranks),
        max(r.propagator.level for r in ranks),
        on_device=on_device,
        state_held=0 if on_device else max(r.propagator.state_held for r in ranks),
        scatters=setup.scatters,
        **why,
    )


def check_memory(setup: MigrationSetup, shots: list[Shot], available: int | None = None) -> dict[str, int]:
    """Return the memory of the largest shot by array; refuse when it does not fit.

    Raises
    ------
    MemoryPlanError
        With the numbers and the smallest change that fits.
    """
    have = available_memory() if available is None else available

    def worst_with(changed: MigrationSetup) -> dict[str, int]:
        """Return the memory by array of the shot that takes most."""
        several = len(shots) > 1
        plans = (
            shot_memory(changed, RankArrays.of(changed, s), several=several)
            for s in largest_shots(changed, shots)
        )
        return max(plans, key=lambda p: sum(p.values()))

    worst = worst_with(setup)
    total = sum(worst.values())
    if total > have:
        table = ", ".join(f"{k} {v / 1e9:.2f} GB" for k, v in sorted(worst.items(), key=lambda kv: -kv[1]))
        packs = physics.medium_of(setup.model, setup.propagation.medium) != "tti"
        changes = smaller_setups(setup, lambda s: sum(worst_with(s).values()), have, packs=packs)
        more = Change.more_memory(f"{total / 1e9:.2f} GB", total)
        raise MemoryPlanError(
            f"the job needs {total / 1e9:.2f} GB, {have / 1e9:.2f} GB are available: {table}",
            next((c for c in changes if c.fits), more).text,
            code="E610",
        )
    return worst


def largest_shots(setup: MigrationSetup, shots: list[Shot]) -> list[Shot]:
    """Return the shot with the largest window and the one with the most receivers."""

    def size(shot: Shot) -> int:
        box: Box = setup.window(shot)
        return box.size

    return [max(shots, key=size), max(shots, key=lambda s: len(s.rcv))]
