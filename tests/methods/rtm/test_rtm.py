"""Reverse time migration of small 2-D models: position, sign, invariance, refusal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import subsalt as ss
from subsalt.acquisition.survey import shot_window
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError, DataError, MemoryPlanError, StabilityError
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.engine import migrate_shot, receiver_samples, window_taper
from subsalt.methods.rtm.memory import check_memory, shot_memory
from subsalt.methods.rtm.setup import MigrationSetup, image_step
from subsalt.propagation.options import ImagingOptions, PropagationOptions

H = 10.0
F0 = 20.0
DEPTH = 350.0


def background() -> ss.EarthModel:
    return ss.EarthModel(ss.Grid((81, 61), (H, H)), 2000.0)


def survey(nt: int = 301) -> ss.Survey:
    src = [[x, 0.0] for x in (200.0, 400.0, 600.0)]
    rcv = np.stack([np.arange(0.0, 801.0, H), np.zeros(81)], axis=1)
    return ss.Survey.from_arrays(src, rcv, nt=nt, dt=0.002)


@pytest.fixture(scope="module")
def recorded() -> ss.Survey:
    """Reflections of one flat interface: the difference of two modelled surveys."""
    model = background()
    vp = model.vp.copy()
    vp[:, int(DEPTH / H) :] = 2400.0
    wavelet = ss.ricker(F0, 0.001)
    with_interface = ss.forward(replace(model, vp=vp), survey(), wavelet)
    without = ss.forward(model, survey(), wavelet)
    shots = [
        replace(a, data=a.data - b.data)
        for a, b in zip(with_interface.survey.shots, without.survey.shots, strict=True)
    ]
    return replace(survey(), shots=shots)


def peak_depth(trace: np.ndarray) -> float:
    k = int(np.argmax(trace))
    a, b, c = (float(v) for v in trace[k - 1 : k + 2])
    return (k + 0.5 * (a - c) / (a - 2 * b + c)) * H


@pytest.mark.parametrize(
    ("condition", "filter_"),
    [("source-normalised", "none"), ("cross-correlation", "laplacian"), ("inverse-scattering", "none")],
)
def test_a_reflector_images_as_a_peak_at_its_depth(recorded: ss.Survey, condition: str, filter_: str) -> None:
    result = ss.migrate(background(), recorded, ss.ricker(F0, 0.001), condition=condition, filter=filter_)
    centre = result.image[40, 10:]  # below the footprint of the sources
    # the interface lies half a cell above the first node of the lower layer, DEPTH - H / 2; A11 allows one cell
    assert abs(peak_depth(centre) + 10 * H - (DEPTH - H / 2)) <= H


def test_phases_sum_to_wall(recorded: ss.Survey) -> None:
    phases = ss.migrate(background(), recorded, ss.ricker(F0, 0.001)).phases
    assert sum(v for k, v in phases.items() if k != "wall") == pytest.approx(phases["wall"], rel=1e-9)


def test_image_step_of_one_differs_by_less_than_one_percent(recorded: ss.Survey) -> None:
    """Physics page 6.4: the zero-lag sum needs no finer sampling than its Nyquist rule."""
    one_shot = recorded.select([2])
    wavelet = ss.ricker(F0, 0.001)
    coarse = ss.migrate(background(), one_shot, wavelet)
    fine = ss.migrate(background(), one_shot, wavelet, image_step=1)
    assert coarse.image_step == image_step(2.5 * F0, coarse.dt) > 1
    below = np.s_[:, 10:]
    difference = coarse.image[below] - fine.image[below]
    assert np.sqrt(np.mean(difference**2)) < 0.01 * np.sqrt(np.mean(fine.image[below] ** 2))


def test_order_of_shots_in_memory_does_not_matter_only_survey_order(recorded: ss.Survey) -> None:
    """The partial images are the same whatever was computed before them."""
    setup = MigrationSetup.build(
        background(), ss.ricker(F0, 0.001), recorded.time, PropagationOptions(), ImagingOptions()
    )
    first = [migrate_shot(setup, s, s.data) for s in recorded.shots]
    again = [migrate_shot(setup, s, s.data) for s in reversed(recorded.shots)][::-1]
    for a, b in zip(first, again, strict=True):
        for name in a.sums:
            assert a.sums[name].tobytes() == b.sums[name].tobytes()


def test_aperture_cuts_the_window_and_keeps_the_centre(recorded: ss.Survey) -> None:
    shot = replace(recorded.shots[1], rcv=recorded.shots[1].rcv[30:51], data=recorded.shots[1].data[30:51])
    box = shot_window(background(), shot, 100.0)
    assert (box.lo[0], box.hi[0]) == (20, 61)
    assert (box.lo[2], box.hi[2]) == (0, 61)


def test_a_shot_far_outside_the_model_is_named() -> None:
    far = ss.Shot(7, np.array([99_000.0, 0.0, 0.0]), np.array([[99_100.0, 0.0, 0.0]]))
    with pytest.raises(DataError, match="shot 7 lies outside"):
        shot_window(background(), far, 100.0)


def test_nan_traces_are_refused_with_the_shot(recorded: ss.Survey) -> None:
    setup = MigrationSetup.build(
        background(), ss.ricker(F0, 0.001), recorded.time, PropagationOptions(), ImagingOptions()
    )
    bad = recorded.shots[0].data.copy()
    bad[3, 7] = np.nan
    with pytest.raises(DataError, match="shot 1: 1 of 81 traces"):
        receiver_samples(setup, recorded.shots[0], bad)


def test_an_image_of_nothing_is_said_to_be_one(recorded: ss.Survey) -> None:
    silent = replace(recorded, shots=[replace(s, data=0.0 * s.data) for s in recorded.shots[:1]])
    with pytest.warns(UserWarning, match="the image is zero throughout"):
        ss.migrate(background(), silent, ss.ricker(F0, 0.001))


def test_a_job_that_does_not_fit_is_refused_with_numbers_and_a_cure(recorded: ss.Survey) -> None:
    setup = MigrationSetup.build(
        background(), ss.ricker(F0, 0.001), recorded.time, PropagationOptions(), ImagingOptions()
    )
    need = sum(shot_memory(setup, RankArrays.of(setup, recorded.shots[0])).values())
    with pytest.raises(MemoryPlanError, match="snapshots") as caught:
        check_memory(setup, recorded.shots, available=need // 2)
    assert caught.value.fix
    check_memory(setup, recorded.shots, available=4 * need)


def test_dt_above_the_bound_is_refused(recorded: ss.Survey) -> None:
    with pytest.raises(StabilityError, match="stability bound"):
        ss.migrate(background(), recorded, ss.ricker(F0, 0.001), dt=0.01)


def test_an_unknown_option_names_the_nearest(recorded: ss.Survey) -> None:
    with pytest.raises(ConfigError, match="did you mean 'aperture'"):
        ss.migrate(background(), recorded, ss.ricker(F0, 0.001), apperture=100.0)


def test_fields_fade_at_window_edges_inside_the_model_only(recorded: ss.Survey) -> None:
    setup = MigrationSetup.build(
        background(),
        ss.ricker(F0, 0.001),
        recorded.time,
        PropagationOptions(),
        ImagingOptions(aperture=100.0),
    )
    (weight,) = window_taper(setup, Box((0, 0, 0), (60, 1, 61)))
    flat = weight.reshape(-1)
    assert (flat[:57] == 1).all()  # the left edge is the model's
    assert 0 < flat[-1] < flat[-2] < flat[-3] < 1
    whole = replace(setup, imaging=ImagingOptions())
    assert window_taper(whole, Box((0, 0, 0), (81, 1, 61))) == []


def test_windows_that_end_inside_the_model_leave_no_stripe(recorded: ss.Survey) -> None:
    """The filtered image is no larger at the edge of a window than it is there without a window."""
    one = recorded.select([1])  # source at 200 m
    near = replace(one, shots=[replace(one.shots[0], rcv=one.shots[0].rcv[:41], data=one.shots[0].data[:41])])
    options = {"condition": "cross-correlation", "filter": "laplacian"}
    wavelet = ss.ricker(F0, 0.001)
    cut = ss.migrate(background(), near, wavelet, aperture=150.0, **options).image
    whole = ss.migrate(background(), near, wavelet, **options).image
    edge = np.s_[52:59, 10:]  # receivers end at 400 m, the window at 550 m
    # a hard edge more than half as much again; the fading leaves what the image has there anyway
    assert np.abs(cut[edge]).max() <= 1.25 * np.abs(whole[edge]).max()
