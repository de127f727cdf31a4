"""Bytes that classes declare are those of the arrays they allocate, also of a condition that plans never heard of."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

import subsalt as ss
from subsalt import kernels
from subsalt.acquisition.injection import HICKS, sinc_points, supports
from subsalt.kernels import cpu
from subsalt.methods.rtm import conditions
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.gather_choice import with_gathers
from subsalt.methods.rtm.image_memory import carried_bytes, finishing_bytes
from subsalt.methods.rtm.image_sum import ImageSum, sums_bytes
from subsalt.methods.rtm.memory import check_memory, shot_memory
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.domain import shell_of, shell_shape
from subsalt.propagation.options import ImagingOptions, PropagationOptions
from subsalt.propagation.propagator import Propagator

LAGS = 5


class Lagged(conditions.CrossCorrelation):
    """A correlation with lags beside every point: five numbers where others have one."""

    name = "lagged"

    @classmethod
    def shapes(cls, box: tuple[int, int, int]) -> dict[str, tuple[int, ...]]:
        """Return the shape of the sums, lags first."""
        return {"correlation": (LAGS, *box)}


def setup_of(condition: str, illumination: str = "survey") -> tuple[MigrationSetup, ss.Survey]:
    model = ss.EarthModel(ss.Grid((41, 33), (10.0, 10.0)), 2000.0)
    survey = ss.Survey.from_arrays([[200.0, 20.0]], [[150.0, 10.0], [250.0, 10.0]], nt=101, dt=0.004)
    imaging = ImagingOptions(condition=condition, illumination=illumination)
    wavelet = ss.ricker(20.0, 0.001)
    return MigrationSetup.build(model, wavelet, survey.time, PropagationOptions(), imaging), survey


def test_the_sums_of_a_new_condition_are_planned_as_it_allocates_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(conditions.CONDITIONS, "lagged", Lagged)
    setup, survey = setup_of("lagged")
    arrays = RankArrays.of(setup, survey.shots[0])
    with Propagator(setup.model, setup.propagation, setup.axis.dt) as prop:
        made = Lagged(kernels.get("cpu"), prop.problem, prop.interior).sums
    taken = sum(a.nbytes for a in made.values())
    assert taken == LAGS * 4 * setup.model.grid.size
    assert shot_memory(setup, arrays, image=False)["image accumulators"] == taken
    on_gpu = arrays.on_gpu(setup.axis.nt, Lagged.per_point())
    assert on_gpu["image accumulators"] == taken


@pytest.mark.parametrize("illumination", ["survey", "shot"])
@pytest.mark.parametrize("condition", conditions.CONDITIONS)
def test_sums_over_shots_are_declared_as_they_are_allocated(condition: str, illumination: str) -> None:
    if illumination == "shot" and condition != "source-normalised":
        return
    setup, _ = setup_of(condition, illumination)
    made = ImageSum(setup)
    assert sums_bytes(setup, setup.model.grid.size) == sum(a.nbytes for a in made.fields.values())


#: conditions that take a Laplacian themselves
LAPLACIAN = {"inverse-scattering": "laplacian"}


@pytest.mark.parametrize("depth", [0.0, 100.0])
@pytest.mark.parametrize("filter_", ["none", "laplacian"])
@pytest.mark.parametrize("condition", conditions.CONDITIONS)
@pytest.mark.parametrize("spacing", [10.0, 22.0])
def test_an_image_takes_the_memory_that_is_declared(
    condition: str, filter_: str, depth: float, spacing: float
) -> None:
    if spacing > 10.0 and depth:
        return  # the mute is that of the grid of the image
    image = ss.Grid((40, 40, 50), (10.0, 10.0, 10.0))
    model = ss.EarthModel(ss.Grid(tuple(int(10 * n / spacing) for n in image.shape), (spacing,) * 3), 2000.0)
    survey = ss.Survey.from_arrays([[200.0, 200.0, 20.0]], [[150.0, 200.0, 10.0]], nt=51, dt=0.004)
    imaging = ImagingOptions(condition=condition, filter=filter_, top_mute=depth)
    wavelet = ss.ricker(5.0, 0.004)
    setup = MigrationSetup.build(model, wavelet, survey.time, PropagationOptions(), imaging, image)
    total = ImageSum(setup)
    for a in total.fields.values():
        a[...] = 1.0  # light of zero would be divided by nowhere
    total.finish(total.light())  # what is loaded at first use
    total._carried.clear()
    tracemalloc.start()
    try:
        total.finish(total.light())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    carried, beside = carried_bytes(setup, image.shape[0])
    declared = carried + max(beside, finishing_bytes(setup, image.size))
    # a Laplacian has two arrays that are padded by eight planes, along the axis before and along this one, and four
    # planes of an edge; 100 kB: what Python keeps of it all, ramps, and weights between the grids
    edges = (
        (2 * 8 + 4) * 8 * image.size / min(image.shape)
        if "laplacian" in (filter_, LAPLACIAN.get(condition))
        else 0
    )
    assert declared <= peak + 100e3, (declared / image.size, peak / image.size)
    assert peak <= declared + edges + 100e3, (declared / image.size, peak / image.size)


def test_nine_shots_with_41_half_offsets_take_the_memory_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of compiled code are counted as NumPy's, which Python traces. Within a tenth of the plan."""
    grid = ss.Grid((48, 24, 24), (10.0, 10.0, 10.0))
    x, y = (10.0 * np.linspace(0.2, 0.8, 3) * n for n in grid.shape[:2])
    receivers = [(10.0 * i, 10.0 * j, 10.0) for i in range(0, 48, 4) for j in range(0, 24, 6)]
    survey = ss.Survey.from_arrays([(a, b, 10.0) for a in x for b in y], receivers, nt=31, dt=0.004)
    for shot in survey.shots:
        shot.data = np.ones((len(receivers), 31), np.float32)
    model, wavelet = ss.EarthModel(grid, vp=np.full(grid.shape, 2000.0, np.float32)), ss.ricker(20.0, 0.004)
    options = {
        "gathers": ss.GatherOptions(max=200.0, every=4),
        "checkpoint": ss.CheckpointOptions(strategy="store"),
    }

    def allocate(shape: list[int], threads: int, zeroed: bool = True) -> np.ndarray:
        size = 4 * math.prod(shape)
        room = np.zeros(size + 64, np.uint8)
        first = -room.ctypes.data % 64
        return room[first : first + size].view(np.float32).reshape(shape)

    monkeypatch.setattr(cpu._native, "allocate", allocate)
    imaging = ImagingOptions(gathers=options["gathers"])
    setup = with_gathers(
        MigrationSetup.build(model, wavelet, survey.time, PropagationOptions(), imaging), survey.shots
    )
    planned = sum(check_memory(setup, survey.shots).values())
    ss.migrate(model, survey.select([1]), wavelet, threads=1, **options)  # what is loaded at first use
    tracemalloc.start()
    try:
        made = ss.migrate(model, survey, wavelet, threads=1, **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(made.gathers[0].traces) == 41
    assert abs(planned / peak - 1) <= 0.1, (planned, peak)


def test_a_shell_has_the_shape_of_its_fields() -> None:
    setup, survey = setup_of("cross-correlation")
    arrays = RankArrays.of(setup, survey.shots[0])
    cells = shell_of(arrays.domain, "isotropic").cells
    assert shell_shape(arrays.domain, "isotropic") == (1, cells)
    assert arrays.shell == 4 * math.prod(shell_shape(arrays.domain, "isotropic"))


def test_supports_are_the_nodes_with_weights() -> None:
    x = np.array([9.0, 9.25, 12.0 + 1e-9, 13.999])
    index = np.stack([x, x, x], axis=1)
    points = sinc_points((31, 31, 31), index, 3)
    first, last = supports(x, HICKS.radius)
    for i, (low, high) in enumerate(zip(first, last, strict=True)):
        used = points.base[i, 0] + np.flatnonzero(points.weights[i, 0])
        assert (used[0], used[-1]) == (low, high)
