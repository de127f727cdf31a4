"""Arrays of the sum over traces that do not fit together, and velocities that no traveltime follows from."""

from dataclasses import replace

import numpy as np
import pytest

from kirchhoff_blocks import make_block
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError, ModelError
from subsalt.kernels.kirchhoff_arguments import Medium


def changed(block, **parts):
    """Return the block with other prepared traces."""
    return replace(block, prepared=replace(block.ready(), **parts))


def geometry(block, **parts):
    """Return the block with another geometry of its traces."""
    return replace(block, geometry=replace(block.geometry, **parts))


MISFITS = {
    "time is": lambda b: replace(b, time=TimeAxis(9, 0.008)),
    "at a negative time": lambda b: replace(b, time=TimeAxis(b.time.nt, 0.008, -0.1)),
    "points is": lambda b: replace(b, points=b.points[:, :1]),
    "not contiguous": lambda b: replace(b, points=np.asfortranarray(b.points)),
    "at least ns + 32": lambda b: changed(b, ns=b.ready().ns + 1),
    "of 9 bands": lambda b: changed(b, samples=np.ascontiguousarray(b.ready().samples[:, :9])),
    "order 1 or more": lambda b: changed(b, samples=np.ascontiguousarray(b.ready().samples[:, :, :1])),
    "prepared.integrals is None": lambda b: replace(
        changed(b), options=replace(b.options, antialias="triangle")
    ),
    "geometry.slot is": lambda b: geometry(b, slot=b.geometry.slot + np.int32(5)),
    "geometry.group is": lambda b: geometry(b, group=b.geometry.group - np.int32(1)),
    "geometry.weight is float64": lambda b: geometry(b, weight=b.geometry.weight.astype(float)),
    "geometry.src is": lambda b: geometry(b, src=b.geometry.src[1:]),
    "not finite": lambda b: geometry(b, rcv=b.geometry.rcv * np.nan),
    "spacing is": lambda b: replace(b, spacing=(25.0, 0.0)),
}


@pytest.mark.parametrize("says", MISFITS)
def test_what_does_not_fit_is_named(says):
    block = make_block(1)
    block.geometry.slot[:] = 0
    with pytest.raises(ConfigError) as raised:
        MISFITS[says](block).sum()
    assert raised.value.code == "E705"
    assert says in raised.value.message or says == "at a negative time"
    assert "wanted" in raised.value.message


@pytest.mark.parametrize("value", [0.0, -1500.0, np.nan, np.inf])
def test_a_velocity_that_is_none_is_refused(value):
    v = np.full((3, 5), 2000, np.float32)
    v[1, 4] = value
    with pytest.raises(ModelError, match=f"location 1, sample 4 is {value:g}") as raised:
        Medium(v)
    assert raised.value.code == "E706"


@pytest.mark.parametrize("value", [-0.5, np.nan])
def test_an_eta_that_is_none_is_refused(value):
    eta = np.zeros((3, 5), np.float32)
    eta[2, 0] = value
    with pytest.raises(ModelError, match="eta at location 2, sample 0") as raised:
        Medium(np.full((3, 5), 2000, np.float32), eta)
    assert raised.value.code == "E706"
    with pytest.raises(ConfigError, match=r"medium\.eta is"):
        Medium(np.full((3, 4), 2000, np.float32), eta)


def test_no_threads_are_refused():
    with pytest.raises(ConfigError, match="threads = 0"):
        make_block(1).sum(threads=0)
