"""The same bytes whatever the thread count, NumPy's and the C library's choice of code, and BLAS threads.

Every variant runs in a process of its own, because all of them are settled when NumPy and the C library load.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from thorough import thorough

SCRIPT = """
import hashlib, json
import numpy as np
from subsalt import EarthModel, Grid, Survey, forward, migrate
from subsalt.numerics import filters, fixedmath
from subsalt.numerics.interpolation import Resampling, shifted
from subsalt.acquisition import wavelet
from subsalt.propagation.absorbing_layer import Layer, decay
from subsalt.earth import building as director, volumes as regrid
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator
from subsalt.methods.kirchhoff.velocity.fields import Profile
from subsalt.acquisition.image_grid import ImageGrid
from subsalt.methods.kirchhoff.prepare import prepare
from subsalt.methods.kirchhoff.velocity.time_velocity import FieldVelocity
from subsalt.methods.kirchhoff.velocity.fields import Functions
from subsalt.methods.kirchhoff.velocity.load import SmoothedField
from subsalt.acquisition.injection import sinc_points
from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.timemap import TraceMap

def digest(*arrays):
    h = hashlib.sha256()
    for a in arrays:
        h.update(np.ascontiguousarray(a).tobytes())
    return h.hexdigest()

x = (np.arange(4001) - 2000.0) * 0.37
index = 6.0 + (np.arange(60).reshape(20, 3) * 0.37) % 9.0
traces = ((np.arange(37 * 211) * 7919) % 1009 / 500.0 - 1.0).reshape(37, 211)
sigma = Layer().profile(60, 12, 12, 12.5, 4480.0)
points = sinc_points((30, 30, 30), index, 3, free_surface_row=0)

def volume(shape, low, high, prime):
    a = np.arange(np.prod(shape)) * prime % 1009 / 1008.0
    return (low + (high - low) * a).reshape(shape)

def tilted(shape):
    phi = volume(shape, -3.1, 3.1, 31) if len(shape) == 3 else None
    return EarthModel(Grid(shape, (10.0,) * len(shape)), volume(shape, 1500, 4000, 7919), volume(shape, 0.1, 0.3, 17),
                      volume(shape, -0.1, 0.1, 23), volume(shape, -1.5, 1.5, 29), phi)

box = Propagator(tilted((31, 29, 33)), PropagationOptions(), 0.001).problem.params
line = tilted((70, 48))
survey = Survey.from_arrays([[300.0, 103.0]], [[100.0 + 40 * i, 111.0] for i in range(11)], nt=120, dt=0.004)
survey = forward(line, survey, wavelet.ricker(17.0, 0.001)).survey
image = migrate(line, survey, wavelet.ricker(17.0, 0.001)).image
kirchhoff = [prepare(traces.astype(np.float32), TimeAxis(211, 0.004), KirchhoffOptions(amplitude=a, antialias=f))
             for a in ("3d", "2.5d", "none") for f in ("bands", "triangle")]
output = ImageGrid((1, 9, 1), (1, 31, 1), (4e5, 6e6), (-7.0, 24.0), (12.0, 3.5), TimeAxis(101, 0.02))
nodes = np.array([0.0, 0.7, 2.0])
picked = Functions(index[:, :2], [nodes] * 20, [1500 + 37.0 * k + 610 * nodes for k in range(20)], output, "interval")
velocities = [FieldVelocity(field, Profile(nodes, nodes / 30), True).at(output.positions(), output.time)
              for field in (picked, SmoothedField(picked, output, 0.13, 170.0, 110.0))]
out = {
    "functions": digest(*(f(x) for f in (fixedmath.exp, fixedmath.sin, fixedmath.cos, fixedmath.sinc)),
                        fixedmath.log(abs(x) + 0.1), fixedmath.asin(x / 740.0), fixedmath.bessel_i0(x /
                        25.0)),
    "sums": digest(fixedmath.total(x), fixedmath.dot(x, x + 1)),
    "wavelets": digest(wavelet.ricker(23.7, 1.7e-3).samples, wavelet.ormsby(3, 7, 41, 62, 1.7e-3).samples,
                       wavelet.band(wavelet.ricker(23.7, 1.7e-3).samples, 1.7e-3)),
    "layers": digest(sigma, decay(sigma, 1.13e-3), Layer("pml", 8).profile(60, 8, 8, 12.5, 4480.0)),
    "axes": digest(*(box[name] for name in ("nx", "ny", "nz"))),
    "averaged axes": digest(*(a for m in (tilted((31, 29, 33)), line)
                              for a in director.to_angles([regrid.smooth(part, m.grid, 25.0, None)
                                                           for part in director.of_angles(m.theta, m.phi)]).values())),
    "tilted": digest(survey.shots[0].data, image),
    "points": digest(points.base, points.weights),
    "maps": digest(*(TraceMap(211, 0.004, 0.0, 390, 0.0021, 0.0, dispersion=d,
    derivative=k).apply(traces.astype(t))
                     for d in (None, ("forward", 0.0021)) for k in (0, 1) for t in (np.float32, np.float64))),
    "prepared traces": digest(*(p.samples for p in kirchhoff),
                              *(p.integrals for p in kirchhoff if p.integrals is not None)),
    "filters": digest(filters.half_integral(90, 0.004).taps, filters.convolve(traces, filters.minimum_phase(
                      lambda f: 0.1 + f / (9.0 + f * f), 211, 0.004)), shifted(traces, traces[:, 0] * 3.7),
                      Resampling(211, np.arange(120) * 1.7, 0.55).apply(traces)),
    "velocities": digest(*(a for pair in velocities for a in pair)),
    "transpose": digest(TraceMap(500, 0.001, 0.0, 211, 0.004, 0.0, dispersion=("inverse", 0.001))
                        .apply_transpose(traces)),
}
print(json.dumps(out))
"""


def run(**variables):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def dispatched():
    """Return the instruction sets NumPy would choose on this machine beyond its baseline."""
    umath = np._core._multiarray_umath
    return [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]


@pytest.fixture(scope="module")
def reference():
    return run()


#: hwcaps: glibc 2.33 and later; older and other C libraries ignore what they do not know
C_LIBRARY = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable"}
BLAS = {"OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Nehalem"}


def without_dispatch():
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(dispatched())} if dispatched() else {}


def test_all_of_them_at_once(reference):
    """Which of them it is that changes a byte is said by the tests of one each."""
    assert run(OMP_NUM_THREADS="3", **without_dispatch(), **C_LIBRARY, **BLAS) == reference


@thorough  # of all at once: test_all_of_them_at_once
@pytest.mark.parametrize("threads", ["3", "2"])
def test_threads(reference, threads):
    assert run(OMP_NUM_THREADS=threads) == reference


@thorough
def test_numpy_dispatch(reference):
    if not dispatched():
        pytest.skip("NumPy has only its baseline on this processor")
    assert run(**without_dispatch()) == reference


@thorough
def test_c_library_dispatch(reference):
    assert run(**C_LIBRARY) == reference


@thorough
def test_blas(reference):
    assert run(**BLAS) == reference
