"""Contexts of surveys in order, from which tests make mistakes."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np

from subsalt.acquisition.survey import Survey
from subsalt.acquisition.wavelet import ricker
from subsalt.check import Context, SampledShot
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.planes import Parameter
from subsalt.propagation.options import ImagingOptions, PropagationOptions


def traces(shot, time, f0, vp=1500.0):
    """Return a Ricker pulse along the direct ray, with a little noise after it."""
    distance = np.sqrt(((shot.rcv - shot.src) ** 2).sum(axis=1))
    arrival = distance[:, None] / vp + 1.5 / f0
    t = time.values()[None, :]
    a = (np.pi * f0 * (t - arrival)) ** 2
    rng = np.random.default_rng(shot.id)
    noise = 0.05 * rng.standard_normal((len(shot.rcv), time.nt)) * (t > arrival - 1.0 / f0)
    return ((1 - 2 * a) * np.exp(-a) + noise).astype(np.float32)


def context(
    shape=(101, 81),
    h=10.0,
    vp=None,
    epsilon=None,
    delta=None,
    theta=None,
    phi=None,
    f0=8.0,
    src=None,
    rcv=None,
    nt=501,
    dt=0.004,
    propagation=None,
    origin=None,
    modelling=False,
):
    """Return the context of a small survey in order, as `check_job` would build it."""
    grid = Grid(shape, (h,) * len(shape), origin or ())
    if vp is None:
        vp = np.broadcast_to(1800.0 + 0.6 * grid.axis(-1), grid.shape)
    given = {"vp": vp, "epsilon": epsilon, "delta": delta, "theta": theta, "phi": phi}
    parameters = {
        n: Parameter(n, np.array(np.broadcast_to(v, grid.shape), np.float32), grid, source=f"{n}.rsf")
        for n, v in given.items()
        if v is not None
    }
    volumes = {n: p.values for n, p in parameters.items()}
    # parameters hold degrees, as the loader of a job leaves them
    volumes |= {n: np.deg2rad(volumes[n]) for n in ("theta", "phi") if n in volumes}
    model = EarthModel(grid, **volumes)
    low, high = np.array(grid.origin), np.array(grid.last)
    if src is None:
        along = np.linspace(0.2, 0.8, 5)
        src = [
            low + (high - low) * np.r_[[a] * (len(shape) - 1), 0.0] + np.r_[[0.0] * (len(shape) - 1), 5.0]
            for a in along
        ]
    if rcv is None:
        x = np.linspace(low[0] + h, high[0] - h, 24)
        rcv = [[a, *[(low[1] + high[1]) / 2] * (len(shape) - 2), low[-1] + 10.0] for a in x]
    survey = Survey.from_arrays(src, rcv, nt=nt, dt=dt)
    propagation = propagation or PropagationOptions()
    wave = ricker(f0, min(max(0.95 * model.stable_dt(propagation.order), 2e-4), 0.05 / f0))
    out = Context(
        parameters=parameters,
        model=model,
        survey=survey,
        wavelet=wave,
        propagation=propagation,
        modelling=modelling,
    )
    if not modelling:
        out.samples = [
            SampledShot(s, traces(s, survey.time, f0, min(max(model.vp_min, 300.0), 9000.0)))
            for s in survey.shots[::2]
        ]
    return out


def stacked(sorting):
    """Return a context whose scan found receivers at their sources, in files of a sorting code."""
    files = [SimpleNamespace(path="a.sgy", sorting=sorting)]
    scan = SimpleNamespace(kind="stack", files=files, n_traces=100, findings=[])
    case = context()
    for shot in case.survey.shots:
        shot.rcv = np.array([shot.src])
    return dataclasses.replace(case, scan=scan, samples=[])


def finely_sampled():
    """Return a context of files whose header gives 4 us."""
    scan = SimpleNamespace(
        kind="shots", files=[SimpleNamespace(dt_source="binary header (byte 3217)")], n_traces=1, findings=[]
    )
    return dataclasses.replace(context(nt=501, dt=4e-6), scan=scan, samples=[])


def clip(data):
    """Return traces cut off at a fiftieth of their largest sample."""
    limit = 0.02 * np.abs(data).max()
    return np.clip(data, -limit, limit)


def four_cables():
    """Return a context whose receivers were projected from four cables."""
    case = context()
    case.survey.notes["cables"] = {"cables": 4, "beside_m": 150.0, "short_m": 40.0}
    return case


def salt(shape=(121, 91)):
    """Return velocities with water, a gradient and a salt body."""
    v = np.broadcast_to(1700.0 + 8.0 * np.arange(shape[-1]), shape).copy()
    v[..., :12] = 1500.0
    v[40:80, ..., 40:60] = 4480.0
    return v


#: layouts in which there is nothing to find
CLEAN = {
    "2-D gradient": lambda: context(),
    "3-D gradient": lambda: context(shape=(41, 31, 41), h=20.0, f0=5.0),
    "VTI": lambda: context(epsilon=0.2, delta=0.1),
    "elliptical": lambda: context(epsilon=0.1, delta=0.1),
    "TTI": lambda: context(epsilon=0.2, delta=0.1, theta=30.0),
    "TTI in 3-D": lambda: context(
        shape=(41, 31, 41), h=20.0, f0=5.0, epsilon=0.2, delta=0.1, theta=30.0, phi=-120.0
    ),
    "TTI, a fold": lambda: context(
        epsilon=0.2, delta=0.1, theta=60.0 * np.sin(np.arange(101) / 8.0)[:, None]
    ),
    "upright": lambda: context(epsilon=0.2, delta=0.1, theta=0.0),
    "constant": lambda: context(vp=2000.0),
    "water only": lambda: context(vp=1500.0, f0=6.0),
    "salt": lambda: dataclasses.replace(
        context(shape=(121, 91), vp=salt(), f0=6.0, nt=601),
        imaging=ImagingOptions(condition="inverse-scattering"),
    ),
    "free surface": lambda: context(propagation=PropagationOptions(free_surface=True)),
    "damping": lambda: context(propagation=PropagationOptions(boundary="damping")),
    "order 4": lambda: context(propagation=PropagationOptions(order=4), f0=5.0),
    "order 16": lambda: context(propagation=PropagationOptions(order=16), f0=11.0),
    "far from the origin": lambda: context(origin=(431_200.0, 0.0)),
    "top above zero": lambda: context(origin=(0.0, -300.0)),
    "to be modelled": lambda: context(modelling=True),
    "fast carbonates": lambda: context(vp=6200.0, f0=25.0, nt=401),
    "near surface": lambda: context(
        shape=(161, 81),
        h=0.25,
        vp=np.broadcast_to(300.0 + 8 * np.arange(81), (161, 81)),
        f0=90.0,
        nt=1001,
        dt=0.0005,
    ),
    "split spread of 1000 Hz data": lambda: context(dt=0.001, nt=2001),
}


def checkerboard(size, shape=(101, 81)):
    """Return angles of changing sign from node to node."""
    return size * (-1.0) ** np.add.outer(np.arange(shape[0]), np.arange(shape[1]))
