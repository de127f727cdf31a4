"""Reverse time and Kirchhoff migration put the same reflectors at the same depths."""

from __future__ import annotations

import numpy as np
from kirchhoff_tools import Line, finer, migrate, peak

from subsalt import EarthModel, Grid, Survey, ricker
from subsalt import migrate as reverse_time_migrate
from subsalt.acquisition.survey import TimeAxis
from subsalt.analytic import Plane, primaries
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from thorough import ALL

V, H = 2000.0, 12.5
GRID = Grid((81, 41, 65), (H, H, H))
MIDDLE = (500.0, 250.0)
#: flat, dipping, flat
REFLECTORS = [
    Plane(280.0, 0.2, origin=MIDDLE),
    Plane(470.0, -0.15, np.radians(8.0), np.pi / 2, MIDDLE),
    Plane(680.0, 0.2, origin=MIDDLE),
]
WAVELET = ricker(15.0, 0.001)


def test_three_reflectors_peak_within_a_sample_of_each_other():
    # a carpet of receivers, every 25 m; both migrations get the same traces and the true velocity
    x, y = (np.arange(0.0, (n - 1) * H + 1, 25.0) for n in GRID.shape[:2])
    carpet = np.array([(a, b, 0.0) for a in x for b in y])
    shots = [(400.0, 250.0, 0.0), (600.0, 250.0, 0.0)] if ALL else [(500.0, 250.0, 0.0)]
    survey = Survey.from_arrays(shots, carpet, nt=250, dt=0.004)
    for shot in survey.shots:
        shot.data = primaries(shot.src, shot.rcv, REFLECTORS, V, WAVELET, survey.time).astype(np.float32)
    section = reverse_time_migrate(EarthModel(GRID, V), survey, WAVELET).image[:, GRID.shape[1] // 2]

    src = np.concatenate([np.broadcast_to(s.src[:2], (len(carpet), 2)) for s in survey.shots])
    rcv = np.concatenate([s.rcv[:, :2] for s in survey.shots])
    line = Line(src, np.ascontiguousarray(rcv), 12.5**2 / len(survey.shots))
    traces = np.concatenate([s.data for s in survey.shots])
    places = np.arange(24, 57, 4)
    points = np.stack([H * places, np.full(len(places), MIDDLE[1])], axis=1)
    # the recording of a causal wavelet begins its delay before time zero of a zero-phase one
    recorded = TimeAxis(survey.time.nt, survey.time.dt, -WAVELET.peak_time)
    axis = TimeAxis(220, 0.004)
    options = KirchhoffOptions(stretch_mute=None, antialias="none")
    image = migrate(traces, recorded, line, points, V, options, axis, spacing=(12.5, 12.5))[0][:, 0]

    for place, trace in zip(places, image, strict=True):
        for reflector in REFLECTORS:
            depth = float(reflector.depth_at([H * place, MIDDLE[1]]))
            z, values = finer(section[place], H, 0.0)
            near = np.abs(z - depth) <= 60.0
            sign = np.sign(reflector.reflectivity)
            by_rtm = z[near][np.argmax(sign * values[near])]
            time, value = peak(trace, axis, 2 * depth / V)
            by_kirchhoff = V * time / 2
            where = f"x = {H * place:g} m, reflector at {depth:.1f} m: {by_rtm:.1f} m, {by_kirchhoff:.1f} m"
            assert np.sign(value) == sign, where
            # a sample of the time image is v dt / 2 = 4 m, less than one of the depth image
            assert abs(by_kirchhoff - by_rtm) < V * axis.dt / 2, where
            # one or two shots light a part of the aperture only: both are late by a few metres, not by a cell
            assert abs(by_rtm - depth) < H, where
            assert abs(by_kirchhoff - depth) < H, where
