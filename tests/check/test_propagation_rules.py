"""Rules on dispersion, slow waves, tapers and threads say numbers that hold, and cures in the order of costs."""

import dataclasses
import re

import numpy as np
import pytest
from layouts import context
from rule_mistakes import tilted

from subsalt.check import load_rules, run_rules
from subsalt.propagation.options import ImagingOptions, PropagationOptions
from subsalt.propagation.propagator import Propagator


def findings(case):
    """Return what the rules on tapers, steps and the band find in a context: `test_rules` applies all."""
    return run_rules(case, [r for r in load_rules() if r.subject in ("taper", "stability", "spectrum")])


def problems(case):
    """Return the findings that are not in order."""
    return [f for f in findings(case) if f.is_fault]


def test_slow_waves_are_reported_with_the_distance_to_which_they_matter():
    """Order 8 leaves them 0.59 of P (epsilon = 0.2, delta = 0.1), 6 * 0.59 / 0.41 wavelengths, without a taper."""
    speeds = {}
    for taper in (6.0, None):
        options = PropagationOptions(source_taper=taper)
        context = dataclasses.replace(tilted(theta=30.0), propagation=options)
        speeds[taper] = [f for f in problems(context) if f.code == "W542"]
    assert not speeds[6.0]
    (finding,) = speeds[None]
    assert "up to 9 shortest wavelengths from a source" in finding.message
    assert finding.fix == "[propagation] order = 6, in which they stay behind; or leave source_taper out"
    # what the fix says holds
    for cure in ({"order": 6}, {"source_taper": 6.0}):
        options = PropagationOptions(**({"source_taper": None} | cure))
        context = dataclasses.replace(tilted(theta=30.0), propagation=options)
        assert "W542" not in {f.code for f in problems(context)}
    # as fast as P and faster: everywhere, with the taper too
    fast = dataclasses.replace(tilted(theta=30.0), propagation=PropagationOptions(order=16))
    (finding,) = [f for f in problems(fast) if f.code == "W542"]
    assert "at any distance" in finding.message
    assert finding.evidence["reach"] is None


@pytest.mark.parametrize(("f0", "code"), [(25.0, "W530"), (60.0, "E531")])
def test_cures_of_dispersion_come_in_the_order_of_their_costs(f0, code):
    cure_of_code = next(f for f in findings(context(f0=f0)) if f.code == code)
    clauses = cure_of_code.fix.split("; or ")
    # 4 samples in a period of the 80 m that 10 m take at 25 Hz: the band costs nothing, a grid the most
    cost = [float(m[1]) if (m := re.search(r"with ([\d.e+]+) times", c)) else 0.0 for c in clauses]
    assert cost == sorted(cost)
    assert cost[0] == 0.0
    assert "times the computing: [propagation] grid = " in clauses[-1]
    # the finer grid and the narrower band are just enough: a tenth coarser, or higher, is not
    spacing = float(re.search(r"\[propagation\] grid = ([\d.]+)", cure_of_code.fix)[1])
    assert cost[-1] == pytest.approx((10.0 / spacing) ** 3, rel=0.06)
    slowest = 1800.0
    for h, enough in ((spacing, True), (1.1 * spacing, False)):
        points = slowest / (2.5 * f0 * h)
        assert (points >= cure_of_code.evidence["needed"]) is enough
    if code == "W530":
        lower = float(re.search(r"\[source\] f0 = ([\d.]+)", clauses[0])[1])
        assert not any(f.code in ("W530", "E531") for f in findings(context(f0=lower)))
    if (order := re.search(r"\[propagation\] order = (\d+)", cure_of_code.fix)) is not None:
        finer = context(f0=f0, propagation=PropagationOptions(order=int(order[1])))
        assert not any(f.code in ("W530", "E531") for f in findings(finer))


@pytest.mark.parametrize(
    ("shape", "options", "steps"),
    [
        # order 8: 14 cells on either side; tapers that touch leave 98 %, those that overlap by two cells less than 95
        ((101, 28), {}, []),
        ((101, 26), {}, [("z", 26)]),
        ((24, 81), {}, [("x", 24)]),
        ((20, 81), {"order": 2}, [("x", 20)]),
        ((20, 20), {"boundary": "damping"}, []),
        ((20, 20), {"boundary": "none"}, []),
        ((101, 12), {"boundary": "none", "free_surface": True}, [("z", 12)]),
        ((101, 26), {"medium": "vti"}, []),
    ],
)
def test_tapers_that_meet_are_named_by_axis(shape, options, steps):
    given = tilted(shape=shape, theta=20.0)
    given.propagation = PropagationOptions(**options)
    assert [(f.evidence["axis"], f.evidence["cells"]) for f in problems(given) if f.code == "W544"] == steps


def test_what_the_check_says_of_the_taper_is_what_the_propagator_does():
    model = tilted(shape=(101, 24), theta=20.0)
    (finding,) = [f for f in problems(model) if f.code == "W544"]
    run = Propagator(model.model, PropagationOptions(), dt=1e-3)
    # in 2-D the last axis; sin theta is largest where the taper is
    largest = np.degrees(np.arcsin(run.problem.params["nx"].max()))
    assert largest == pytest.approx(20.0 * finding.evidence["reached"], rel=1e-5)


def test_a_narrow_aperture_tapers_the_tilt():
    given = tilted(shape=(201, 81), theta=20.0)
    given.imaging = ImagingOptions(aperture=50.0)
    near = [dataclasses.replace(s, rcv=s.src[None] + [[50.0, 0.0, 0.0]]) for s in given.survey.shots]
    given.survey = dataclasses.replace(given.survey, shots=near)
    (finding,) = [f for f in problems(given) if f.code == "W544"]
    assert finding.evidence["cells"] == 16
    assert "aperture" in finding.fix


def test_threads_beyond_reason_are_refused_and_a_few_too_many_are_not(monkeypatch):
    from subsalt import kernels
    from subsalt.errors import DeviceError

    monkeypatch.setattr(kernels, "cores", lambda: 4)
    assert kernels.threads_to_use(16) == 16
    with pytest.raises(DeviceError, match="threads = 17, but this process may use 4 cores"):
        kernels.threads_to_use(17)
    monkeypatch.setenv("OMP_NUM_THREADS", "100")
    with pytest.raises(DeviceError, match="OMP_NUM_THREADS = 100"):
        kernels.threads_to_use()
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert kernels.threads_to_use() == 3
