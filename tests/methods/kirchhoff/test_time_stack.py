"""The mean over live classes: its divisor against the definition, one class and one sample at a time."""

import math

import numpy as np
import pytest

from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.kirchhoff.classes import Classes
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.stacking import live_classes, stack

TIME = TimeAxis(40, 0.05)


def by_definition(classes, fold, v, eta, record, options):
    """Return the live classes of one location in plain Python."""
    out = []
    for k, t0 in enumerate(TIME.values()):
        total = 0.0
        for c, x in enumerate(classes.centres):
            h2, a2 = (x / 2) ** 2, (t0 / 2) ** 2
            t2 = a2 + h2 / v[k] ** 2
            if eta is not None:
                t2 -= 2 * eta[k] * h2**2 / (v[k] ** 2 * max(a2 * v[k] ** 2 + (1 + 2 * eta[k]) * h2, 1e-30))
            t = 2 * math.sqrt(t2)
            if not fold[c] or t0 == 0 or not record.t0 <= t <= record.duration:
                continue
            weight, most = 1.0, options.stretch_mute
            if most is not None:
                stretch, first = t / t0 - 1, most * (1 - options.stretch_taper)
                if stretch > most:
                    weight = 0.0
                elif stretch > first:
                    weight = 0.5 * (1 + math.cos(math.pi * (stretch - first) / (most - first)))
            total += weight
        out.append(total)
    return np.array(out)


@pytest.mark.parametrize("with_eta", [False, True])
@pytest.mark.parametrize("mute", [0.15, 0.6, None])
@pytest.mark.parametrize("record", [TimeAxis(60, 0.05), TimeAxis(30, 0.05, 0.2)])
@pytest.mark.parametrize("sectors", [1, 2])
def test_live_classes_are_those_of_the_definition(with_eta, mute, record, sectors):
    rng = np.random.default_rng(4)
    classes = Classes.offset(0, 2400, 200, sectors)
    n = 5
    v = np.sort(rng.uniform(1500, 4000, (n, 40)), axis=1).astype(np.float32)
    eta = rng.uniform(-0.05, 0.2, (n, 40)).astype(np.float32) if with_eta else None
    fold = rng.integers(0, 3, (n, classes.groups)).astype(np.int32)
    options = KirchhoffOptions(stretch_mute=mute)
    got = live_classes(classes, fold, v, eta, TIME, record, options)
    assert got.dtype == np.float32
    for i in range(n):
        wanted = by_definition(
            classes,
            fold[i],
            v[i].astype(float),
            None if eta is None else eta[i].astype(float),
            record,
            options,
        )
        # one rounding to float32 of at most 26 classes
        assert np.abs(got[i] - wanted).max() <= 26 * 2.0**-24 + 1e-9
    # a location does not depend on the others
    alone = live_classes(classes, fold[2:3], v[2:3], None if eta is None else eta[2:3], TIME, record, options)
    assert np.array_equal(alone[0], got[2])


def test_the_stack_is_a_mean_and_fades_with_its_last_class():
    summed = np.array([[[2.0, 2.0, 0.4, 0.0], [4.0, 0.0, 0.0, 0.0]]], np.float32)
    live = np.array([[2.0, 1.0, 0.25, 0.0]], np.float32)
    assert stack(summed, live).tolist() == [[3.0, 2.0, np.float32(0.4), 0.0]]
