"""Steps on traces that are right in themselves and take from an image what it is about."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from subsalt.acquisition.survey import TimeAxis
from subsalt.check.steps import step_findings
from subsalt.job.signal.flow import Flow
from subsalt.job.signal.gain import Gain
from subsalt.job.signal.resample import Resample


def findings(step, **keys):
    """Return what is said of one step on traces of 4 ms, by code, for a wavelet of up to 25 Hz."""
    made = TypeAdapter(step).validate_python({"step": step.__name__.lower(), **keys})
    flow = Flow([made], TimeAxis(501, 0.004), lambda name, key: None)
    return {f.code: f for f in step_findings(flow, 25.0) if f.level in ("error", "warning")}


@pytest.mark.parametrize(("dt", "lost"), [(0.016, False), (0.02, True)])
def test_an_interval_that_loses_the_band_of_the_wavelet(dt, lost):
    """20 ms carry frequencies up to 20 Hz, four fifths of Nyquist, and 16 ms up to 25 Hz."""
    reported = findings(Resample, dt=dt)
    assert set(reported) == ({"E794"} if lost else set())


def test_levelled_amplitudes():
    assert set(findings(Gain, kind="agc", window=0.2)) == {"W792"}
    assert not findings(Gain, kind="power", power=2)
